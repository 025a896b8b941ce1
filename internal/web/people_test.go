package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/web/view"
)

// A profile shows the user's texts, and links with nofollow. A rejected form keeps what was typed.
func TestEditProfile(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	ada.get("/settings").want(200, `href="/settings/profile"`)
	ada.get("/settings/profile").want(200, `name="display_name"`, `name="bio"`, `name="link"`)
	sent := url.Values{"display_name": {"Ada <Lovelace>"}, "bio": {"first line\nsee #engines & @ben"}, "link": {"https://example.com/a?b=1&c=2", "", " https://example.org "}}
	ada.post("/settings/profile", sent).want(303, "/settings/profile?saved")
	ada.get("/settings/profile?saved").want(200, "Profile saved.", `value="Ada &lt;Lovelace&gt;"`, "first line\nsee #engines", `value="https://example.org"`)
	profile := s.visitor().get("/u/ada").want(200, "Ada &lt;Lovelace&gt;</h1>", "@ada", "first line\nsee <a href=\"/tag/engines\"", `<a href="/u/ben" dir="auto">@ben</a>`,
		`<a href="https://example.com/a?b=1&amp;c=2" rel="nofollow noopener ugc me">example.com/a?b=1&amp;c=2</a>`, "Joined ", `href="/u/ada.atom"`)
	profile.wantNot("<Lovelace>", "Edit profile")
	ada.get("/u/ada").want(200, "Edit profile").wantNot(`action="/u/ada/follow"`, `action="/u/ada/mute"`)

	sent.Set("link", "javascript:alert(1)")
	ada.post("/settings/profile", sent).want(422, "Use web addresses", `value="javascript:alert(1)"`, `aria-invalid="true"`)
	sent = url.Values{"display_name": {strings.Repeat("x", 51)}, "bio": {"kept <bio>"}}
	ada.post("/settings/profile", sent).want(422, "too long", "kept &lt;bio&gt;</textarea>")
	s.visitor().get("/u/ada").want(200, "Ada &lt;Lovelace&gt;</h1>") // nothing has changed
}

// post sends a form in which a name may occur more than once.
func (v *visitor) post(path string, form url.Values) *response {
	v.site.t.Helper()
	request, err := http.NewRequest(http.MethodPost, v.site.http.URL+path, strings.NewReader(form.Encode()))
	if err == nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return v.do(request, err)
}

// A profile shows the pinned post first, once, and has tabs for replies and likes.
func TestProfileTabs(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	first := s.say("ada", "an old post")
	s.say("ada", "a new post")
	s.reply("ada", s.say("ben", "a question"), "an answer")
	ben.send(fmt.Sprintf("/u/ada/%d/pin", first)).want(403, "only pin your own posts")
	ada.send(fmt.Sprintf("/u/ada/%d/pin", first)).want(303, "/u/ada")
	page := ada.get("/u/ada").want(200, "Pinned", "a new post").wantNot("an answer")
	if got := page.posts(); len(got) != 2 || got[0] != fmt.Sprint(first) {
		t.Errorf("the profile shows the posts %v, want the pinned post first", got)
	}
	ada.get("/u/ada/replies").want(200, "an answer").wantNot("a new post", "Pinned")
	ada.get("/u/ada/likes").want(200, "You haven&#39;t liked anything yet.")
	s.like("ben", first)
	ada.get("/u/ben/likes").want(200, "an old post", `href="/u/ben/likes" aria-current="page"`)
	ada.get("/u/BEN/likes").want(302, "/u/ben/likes")
	ada.send(fmt.Sprintf("/u/ada/%d/unpin", first)).want(303)
	ada.get("/u/ada").want(200, "an old post").wantNot("Pinned")
	ada.get("/u/ada/likes?before=nonsense").want(400)
}

func (s *site) user(name string) social.User {
	s.t.Helper()
	user, err := s.social.Users.UserByName(s.t.Context(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	return user
}

func (s *site) say(name, text string) int64 {
	s.t.Helper()
	post, err := s.social.Posts.Post(s.t.Context(), s.user(name), text)
	if err != nil {
		s.t.Fatal(err)
	}
	return post.ID
}

func (s *site) reply(name string, to int64, text string) int64 {
	s.t.Helper()
	post, err := s.social.Posts.Reply(s.t.Context(), s.user(name), to, text)
	if err != nil {
		s.t.Fatal(err)
	}
	return post.ID
}

func (s *site) like(name string, id int64) {
	s.t.Helper()
	if err := s.social.Reactions.Like(s.t.Context(), s.user(name), id); err != nil {
		s.t.Fatal(err)
	}
}

// A blocked user cannot see the blocker, and the blocker sees no posts of the blocked user. A
// viewer still sees the profile of a muted user.
func TestMuteAndBlock(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	s.say("ben", "something by ben")
	ada.send("/u/ben/follow").want(303)
	ben.send("/u/ada/follow").want(303)
	ada.get("/u/ben").want(200, "Follows you", `href="/u/ben/mute"`, `href="/u/ben/block"`, `action="/u/ben/remove"`)
	ada.get("/u/ben/mute").want(200, `action="/u/ben/mute"`, `value="week"`)
	ada.get("/u/ada/mute").want(404)

	ada.send("/u/ben/mute", "for", "never").want(400)
	ada.send("/u/ben/mute", "for", "week").want(303, "/u/ben")
	ada.get("/home").want(200, "You muted <bdi>@ben</bdi>.", `action="/u/ben/unmute"`)
	ada.get("/home").want(200).wantNot("You muted")
	ada.get("/timeline").want(200).wantNot("something by ben")
	ada.get("/u/ben").want(200, "You muted ben", "something by ben", `action="/u/ben/unmute"`)
	ada.get("/settings/muted").want(200, `action="/u/ben/unmute"`)
	ada.send("/u/ben/unmute", "back", "/settings/muted").want(303, "/settings/muted")
	ada.get("/settings/muted").want(200, "You haven&#39;t muted anyone.")
	ada.get("/timeline").want(200, "something by ben")

	ada.send("/u/ben/remove").want(303)
	ada.get("/u/ada/followers").want(200, "ada has no followers yet.")

	ada.send("/u/ben/block", "for", "day").want(303, "/u/ben")
	ada.get("/u/ben").want(200, "You blocked ben", `action="/u/ben/unblock"`).wantNot("something by ben", `action="/u/ben/follow"`)
	ada.get("/timeline").want(200).wantNot("something by ben")
	for _, path := range []string{"/u/ada", "/u/ada/replies", "/u/ada/likes", "/u/ada/followers", "/u/ada/following"} {
		ben.get(path).want(404, "This account doesn&#39;t exist")
	}
	ben.send("/u/ada/follow").want(404, "This account doesn&#39;t exist")
	ada.get("/settings/blocked").want(200, `action="/u/ben/unblock"`)
	ada.send("/u/ben/unblock").want(303)
	ben.get("/u/ada").want(200)
	ada.send("/u/ada/block").want(400, "You can&#39;t block yourself")
}

// Every button works for visitors: it leads to the log-in form, and from there back to the page
// with the button.
func TestButtonsForVisitors(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.signedUp("ada")
	s.signedUp("ben")
	v := s.visitor()
	v.get("/explore/people").want(200, `action="/u/ada/follow"`, `name="back" value="/explore/people"`)
	v.send("/u/ada/follow", "back", "/timeline").want(303, "/login?next=%2Ftimeline")
	v.send("/u/ada/follow", "back", "https://evil.example/").want(303, "/login?next=%2Fhome")
	v.send("/u/ada/follow").want(303, "/login?next=%2Fu%2Fada")
	for _, action := range []string{"mute", "unmute", "block", "unblock", "remove"} {
		page := "/u/ada" // the page with the form
		if action == "mute" || action == "block" {
			page += "/" + action
		}
		v.send("/u/ada/"+action).want(303, view.LoginPath(page))
		if page == "/u/ada" {
			v.get("/u/ada/"+action).want(303, page)
		} else {
			v.get(page).want(303, view.LoginPath(page))
		}
	}
	v.send("/u/ada/7/pin").want(303, "/login?next=%2Fu%2Fada%2F7")
	for _, path := range []string{"/notifications", "/bookmarks", "/settings/profile", "/settings/notifications", "/settings/muted", "/settings/blocked"} {
		v.get(path).want(303, "/login?next="+url.QueryEscape(path))
	}
	v.send("/settings/profile", "bio", "x").want(303, "/login?next=%2Fsettings%2Fprofile")
	v.send("/login", "username", "ben", "password", password, "next", "/timeline").want(303, "/timeline")
	v.send("/u/ada/follow", "back", "/timeline").want(303, "/timeline")
	v.get("/explore/people").want(200, `action="/u/ada/unfollow"`)
}

// Notifications are unread until the user opens the page of notifications. Prefetching by a browser
// does not count.
func TestNotificationsPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	ada.get("/notifications").want(200, "All quiet", `data-unread="0"`)
	post := s.say("ada", "look <here>")
	for i := range 4 {
		name := fmt.Sprint("fan", i)
		s.signedUp(name)
		s.like(name, post)
	}
	s.reply("fan0", post, "well said")
	ada.get("/home").want(200, `data-unread="5"`, "<title>(5) ")

	request, err := http.NewRequest(http.MethodGet, s.http.URL+"/notifications", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Sec-Purpose", "prefetch")
	ada.do(request, nil).want(200)
	page := ada.get("/notifications").want(200, "and 3 others liked your post", "look &lt;here&gt;", "replied to you", "well said", "alert like unread", `data-unread="0"`)
	if n := strings.Count(page.body, `<section class="alert`); n != 2 {
		t.Errorf("%d notifications, want 2: the likes as a group, and the reply", n)
	}
	ada.get("/notifications").want(200, "and 3 others liked your post").wantNot("alert like unread")
	ada.get("/notifications?only=mentions").want(200, "well said", "#reply").wantNot("liked your post")
	ada.get("/notifications?only=follows").want(200, "All quiet")
	ada.get("/home").want(200, `data-unread="0"`).wantNot("(5)")

	ada.get("/settings/notifications").want(200, `value="like" checked`, `value="follow" checked`)
	ada.post("/settings/notifications", url.Values{"on": {"follow", "mention", "reply", "repost"}}).want(303)
	ada.get("/settings/notifications?saved").want(200, "saved", `value="follow" checked`).wantNot(`value="like" checked`)
	s.signedUp("late")
	s.like("late", post)
	ada.get("/home").want(200, `data-unread="0"`)
	ada.get("/notifications?before=nonsense").want(400)
}

func TestBookmarksPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	ada.get("/bookmarks").want(200, "No bookmarks yet.", `href="/explore"`)
	for i := range 12 {
		if err := s.social.Reactions.Bookmark(t.Context(), s.user("ada"), s.say("ada", fmt.Sprint("post ", i))); err != nil {
			t.Fatal(err)
		}
	}
	page := ada.get("/bookmarks").want(200, "Bookmarks are private.", `rel="next"`)
	seen := page.posts()
	_, next, _ := strings.Cut(page.body, `rel="next" href="`)
	next, _, _ = strings.Cut(next, `"`)
	seen = append(seen, ada.get(next).want(200).posts()...)
	if len(seen) != 12 {
		t.Errorf("the pages show %d bookmarks, want 12: %v", len(seen), seen)
	}
	s.signedUp("ben").get("/bookmarks").want(200, "No bookmarks yet.")
}

// A tag has one canonical address and a follow button.
func TestTagPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	ada.get("/tag/gardens").want(200, "No posts with this tag yet.", `action="/tag/gardens/follow"`)
	s.say("ben", "about #Gardens <b>")
	ada.get("/tag/Gardens").want(302, "/tag/gardens")
	s.visitor().get("/tag/gardens").want(200, "about <a href=\"/tag/gardens\"", "&lt;b&gt;", `action="/tag/gardens/follow"`)
	s.visitor().send("/tag/gardens/follow").want(303, "/login?next=%2Ftag%2Fgardens")
	ada.get("/tag/gardens/follow").want(303, "/tag/gardens")
	ada.send("/tag/gardens/follow").want(303, "/tag/gardens")
	ada.get("/tag/gardens").want(200, `action="/tag/gardens/unfollow"`)
	ada.send("/tag/gardens/unfollow", "back", "/home").want(303, "/home")
	ada.get("/tag/gardens").want(200, `action="/tag/gardens/follow"`)
	ben.send("/u/ada/block").want(303)
	ada.get("/tag/gardens").want(200).wantNot("about <a")
	for _, tag := range []string{"12", "a%20b", "%3Cb%3E", strings.Repeat("x", 200)} {
		ada.get("/tag/"+tag).want(404, "This isn&#39;t a tag")
		ada.send("/tag/" + tag + "/follow").want(404)
	}
}

// The text of a reply sent after the session has ended, or to a deleted post, is kept.
func TestReplyOutlivesTheSession(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.signedUp("ada")
	post := s.say("ada", "a question")
	path := fmt.Sprintf("/u/ada/%d/reply", post)
	v := s.visitor()
	const text, shown = "an <answer>", ">an &lt;answer&gt;</textarea>"
	v.send(path, "status", text).want(403, shown, `name="action" value="`+path+`"`, "Your reply")
	v.send("/login", "username", "ada", "password", "wrong horse", "status", text, "action", path).want(422, shown, `value="`+path+`"`)
	v.send("/login", "username", "ada", "password", password, "status", text, "action", path).want(200, shown, `action="`+path+`"`, "re logged in again")
	// The action must be a path of a form for posts or replies.
	other := s.visitor()
	other.send("/login", "username", "ada", "password", password, "status", text, "action", "/u/ada/block").
		want(200, shown, `action="/post"`).wantNot(`action="/u/ada/block"`)

	if err := s.social.Posts.Delete(t.Context(), s.user("ada"), post); err != nil {
		t.Fatal(err)
	}
	v.send(path, "status", text).want(404, shown, `action="/post"`, "publish what you wrote as a new post")
}
