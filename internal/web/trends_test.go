package web_test

import (
	"fmt"
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// longAgo makes accounts old enough to count for trends.
func (s *site) longAgo(names ...string) {
	s.t.Helper()
	for _, name := range names {
		key := storage.UserKey(s.user(name).ID)
		if err := s.client.Do(s.t.Context(), s.client.B().Hset().Key(key).FieldValue().FieldValue("joined", "1").Build()).Error(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// merge makes the trends of this moment.
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

// Explore shows the trends, to each viewer the posts that they may see.
func TestExplore(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.visitor().get("/explore").want(200, "No trends right now.", `<a href="/timeline">See the latest posts</a>`,
		`<a href="/explore" aria-current="page">Trends</a>`, `<a href="/timeline" aria-current="false">Latest</a>`)
	author, blocked := s.signedUp("author"), s.signedUp("blocked")
	path, _ := author.published("author", "a post that <everybody> likes")
	author.send("/u/blocked/block").want(303)
	for _, v := range s.crowd(6) {
		v.send("/post", "status", "#Go with https://Example.com/a?b=1&utm_source=x").want(303)
		v.send(path + "/like").want(303)
	}
	s.merge()
	s.visitor().get("/explore").want(200, `<a href="/tag/go">`, "#go", "6 people", "example.com",
		`<a href="https://example.com/a?b=1" rel="nofollow noopener ugc">`, "a post that &lt;everybody&gt; likes").wantNot("No trends")
	author.get("/explore").want(200, "a post that", `<a href="/explore" aria-current="page">`)
	blocked.get("/explore").want(200, "#go").wantNot("a post that")
	author.get("/timeline").want(200, `<a href="/explore" aria-current="true">`, `<a href="/timeline" aria-current="page">Latest</a>`)
	author.send(path + "/delete").want(303)
	s.visitor().get("/explore").want(200, "#go").wantNot("a post that")
}

// Moderators block and pin tags in the browser; for others the page does not exist.
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
	mona.get("/moderation/tags").want(200, "No tag is blocked or pinned.")
	mona.send("/moderation/tags", "tag", "bad", "action", "fly").want(422, "Choose what to do", `value="bad"`)
	mona.send("/moderation/tags", "tag", "1 2", "action", "block").want(422, "isn&#39;t a tag", `value="1 2"`)
	mona.send("/moderation/tags", "tag", "bad", "action", "block", "note", strings.Repeat("a", 2000)).want(422)
	mona.send("/moderation/tags", "tag", "#Bad", "action", "block", "note", "spam").want(303, "/moderation/tags?done")
	mona.send("/moderation/tags", "tag", "chosen", "action", "pin").want(303)
	mona.get("/moderation/tags?done").want(200, "Done.", "#bad", "Blocked", "#chosen", "Pinned", "Unpin")
	s.visitor().get("/explore").want(200, "#good", "#chosen", "Pinned").wantNot("#bad")
	s.visitor().get("/tag/bad").want(200, "#bad")
	mona.send("/moderation/tags", "tag", "chosen", "action", "end").want(303)
	mona.send("/moderation/tags", "tag", "bad", "action", "end").want(303)
	s.visitor().get("/explore").want(200, "#good", "#bad").wantNot("#chosen")
	mona.get("/moderation/audit").want(200, "mona", "blocked in trends", `<a href="/tag/bad">tag:bad</a>`, "spam", "pinned in trends")
	crowd[0].send("/moderation/tags", "tag", "good", "action", "block").want(404)
}
