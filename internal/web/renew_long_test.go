//go:build long

package web_test

import (
	"net/url"
	"strings"
	"testing"

	"retwis/internal/redistest"
)

// On a Cluster a browser that has a cookie of an earlier layout gets one that names the
// user, and both open the same session.
func TestCookieOfAnEarlierLayout(t *testing.T) {
	t.Parallel()
	s := on(t, redistest.Cluster(t, 1).Client(t))
	b := s.client.B()
	if err := s.client.Do(t.Context(), b.Set().Key("layout_version").Value("2").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	ada := s.signedUp("ada")
	cookie := func() string {
		address, err := url.Parse(s.http.URL)
		if err != nil {
			t.Fatal(err)
		}
		for _, cookie := range ada.http.Jar.Cookies(address) {
			if cookie.Name == "auth" {
				return cookie.Value
			}
		}
		return ""
	}
	old := cookie()
	if ada.get("/home").want(200); old == "" || strings.Contains(old, ".") || cookie() != old {
		t.Fatalf("the cookie is %q, then %q", old, cookie())
	}
	if err := s.social.ChangeLayout(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ada.get("/home").want(200)
	if got := cookie(); got != "1."+old {
		t.Errorf("the cookie is %q, want %q", got, "1."+old)
	}
	ada.get("/home").want(200)
	ada.send("/logout").want(303)
	ada.get("/home").want(303)
}
