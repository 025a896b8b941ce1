package web_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The text of a post sent after the session has ended is kept through the log-in; the log-in itself
// publishes nothing.
func TestTextOutlivesTheSession(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.signedUp("ada")
	// Another browser ends the session.
	s.visitor().get("/")
	other := s.visitor()
	other.send("/login", "username", "ada", "password", password).want(303)
	other.send("/settings/security/others").want(303)

	const text = `what I <wrote> & "thought"`
	const shown = `>what I &lt;wrote&gt; &amp; &#34;thought&#34;</textarea>`
	a := v.send("/post", "status", text).want(403, shown, `action="/login"`, `name="password"`, "been logged out").wantNot(`action="/post"`)
	if cache := a.header.Get("Cache-Control"); !strings.Contains(cache, "private") {
		t.Errorf("Cache-Control of a page with a draft: %q, want private", cache)
	}
	v.send("/login", "username", "ada", "password", "wrong horse", "next", "/home", "status", text).want(422, "Wrong username or password.", shown)
	back := v.send("/login", "username", "ada", "password", password, "next", "/home", "status", text)
	back.want(200, shown, `action="/post"`, "re logged in again", "Log out")
	if ids := back.posts(); len(ids) != 0 {
		t.Errorf("the log-in published posts %v", ids)
	}
	v.send("/post", "status", text).want(303, "/home")
	v.get("/home").want(200, "what I &lt;wrote&gt;").wantNot(shown)
	if strings.Contains(s.log.String(), "wrote") {
		t.Errorf("the log has the text: %s", s.log)
	}
	// A page of another site can neither post nor fill in the form.
	request, err := http.NewRequest(http.MethodPost, s.http.URL+"/login", strings.NewReader("username=ada&status=evil"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	v.do(request, nil).want(403, "another site").wantNot("evil")
}

// A page that was opened before another account logged in, in another tab, does not publish with
// that account until the user has been told.
func TestPageOfAnotherAccount(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, bob := s.signedUp("ada"), s.signedUp("bob")
	ada.get("/home").want(http.StatusOK, `action="/post"`, `name="author" value="ada"`)
	refused := bob.send("/post", "status", "a secret of ada", "author", "ada")
	refused.want(http.StatusUnprocessableEntity, "opened with another account", "logged in as @bob", "a secret of ada", `name="author" value="bob"`)
	bob.get("/u/bob").want(http.StatusOK).wantNot("a secret of ada")
	bob.send("/post", "status", "a secret of ada", "author", "bob").want(http.StatusSeeOther)
	bob.get("/u/bob").want(http.StatusOK, "a secret of ada")
	post := bob.get("/u/bob").posts()[0]
	ada.send("/u/bob/"+post+"/reply", "status", "yes", "author", "bob").want(http.StatusUnprocessableEntity, "logged in as @ada")
	ada.send("/u/bob/"+post+"/reply", "status", "yes").want(http.StatusSeeOther) // as a program sends it
}

// The page after a published post, and only that page, tells the draft script that the post was
// published.
func TestPublishedIsReported(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	for _, c := range []struct {
		path, text  string
		status      int
		isPublished bool
	}{
		{"/post", "a post", http.StatusSeeOther, true},
		{"/u/ada/1/reply", "a reply", http.StatusSeeOther, true},
		{"/u/ada/1/edit", "another text", http.StatusSeeOther, true},
		{"/post", " ", http.StatusUnprocessableEntity, false},
		{"/u/ada/1/like", "", http.StatusSeeOther, false},
	} {
		ada.send(c.path, "status", c.text).want(c.status)
		if got := strings.Contains(ada.get("/home").body, "data-published"); got != c.isPublished {
			t.Errorf("%s with %q: data-published on the next page: %v, want %v", c.path, c.text, got, c.isPublished)
		}
	}
}

// The path of a form redirects to the page with the form.
func TestAddressesOfForms(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.signedUp("ada")
	v.send("/post", "status", " ").want(422) // the browser stays at /post
	for path, to := range map[string]string{
		"/post": "/home", "/logout": "/", "/u/ben/follow": "/u/ben", "/u/ben/unfollow": "/u/ben",
	} {
		if a := v.get(path).want(303); a.header.Get("Location") != to {
			t.Errorf("%s leads to %q, want %q", path, a.header.Get("Location"), to)
		}
	}
	v.get("/home").want(200, "Log out") // nothing was changed
	if a := s.visitor().get("/login?next=%2Fpost").want(200, `value="/post"`); a == nil {
		t.Error("no page")
	}
}

// A form that arrives too slowly is refused with status 408.
func TestSlowForm(t *testing.T) {
	t.Parallel()
	s := setup(t)
	slow := httptest.NewUnstartedServer(s.server.Handler())
	slow.Config.ReadTimeout = 200 * time.Millisecond
	slow.Start()
	defer slow.Close()
	for name, body := range map[string]string{"slow": "s", "silent": ""} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", slow.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, err = io.WriteString(conn, "POST /post HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n"+body)
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			page, err := io.ReadAll(response.Body)
			if response.StatusCode != http.StatusRequestTimeout || !response.Close || !strings.Contains(string(page), "too long to arrive") || err != nil {
				t.Errorf("status %d, closes %v (%v): %s", response.StatusCode, response.Close, err, page)
			}
		})
	}
}

// A form that is cut off is refused with status 400.
func TestShortForm(t *testing.T) {
	t.Parallel()
	s := setup(t)
	conn, err := net.Dial("tcp", s.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /post HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nstatus=x")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d, want 400", response.StatusCode)
	}
}

// Error pages show the session user.
func TestErrorPagesKnowTheirReader(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.signedUp("ada")
	v.get("/nowhere").want(404, "Log out").wantNot("Log in")
	v.send("/u/ada/follow").want(400, "Log out")
	v.send("/post", "status", strings.Repeat("x", 70<<10)).want(413, "Log out").wantNot("Log in")
	s.visitor().get("/nowhere").want(404, "Log in").wantNot("Log out")
}
