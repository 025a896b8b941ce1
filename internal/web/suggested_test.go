package web_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/search"
)

var followForm = regexp.MustCompile(`action="/u/(\w+)/follow"`)

// toFollow returns the usernames for which a page has follow buttons.
func (a *response) toFollow() (names []string) {
	for _, found := range followForm.FindAllStringSubmatch(a.body, -1) {
		names = append(names, found[1])
	}
	return names
}

// The home page of a new user suggests five people, with their latest posts, and tags until the
// user follows three people. Then the sidebar suggests others.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for i := range 8 {
		name := fmt.Sprint("author", i)
		s.signedUp(name).send("/post", "status", "written by "+name).want(303)
	}
	s.signedUp("silent")
	for _, tag := range []string{"redis", "go"} {
		if _, err := s.social.TrendRules.Set(t.Context(), social.Operator, tag, search.Pinned, ""); err != nil {
			t.Fatal(err)
		}
	}
	v := s.signedUp("newcomer")
	home := v.get("/home").want(200, "Follow three people to get started", `href="/explore/people"`, "Add a picture and a name", `name="back" value="/home"`,
		`action="/tag/redis/follow"`, `action="/tag/go/follow"`).wantNot("No posts yet", "Who to follow")
	people := home.toFollow()
	if len(people) != 5 || slices.Contains(people, "silent") || slices.ContainsFunc(people, func(name string) bool { return !strings.Contains(home.body, "written by "+name) }) {
		t.Fatalf("suggested: %v, want five people with posts", people)
	}
	v.send("/tag/go/follow", "back", "/home").want(303, "/home")
	v.get("/home").want(200, `action="/tag/redis/follow"`).wantNot(`action="/tag/go/follow"`)
	for i, name := range people {
		v.send("/u/"+name+"/follow", "back", "/home").want(303, "/home")
		home = v.get("/home").want(200, "written by "+name)
		next := []string{`data-follows>1</span>`, `data-follows>2</span>`, "Who to follow"}[min(i, 2)]
		home.want(200, next)
		if more, want := home.toFollow(), min(8-i-1, []int{5, 5, 3}[min(i, 2)]); len(more) != want {
			t.Errorf("suggested after %d follows: %v, want %d", i+1, more, want)
		}
	}
	if home.wantNot("first-steps"); len(home.posts()) != 5 {
		t.Errorf("after five follows the home page has %d posts, want 5", len(home.posts()))
	}
}

// Two more people are suggested even if the posts of the first followed person fill the home page.
// A post that the new user has just written comes first.
func TestNewcomerWithManyPosts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for i := range 4 {
		s.signedUp(fmt.Sprint("author", i)).send("/post", "status", "written by somebody").want(303)
	}
	for i := range 12 {
		s.say("author0", fmt.Sprint("post ", i))
	}
	v := s.signedUp("newcomer")
	v.send("/u/author0/follow", "back", "/home").want(303, "/home")
	home := v.get("/home").want(200, `data-follows>1</span>`, "Older posts")
	if steps, posts := strings.Index(home.body, "first-steps"), strings.Index(home.body, `class="post"`); steps > posts {
		t.Error("suggestions are below the posts")
	}
	v.send("/post", "status", "my first post").want(303)
	home = v.get("/home").want(200, `data-follows>1</span>`, "my first post")
	if steps, post := strings.Index(home.body, "first-steps"), strings.Index(home.body, `class="post"`); steps < post {
		t.Error("the post that was just written is below the suggestions")
	}
	v.send("/home/steps").want(303, "/home")
	v.get("/home").want(200, "my first post").wantNot("first-steps")
}

// Suggested people can be followed and dismissed, and the page gives the reason for each
// suggestion. Visitors see active people.
func TestSuggestedPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben, cem := s.signedUp("ada"), s.signedUp("ben"), s.signedUp("cem")
	s.signedUp("dan").send("/settings/profile", "display_name", "Dan <3", "bio", "I write & read").want(303)
	ada.get("/explore/people").want(200, "No suggestions right now.", `href="/explore/people" aria-current="page"`)
	s.say("dan", "hello")
	ada.send("/u/ben/follow").want(303)
	ben.send("/u/dan/follow").want(303)
	ada.get("/explore/people").want(200, "Dan &lt;3", "Followed by <bdi>ben</bdi>", `aria-label="Not interested in dan"`)
	ada.send("/u/cem/follow").want(303)
	cem.send("/u/dan/follow").want(303)
	page := ada.get("/explore/people").want(200, "<bdi>ben</bdi>", "<bdi>cem</bdi>", "Followed by ", " and <bdi>").wantNot("I write", "you follow")
	if got := page.toFollow(); !slices.Equal(got, []string{"dan"}) {
		t.Errorf("suggested: %v, want dan", got)
	}
	eve := s.signedUp("eve")
	ada.send("/u/eve/follow").want(303)
	eve.send("/u/dan/follow").want(303)
	ada.send("/u/dan/unmute").want(303) // so that the next page bypasses the caches
	ada.get("/explore/people").want(200, " and 2 others you follow")
	s.visitor().get("/explore/people").want(200, "I write &amp; read", `action="/u/dan/follow"`).wantNot("Not interested", "Followed by")

	ada.send("/u/dan/dismiss", "back", "/explore/people").want(303, "/explore/people")
	ada.get("/explore/people").want(200).wantNot("Not interested in dan")
	ada.send("/u/ben/dismiss").want(303, "/explore/people")
	ada.send("/u/ada/dismiss").want(400, "You can&#39;t dismiss yourself")
	ada.send("/u/nobody/dismiss").want(404)
	ada.get("/u/dan/dismiss").want(303, "/u/dan")
	s.visitor().send("/u/dan/dismiss", "back", "/explore/people").want(303, "/login?next=%2Fexplore%2Fpeople")
}
