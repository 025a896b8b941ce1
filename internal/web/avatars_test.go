package web_test

import (
	"net/url"
	"strings"
	"testing"
)

// Every name has an avatar: a cacheable file that contains no scripts and does not reveal whether
// the name exists.
func TestDrawnAvatar(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.signedUp("ada")
	v.send("/post", "status", "seen").want(303)
	v.get("/home").want(200, `<img class="avatar medium" src="/drawn/ada.svg" alt="" width="44" height="44" loading="lazy"`)
	ada := s.visitor().get("/drawn/ada.svg").want(200, "<svg", `viewBox=`)
	for name, want := range map[string]string{
		"Content-Type": "image/svg+xml", "Cache-Control": "public, max-age=2592000", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox",
	} {
		if got := ada.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if s.visitor().get("/drawn/ADA.svg").body != ada.body || s.visitor().get("/drawn/nobody.svg").want(200).body == ada.body {
		t.Error("the avatar must depend only on the name, ignoring case")
	}
	s.visitor().get("/drawn/" + url.PathEscape("<script>&") + ".svg").want(200).wantNot("<script>")
	s.visitor().get("/drawn/ada.png").want(404)
	s.visitor().get("/drawn/" + strings.Repeat("a", 1000) + ".svg").want(404)
}
