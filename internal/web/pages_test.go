package web_test

import (
	"strings"
	"testing"

	"retwis/internal/app"
)

// The appearance of pages is chosen per browser. Unknown values are ignored.
func TestAppearance(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	ada.get("/settings/appearance").want(200, `name="theme" value="dark"`).wantNot("data-theme")
	ada.send("/settings/appearance", "theme", "dark", "size", "large", "motion", `"><script>`, "descriptions", "below").want(303, "/settings/appearance")
	page := ada.get("/settings/appearance").want(200, "Settings saved.", `name="theme" value="dark" checked`).wantNot("<script>")
	for _, want := range []string{`data-theme="dark"`, `data-size="large"`, `data-descriptions="below"`, `name="color-scheme" content="dark"`} {
		if !strings.Contains(page.body, want) {
			t.Errorf("%s is not on the page", want)
		}
	}
	if strings.Contains(page.body, "data-motion") {
		t.Error("an unknown value is on the page")
	}
	if s.visitor().get("/timeline").want(200); strings.Contains(s.visitor().get("/").body, "data-theme") {
		t.Error("another browser has the same theme")
	}
	ada.send("/settings/appearance").want(303)
	if strings.Contains(ada.get("/home").body, "data-theme") {
		t.Error("the theme cannot be reset")
	}
}

// The next page shows the result of an action once. A forged cookie has no effect.
func TestToast(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	s.signedUp("ben")
	ada.send("/post", "status", "hello", "back", "/u/ben").want(303, "/u/ben")
	ada.get("/u/ben").want(200, "Post published.", `href="/post/1"`)
	ada.get("/u/ben").want(200).wantNot("Post published.")
	ada.send("/u/ben/block").want(303)
	ada.get("/home").want(200, "You blocked <bdi>@ben</bdi>.", `action="/u/ben/unblock"`, `name="back" value="/home"`)
	ada.send("/u/ben/unblock", "back", "/home").want(303, "/home")
	ada.get("/home").want(200, "You unblocked <bdi>@ben</bdi>.")
	for _, forged := range []string{"posted.<b>", "unknown.1", "muted.a b", "posted.-1"} {
		ada.cookie("told", forged)
		ada.get("/home").want(200).wantNot("toast told")
	}
}

// A username is checked before the form is sent, and the form takes an email address for password
// resets.
func TestSignUpForm(t *testing.T) {
	t.Parallel()
	s, server := mailing(t, app.Options{})
	s.signedUp("ada")
	v := s.visitor()
	for typed, want := range map[string]string{"Ada": "taken", "%40ada": "taken", "a+b": "letters", "ben": `"problem":""`} {
		if got := v.get("/register/name?q=" + typed).want(200).body; !strings.Contains(got, want) {
			t.Errorf("name %q: %s, want %s", typed, got, want)
		}
	}
	v.get("/register").want(200, `name="email"`, `<noscript>`)
	v.send("/register", "username", "ben", "password", password, "email", "no address").want(422, "Use an email address such as", `value="no address"`)
	v.send("/register", "username", "ben", "password", password, "email", " ben@example.net ").want(303, "/home")
	v.get("/home").want(200, "sent you a link to confirm your email address")
	if link := server.Wait(t, 1).Link("/confirm/"); link == "" {
		t.Error("the mail has no link")
	}
}

// Browsers keep the offline page, so it must be the same for everyone.
func TestOfflinePage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	if own, plain := ada.get("/offline").want(200, "offline"), s.visitor().get("/offline").want(200); own.body != plain.body {
		t.Error("the offline page differs between users")
	}
	if kind := s.visitor().get("/sw.js").want(200).header.Get("Content-Type"); !strings.HasPrefix(kind, "text/javascript") {
		t.Errorf("Content-Type of /sw.js: %q, want text/javascript", kind)
	}
}
