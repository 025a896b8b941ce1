package web_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// longAgo backdates accounts, so that they count for trends.
func (s *site) longAgo(names ...string) {
	s.t.Helper()
	for _, name := range names {
		key := storage.UserKey(s.user(name).ID)
		if err := s.client.Do(s.t.Context(), s.client.B().Hset().Key(key).FieldValue().FieldValue("joined", "1").Build()).Error(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// merge computes the current trends.
func (s *site) merge() {
	s.t.Helper()
	if err := s.social.Trends.Merge(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// crowd signs up n users who count for trends.
func (s *site) crowd(n int) []*visitor {
	s.t.Helper()
	people := make([]*visitor, n)
	for i := range people {
		name := fmt.Sprintf("person%d", i)
		people[i] = s.signedUp(name)
		s.longAgo(name)
	}
	return people
}

// Explore is never empty: it shows trends, people, liked posts and the latest posts, as far as each
// viewer may see them, and no post twice.
func TestExplore(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.visitor().get("/explore").want(200, "Nothing is trending yet.",
		`<a href="/explore" aria-current="page">All</a>`, `<a href="/timeline" aria-current="false">Latest</a>`).wantNot("Liked this week", "People to follow")
	author, blocked := s.signedUp("author"), s.signedUp("blocked")
	path, _ := author.published("author", "a post that <everybody> likes")
	liked, _ := author.published("author", "a post that one person likes")
	author.send("/u/blocked/block").want(303)
	for i, v := range s.crowd(6) {
		v.send("/post", "status", "#Go with https://Example.com/a?b=1&utm_source=x").want(303)
		v.send(path + "/like").want(303)
		if i == 0 {
			v.send(liked + "/like").want(303)
		}
	}
	s.merge()
	if err := s.social.Suggestions.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	stranger := s.visitor() // suggestions for visitors may be a minute old
	until(t, "people are suggested", func() bool { return strings.Contains(stranger.get("/explore").body, "People to follow") })
	page := stranger.get("/explore").want(200, `<a href="/tag/go">`, "#go", "6 people", "example.com",
		`<a href="https://example.com/a?b=1" rel="nofollow noopener ugc">`, "a post that &lt;everybody&gt; likes",
		"Popular today", "Liked this week", "a post that one person likes", "Latest", "People to follow", `action="/u/person0/follow"`).wantNot("Nothing is trending")
	if posts := page.posts(); len(posts) != 8 || len(slices.Compact(slices.Sorted(slices.Values(posts)))) != 8 {
		t.Errorf("the posts of the page: %v, want 8 different ones", posts)
	}
	if order := []string{"Trends<", "Popular today", "People to follow", "Liked this week", "Latest</h2>"}; !slices.IsSortedFunc(order, func(a, b string) int {
		return cmp.Compare(strings.Index(page.body, a), strings.Index(page.body, b))
	}) {
		t.Errorf("the sections are not in the order %q", order)
	}
	author.get("/explore").want(200, "a post that", `<a href="/explore" aria-current="page">`)
	blocked.get("/explore").want(200, "#go").wantNot("a post that", `action="/u/author/follow"`)
	author.get("/timeline").want(200, `<a href="/explore" aria-current="true">`, `<a href="/timeline" aria-current="page">Latest</a>`)
	author.send(path + "/delete").want(303)
	s.visitor().get("/explore").want(200, "#go", "one person likes").wantNot("a post that &lt;")
	s.visitor().get("/").want(200, `<a class="button soft" href="/explore">Look around</a>`)
}

// Moderators block and pin tags in the browser; others get status 404.
func TestTagRules(t *testing.T) {
	t.Parallel()
	s := setup(t)
	crowd := s.crowd(5)
	for _, v := range crowd {
		v.send("/post", "status", "#bad #good").want(303)
	}
	s.merge()
	mona := s.signedUp("mona")
	s.role("mona", social.Moderator)
	mona.get("/moderation").want(200, `href="/moderation/tags"`)
	mona.get("/moderation/tags").want(200, "No tags are blocked or pinned.")
	mona.send("/moderation/tags", "tag", "bad", "action", "fly").want(422, "Choose what to do", `value="bad"`)
	mona.send("/moderation/tags", "tag", "1 2", "action", "block").want(422, "isn&#39;t a tag", `value="1 2"`)
	mona.send("/moderation/tags", "tag", "bad", "action", "block", "note", strings.Repeat("a", 2000)).want(422)
	mona.send("/moderation/tags", "tag", "#Bad", "action", "block", "note", "spam").want(303, "/moderation/tags?block")
	mona.send("/moderation/tags", "tag", "chosen", "action", "pin").want(303)
	mona.get("/moderation/tags?block").want(200, "Tag blocked from trends.", "#bad", "Blocked", "#chosen", "Pinned", "Unpin")
	s.visitor().get("/explore").want(200, `<a href="/tag/good"><span`, `<a href="/tag/chosen"><span`, "Pinned").wantNot(`<a href="/tag/bad"><span`)
	s.visitor().get("/tag/bad").want(200, "#bad")
	mona.send("/moderation/tags", "tag", "chosen", "action", "end").want(303)
	mona.send("/moderation/tags", "tag", "bad", "action", "end").want(303)
	s.visitor().get("/explore").want(200, `<a href="/tag/good"><span`, `<a href="/tag/bad"><span`).wantNot("#chosen")
	mona.get("/moderation/audit").want(200, "mona", "blocked", `<a href="/tag/bad">#bad</a>`, "from trends", "spam", "pinned", "in trends")
	crowd[0].send("/moderation/tags", "tag", "good", "action", "block").want(404)
}
