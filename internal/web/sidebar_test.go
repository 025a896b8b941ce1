package web_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/search"
)

// sidebar returns the sidebar of a page.
func (a *response) sidebar() *response {
	_, bar, _ := strings.Cut(a.body, "<aside")
	bar, _, _ = strings.Cut(bar, "</aside>")
	return &response{t: a.t, status: a.status, body: bar}
}

// reader signs up three authors, the others, and a user who follows the three authors.
func (s *site) reader(name string, others ...string) *visitor {
	s.t.Helper()
	for i, author := range append([]string{"one", "two", "three"}, others...) {
		s.signedUp(author).send("/post", "status", fmt.Sprint("post number ", i)).want(303)
	}
	v := s.signedUp(name)
	for _, author := range []string{"one", "two", "three"} {
		v.send("/u/" + author + "/follow").want(303)
	}
	return v
}

// Pages for reading have a sidebar with suggested people and trends; pages with forms do not.
func TestSidebar(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.reader("ada", "ben", "cem", "dan", "eve")
	if _, err := s.social.TrendRules.Set(t.Context(), social.Operator, "redis", search.Pinned, ""); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/home", "/timeline", "/notifications", "/bookmarks",
		"/u/one", "/u/one/followers", "/tag/redis", "/lists",
	} {
		bar := v.get(path).want(200, `class="in columns"`).sidebar().
			want(200, "Who to follow", "Trends", `href="/tag/redis"`, `id="find"`, `name="back" value="`+path+`"`)
		if got := bar.toFollow(); len(got) != 3 || slices.Contains(got, "one") {
			t.Errorf("%s suggests %v, want three people who are not followed", path, got)
		}
	}
	v.get("/explore/people").want(200).sidebar().want(200, "Trends").wantNot("Who to follow")
	v.get("/search?q=post").want(200).sidebar().want(200, "Who to follow", "Trends").wantNot(`id="find"`)
	v.get("/explore").want(200).sidebar().want(200, `id="find"`).wantNot("Trends", "Who to follow")
	for _, path := range []string{"/settings/profile", "/settings/security", "/u/one/report", "/u/one/lists"} {
		v.get(path).want(200).wantNot("<aside", `id="find"`)
	}
	v.get("/nothing").want(404).wantNot("<aside")
	s.visitor().get("/timeline").want(200).sidebar().want(200, "Who to follow", `name="back" value="/timeline"`, `href="/tag/redis"`).wantNot(`id="find"`)
	for _, path := range []string{"/", "/login", "/register"} {
		s.visitor().get(path).want(200).wantNot("<aside")
	}
	v.send("/post", "status", "").want(422).sidebar().want(422, `name="back" value="/home"`)
}

// Suggestions in the sidebar follow the actions of the viewer and of other users.
func TestSidebarFollows(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.reader("ada", "ben", "cem", "dan", "eve", "fay")
	suggested := func() []string { return v.get("/notifications").want(200).sidebar().toFollow() }
	before := suggested()
	v.send("/u/"+before[0]+"/follow", "back", "/notifications").want(303, "/notifications")
	after := suggested()
	if slices.Contains(after, before[0]) || len(after) != 3 {
		t.Errorf("after a follow of %s: %v", before[0], after)
	}
	v.send("/u/"+after[0]+"/dismiss", "back", "/notifications").want(303)
	last := suggested()
	if slices.Contains(last, after[0]) || len(last) != 3 {
		t.Errorf("after %s was dismissed: %v", after[0], last)
	}
	v.forgetFresh()
	until(t, "the sidebar is up to date", func() bool { return slices.Equal(suggested(), last) })
	s.loggedIn(last[0], "").send("/u/ada/block").want(303)
	until(t, "the block takes effect", func() bool { return !slices.Contains(suggested(), last[0]) })
	s.standing(last[1], social.Suspended)
	until(t, "the suspension takes effect", func() bool { return !slices.Contains(suggested(), last[1]) })
	left := suggested()
	s.loggedIn(left[0], "").send("/settings/profile", "display_name", "Another Name").want(303)
	until(t, "the new name is shown", func() bool {
		return strings.Contains(v.get("/notifications").sidebar().body, "Another Name")
	})
}

// The sidebar of a cached page needs no command.
func TestSidebarFromMemory(t *testing.T) {
	t.Parallel()
	db := redistest.Own(t)
	s := serving(t, reach(t, db.URL()))
	v := s.reader("ada", "ben", "cem", "dan", "eve")
	if _, err := s.social.TrendRules.Set(t.Context(), social.Operator, "redis", search.Pinned, ""); err != nil {
		t.Fatal(err)
	}
	v.forgetFresh()
	commands := func() int {
		info, err := s.client.Do(t.Context(), s.client.B().Info().Section("stats").Build()).ToString()
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(info, "total_commands_processed:")
		number, _, _ := strings.Cut(after, "\r")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const pages = 300
	fewest := pages
	for range 5 { // background jobs send commands, too
		before := commands()
		for range pages {
			v.get("/home").want(200).sidebar().want(200, "Who to follow", `href="/tag/redis"`)
		}
		fewest = min(fewest, commands()-before)
	}
	if fewest > pages/5 {
		t.Errorf("%d commands for %d pages with a sidebar, want at most a fifth", fewest, pages)
	}
}
