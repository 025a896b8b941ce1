package web_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"retwis/internal/social"
)

// The edit form says that the earlier text stays public, and how to withdraw it. Search engines do
// not index the earlier texts.
func TestEditFormWarnsOfHistory(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	path, _ := ada.published("ada", "my address")
	ada.get(path+"/edit").want(200, "People can see earlier versions.", `href="`+path+`/delete"`, `href="`+path+`">Cancel</a>`)
	ada.send(path+"/edit", "status", " ").want(422, "People can see earlier versions", "Cancel</a>")
	ada.send(path+"/edit", "status", "another text").want(303)
	if tag := s.visitor().get(path+"/history").want(200, "my address").header.Get("X-Robots-Tag"); tag != "noindex" {
		t.Errorf("X-Robots-Tag of earlier texts: %q", tag)
	}
	if tag := s.visitor().get(path).want(200).header.Get("X-Robots-Tag"); tag != "" {
		t.Errorf("X-Robots-Tag of a post: %q", tag)
	}
	ada.get("/settings/delete").want(200, "The moderation log keeps what moderators decided")
}

// A log-in or sign-up ends the browser's previous session.
func TestLoginEndsTheSessionBefore(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.signedUp("ada")
	s.signedUp("ben")
	for name, enter := range map[string]func(v *visitor){
		"log-in": func(v *visitor) { v.send("/login", "username", "ben", "password", password).want(303) },
		"sign-up": func(v *visitor) {
			v.send("/register", "username", "cyd", "password", password, "password2", password).want(303)
		},
	} {
		t.Log(name)
		v := s.visitor()
		v.send("/login", "username", "ada", "password", password).want(303)
		before := s.visitor()
		u, err := url.Parse(s.http.URL)
		if err != nil {
			t.Fatal(err)
		}
		before.http.Jar.SetCookies(u, v.http.Jar.Cookies(u))
		before.get("/home").want(200)
		v.send("/login", "username", "ben", "password", "not the right one").want(422)
		before.get("/home").want(200)
		enter(v)
		before.get("/home").want(303, "/login")
		v.get("/home").want(200)
	}
}

// A form with conflicting lengths ends its connection: data after the form is not treated as a
// request.
func TestNothingFollowsAChunkedForm(t *testing.T) {
	t.Parallel()
	s := setup(t)
	conn, err := net.Dial("tcp", s.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n"+
		"Content-Type: application/x-www-form-urlencoded\r\n\r\n0\r\n\r\nGET /timeline HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	all, _ := io.ReadAll(conn) // the connection may be reset, because the server does not read everything
	if n := strings.Count(string(all), "HTTP/1.1 "); n != 1 {
		t.Errorf("%d responses, want 1: %.300s", n, all)
	}
}

// The security log records refusals: deleting another user's post, moderators' pages, forms of
// other sites.
func TestRefusalsAreLogged(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	path, _ := ada.published("ada", "hers")
	ben.send(path + "/delete").want(403)
	ben.get("/moderation").want(404)
	request, err := http.NewRequest(http.MethodPost, s.http.URL+"/post", strings.NewReader("status=x"))
	if err == nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	ben.do(request, err).want(403)
	ben.get("/u/nobody").want(404)
	var refused []string
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "msg=refused") && strings.Contains(line, "user=ben") {
			refused = append(refused, line)
		}
	}
	if len(refused) != 3 || !strings.Contains(refused[0], "path="+path+"/delete") || !strings.Contains(refused[1], "path=/moderation") || !strings.Contains(refused[2], "path=/post") {
		t.Errorf("refusals in the log: %q, want 3", refused)
	}
}

// Browsers must not store settings, the log-in page and moderation pages.
func TestNoStore(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	s.role("ada", social.Moderator)
	for path, want := range map[string]string{
		"/settings/security": "no-store", "/settings/muted": "no-store", "/login": "no-store",
		"/moderation": "no-store", "/moderation/audit": "no-store", "/moderation/people": "no-store",
		"/notifications": "private, no-cache", "/bookmarks": "private, no-cache", "/home": "private, no-cache",
	} {
		if got := ada.get(path).header.Get("Cache-Control"); got != want {
			t.Errorf("%s: Cache-Control %q, want %q", path, got, want)
		}
	}
}
