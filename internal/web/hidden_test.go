package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/moderation"
	"retwis/internal/web"
)

// Authors who are limited, or have a hidden post, still see their posts on Explore, even if the
// page is cached for all viewers.
func TestExploreShowsOwnPosts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben, cyd := s.signedUp("ada"), s.signedUp("ben"), s.signedUp("cyd")
	ada.send("/post", "status", "by a limited author").want(303)
	_, id := ben.published("ben", "hidden by a moderator")
	hidden, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	s.standing("ada", social.Limited)
	if err := s.social.Moderation.HidePost(t.Context(), social.Operator, hidden, "", ""); err != nil {
		t.Fatal(err)
	}
	for text, v := range map[string]*visitor{"by a limited author": ada, "hidden by a moderator": ben} {
		v.forgetFresh()
		for range 3 {
			v.get("/timeline").want(200, text)
		}
	}
	cyd.forgetFresh()
	cyd.get("/timeline").want(200).wantNot("by a limited author", "hidden by a moderator")
}

// forgetFresh deletes the cookie that marks a recent change by the visitor.
func (v *visitor) forgetFresh() {
	v.site.t.Helper()
	u, err := url.Parse(v.site.http.URL)
	if err != nil {
		v.site.t.Fatal(err)
	}
	v.http.Jar.SetCookies(u, []*http.Cookie{{Name: "fresh", MaxAge: -1}})
}

func (s *site) standing(name string, standing social.Standing) {
	s.t.Helper()
	if err := s.social.Moderation.SetStanding(s.t.Context(), social.Operator, s.user(name).ID, moderation.StandingChange{Standing: standing}); err != nil {
		s.t.Fatal(err)
	}
}

// The response to any action on a user who has blocked the viewer is the same as for a missing
// user.
func TestBlockersDoNotExist(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("blocker"), s.signedUp("ben")
	ada.send("/u/ben/block", "for", "").want(303)
	_, id := ada.published("blocker", "insults")
	for _, path := range []string{"", "/followers", "/report", "/" + id, "/" + id + "/report", "/" + id + "/history"} {
		blocker, missing := ben.get("/u/blocker"+path), ben.get("/u/phantom"+path)
		if blocker.status != missing.status || masked(blocker) != masked(missing) {
			t.Errorf("GET /u/blocker%s: %d, for a missing user %d:\n%s\n%s", path, blocker.status, missing.status, masked(blocker), masked(missing))
		}
	}
	for _, act := range []string{"follow", "unfollow", "mute", "unmute", "block", "unblock", "remove"} {
		blocker, missing := ben.send("/u/blocker/"+act), ben.send("/u/phantom/"+act)
		if blocker.status != 404 || missing.status != 404 {
			t.Errorf("%s: %d, for a missing user %d", act, blocker.status, missing.status)
		}
	}
	for _, path := range []string{"/report", "/" + id + "/report"} {
		for _, kind := range []string{"", "abuse"} {
			blocker, missing := ben.send("/u/blocker"+path, "kind", kind), ben.send("/u/phantom"+path, "kind", kind)
			if blocker.status != missing.status || masked(blocker) != masked(missing) {
				t.Errorf("POST /u/blocker%s: %d, for a missing user %d", path, blocker.status, missing.status)
			}
		}
	}
	// A user who is insulted and then blocked can report the other user and the post.
	if n, err := s.social.Reports.OpenReportCount(t.Context()); err != nil || n != 2 {
		t.Errorf("%d open reports, want 2: about the user and the post (%v)", n, err)
	}
	// The same holds for a user that the viewer muted before being blocked.
	cyd := s.signedUp("cyd")
	cyd.send("/u/ben/mute", "for", "").want(303)
	cyd.get("/settings/muted").want(200, `action="/u/ben/unmute"`)
	ben.send("/u/cyd/block", "for", "").want(303)
	ben.send("/settings/profile", "display_name", "Benjamin").want(303)
	cyd.send("/u/ben/unmute").want(404)
	cyd.get("/settings/muted").want(200).wantNot("ben", "Benjamin")
	// A mutual block can be ended; only the name of the other person is shown.
	if err := s.social.Relations.Block(t.Context(), s.user("cyd"), s.user("ben"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	cyd.get("/settings/blocked").want(200, `action="/u/ben/unblock"`).wantNot("Benjamin")
	cyd.send("/u/ben/unblock").want(303)
}

// Users see the profile of a person they have blocked, with a button to unblock, unless that person
// has blocked them, too.
func TestBlockedProfiles(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("blocker"), s.signedUp("ben")
	ada.send("/settings/profile", "bio", "all about me").want(303)
	ben.send("/u/blocker/mute", "for", "").want(303)
	ada.send("/u/ben/block", "for", "").want(303)
	ben.send("/u/blocker/block", "for", "").want(404)
	if err := s.social.Relations.Block(t.Context(), s.user("ben"), s.user("blocker"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "/replies", "/followers", ".atom"} {
		blocker, missing := ben.get("/u/blocker"+path), ben.get("/u/phantom"+path)
		if blocker.status != 404 || masked(blocker) != masked(missing) {
			t.Errorf("GET /u/blocker%s: %d\n%s", path, blocker.status, masked(blocker))
		}
	}
	ada.send("/u/ben/unblock").want(303)
	ben.get("/u/blocker").want(200, "You blocked blocker", `action="/u/blocker/unblock"`)
	ben.get("/settings/blocked").want(200, `action="/u/blocker/unblock"`)
	ben.send("/u/blocker/unblock").want(303)
}

// masked returns the main part of a page with the names of both users replaced.
func masked(a *response) string {
	_, body, _ := strings.Cut(a.body, "<main")
	body, _, _ = strings.Cut(body, "Request ID")
	return strings.NewReplacer("blocker", "X", "phantom", "X").Replace(body)
}

// Nobody can follow a suspended account. The counts on a profile agree with its lists of people.
func TestNumbersAgreeWithLists(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben, cyd, dan := s.signedUp("ada"), s.signedUp("ben"), s.signedUp("cyd"), s.signedUp("dan")
	for _, name := range []string{"ben", "cyd"} {
		ada.send("/u/" + name + "/follow").want(303)
	}
	ben.send("/u/cyd/follow").want(303)
	dan.send("/u/cyd/follow").want(303)
	s.standing("ben", social.Suspended)
	dan.send("/u/ben/follow").want(404)
	if err := s.social.Follows.Follow(t.Context(), s.user("dan"), s.user("ben")); err == nil {
		t.Error("a suspended account is followed")
	}
	number := func(v *visitor, name, label string, want int) {
		t.Helper()
		v.get("/u/"+name).want(200, fmt.Sprintf(`>%s</a></dt><dd>%d<`, label, want))
	}
	number(dan, "ada", "following", 1)
	number(dan, "cyd", "followers", 2)
	cyd.send("/u/ada/block", "for", "").want(303)
	cyd.send("/u/dan/block", "for", "").want(303)
	eve := s.signedUp("eve")
	eve.send("/u/ada/follow").want(303)
	eve.send("/u/dan/block", "for", "").want(303)
	number(eve, "ada", "follower", 1)
}

// A page whose entries are all hidden does not say that the list is empty.
func TestHiddenPageIsNotEmpty(t *testing.T) {
	t.Parallel()
	s := start(t, redistest.DB(t).Client(t), web.Options{}, app.Options{})
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	s.signedUp("cyd").send("/post", "status", "the first #walk").want(303)
	for i := range 130 {
		if _, err := s.social.Posts.Post(t.Context(), s.user("ada"), fmt.Sprintf("post %d #walk", i)); err != nil {
			t.Fatal(err)
		}
	}
	ben.send("/u/ada/block", "for", "").want(303)
	page := ben.get("/tag/walk").want(200, "Older posts", "Everything on this page is hidden from you.")
	page.wantNot("No posts with this tag", "Write the first one")
	ada.get("/tag/walk").want(200).wantNot("hidden from you")
}
