package web_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"retwis/internal/app"
	"retwis/internal/social/adopt"
	"retwis/internal/web"
	"retwis/internal/web/httpserver"
)

func TestSignedOut(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.signedUp("ada").send("/post", "status", "hello")
	v := s.visitor()
	v.get("/").want(200, "<h1 dir=\"auto\">Retwis</h1>", `href="/login"`, `action="/register"`)
	v.get("/register").want(200, `name="password2"`, `autocomplete="new-password"`)
	v.get("/login").want(200, `autocomplete="current-password"`)
	v.get("/timeline").want(200, "hello", `<a class="name" href="/u/ada"`)
	v.get("/u/ada").want(200, "hello", "follower", `action="/u/ada/follow"`)
	v.get("/u/ada/followers").want(200, "ada has no followers yet.")
	v.get("/home").want(303, "/login?next=%2Fhome")
	v.send("/post").want(303, "/login?next=%2Fhome")
	v.send("/u/ada/follow").want(303, "/login?next=%2Fu%2Fada")
	v.send("/logout").want(303, "/")
	v.get("/healthz").want(200, "ok")
	v.get("/readyz").want(200, "ok")
	v.get("/robots.txt").want(200, "User-agent")
	v.get("/metrics").want(404)
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.visitor()
	for _, c := range []struct{ name, password, again, want string }{
		{"", password, password, "1 to 20"},
		{"a b<i>", password, password, "1 to 20"},
		{"fine", "short", "short", "8 to 128"},
		{"fine", password, password + "x", "match."},
	} {
		a := v.send("/register", "username", c.name, "password", c.password, "password2", c.again)
		a.want(422, c.want, `aria-invalid="true"`).wantNot(c.password+`"`, "<i>")
	}
	v.send("/register", "username", "Ada", "password", password, "password2", password).want(303, "/home")
	v.get("/").want(303, "/home")
	v.get("/login").want(303, "/home")
	v.get("/register").want(303, "/home")
	v.get("/home").want(200, "Ada", "No posts yet.")

	other := s.visitor()
	other.send("/register", "username", "aDA", "password", "another horse", "password2", "another horse").want(422, "That username is taken.", `value="aDA"`)
	other.send("/login", "username", "ada", "password", "wrong horse").want(422, "Wrong username or password.", `value="ada"`)
	other.send("/login", "username", "nobody", "password", password).want(422, "Wrong username or password.")
	other.send("/login", "username", "ada", "password", password, "next", "/u/Ada").want(303, "/u/Ada")
	other.get("/home").want(200)

	out := v.send("/logout").want(303, "/")
	if got := out.header.Get("Clear-Site-Data"); got != `"cache", "storage"` {
		t.Errorf("Clear-Site-Data at a log-out: %q", got)
	}
	v.get("/home").want(303, "/login")
	// The other browser's session continues. When this session ends, its cookie stays: a slow
	// response could remove the cookie of a later log-in.
	other.get("/home").want(200)
	if err := s.social.Sessions.LogoutEverywhere(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if a := other.get("/home").want(303, "/login"); strings.Contains(fmt.Sprint(a.header["Set-Cookie"]), "auth=") {
		t.Errorf("the cookie of an ended session is changed: %v", a.header["Set-Cookie"])
	}
}

func TestNextIsLocal(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.signedUp("ada")
	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "/\t/evil.example", "javascript:alert(1)", "evil", ""} {
		s.visitor().send("/login", "username", "ada", "password", password, "next", next).want(303)
		a := s.visitor().send("/login", "username", "ada", "password", password, "next", next)
		if to := a.header.Get("Location"); to != "/home" {
			t.Errorf("next=%q leads to %q, want /home", next, to)
		}
	}
}

func TestCookies(t *testing.T) {
	t.Parallel()
	s := setup(t)
	a := s.visitor().send("/register", "username", "ada", "password", password, "password2", password)
	got := strings.Join(a.header["Set-Cookie"], "\n")
	for _, want := range []string{"auth=", "Max-Age=31536000", "HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(got, want) {
			t.Errorf("the cookie has no %s: %s", want, got)
		}
	}
	if strings.Contains(got, "Secure") {
		t.Errorf("a plain connection got a Secure cookie: %s", got)
	}
	secure, err := web.New(s.social, web.Options{SecureCookies: true})
	if err != nil {
		t.Fatal(err)
	}
	defer secure.Close()
	s.http.Config.Handler = secure.Handler()
	a = s.visitor().send("/login", "username", "ada", "password", password)
	if got := strings.Join(a.header["Set-Cookie"], "\n"); strings.Count(got, "Secure") != 2 || !strings.Contains(got, "__Host-auth=") || strings.Contains(got, "Domain") {
		t.Errorf("behind a proxy with TLS: %s", got)
	}
	if a.header.Get("Strict-Transport-Security") == "" {
		t.Error("behind a proxy with TLS there is no HSTS")
	}
}

func TestPosting(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.signedUp("ada")
	v.send("/post", "status", `<script>alert("x")</script> & 'more'`).want(303, "/home")
	v.get("/home").want(200, "&lt;script&gt;alert(", "&amp; &#39;more&#39;").wantNot("<script>alert")
	long := strings.Repeat("é", 281)
	v.send("/post", "status", long).want(422, long, "at most 280", `aria-invalid="true"`, "Up to 280")
	v.send("/post", "status", " \n ").want(422, "Write something")
	v.send("/post", "status", strings.Repeat("x", 70<<10)).want(413, "The form is too large")
}

// The original program did not restrict usernames. Such names are escaped.
func TestOldNames(t *testing.T) {
	t.Parallel()
	s := setup(t)
	name := `<b>"a/b?c&d'#%2F é`
	b := s.client.B()
	for _, err := range []error{
		s.client.Do(t.Context(), b.Hset().Key("users").FieldValue().FieldValue(name, "1").Build()).Error(),
		s.client.Do(t.Context(), b.Hset().Key("user:1").FieldValue().FieldValue("username", name).FieldValue("password", "old").Build()).Error(),
		s.client.Do(t.Context(), b.Set().Key("next_user_id").Value("1").Build()).Error(),
		adopt.New(s.client, slog.New(slog.DiscardHandler)).Adopt(t.Context(), nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	v := s.visitor()
	v.send("/login", "username", name, "password", "old").want(303, "/home")
	v.send("/post", "status", "from long ago").want(303)
	home := v.get("/home").want(200, "from long ago", "&lt;b&gt;&#34;a/b?c&amp;d&#39;#%2F é").wantNot("<b>")
	const path = `/u/%3Cb%3E%22a%2Fb%3Fc&amp;d%27%23%252F%20%C3%A9`
	home.want(200, path)
	v.get(strings.ReplaceAll(path, "&amp;", "&")).want(200, "from long ago").wantNot("<b>")
	v.get(strings.ReplaceAll(path, "&amp;", "&")+"/followers").want(200, "has no followers yet.")
}

func TestFollowing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, ben, cleo := s.signedUp("Ada"), s.signedUp("ben"), s.signedUp("cleo")
	ada.get("/u/BEN").want(302, "/u/ben")
	ada.get("/u/BEN?before=7").want(302, "/u/ben?before=7")
	ada.get("/u/BEN/followers").want(302, "/u/ben/followers")
	ada.get("/u/ben").want(200, `action="/u/ben/follow"`)
	ada.send("/u/ben/follow").want(303, "/u/ben")
	ada.get("/u/ben").want(200, `action="/u/ben/unfollow"`)
	ben.send("/post", "status", "for my followers").want(303)
	ada.get("/home").want(200, "for my followers")
	if got := cleo.get("/home").want(200).posts(); len(got) != 0 {
		t.Errorf("the home page of a user who follows nobody has the posts %v", got)
	}
	ben.get("/u/ben/followers").want(200, "/u/Ada")
	ben.get("/u/Ada/following").want(200, `/u/ben"`)
	ben.get("/u/ben").want(200).wantNot(`action="/u/ben/follow"`)
	ben.send("/u/ben/follow").want(400, "You can&#39;t follow yourself")
	ben.send("/u/nobody/follow").want(404, "This account doesn&#39;t exist")

	cleo.send("/u/ben/follow")
	cleo.send("/u/Ada/follow")
	ben.send("/u/Ada/follow")
	ada.get("/u/ben").want(200, "You and ben have 1 follower in common")
	ada.send("/u/ben/unfollow").want(303, "/u/ben")
	ada.get("/u/ben").want(200, `action="/u/ben/follow"`)
}

func TestPaging(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.signedUp("ada")
	for i := range 60 {
		v.send("/post", "status", fmt.Sprint("post ", i)).want(303)
	}
	for _, name := range []string{"ben", "eve"} { // one author gets only a small share of /timeline
		other := s.signedUp(name)
		for i := range 20 {
			other.send("/post", "status", fmt.Sprint("post ", i)).want(303)
		}
	}
	for _, start := range []string{"/home", "/timeline", "/u/ada"} {
		var seen []string
		for path := start; path != ""; {
			page := v.get(path).want(200)
			seen = append(seen, page.posts()...)
			_, next, more := strings.Cut(page.body, `rel="next" href="`)
			if path, _, _ = strings.Cut(next, `"`); !more {
				path = ""
			}
			if len(seen) < 60 {
				v.send("/post", "status", "in between")
			}
		}
		if len(seen) < 60 {
			t.Errorf("%s shows %d posts, want at least 60", start, len(seen))
		}
		once := map[string]bool{}
		for _, id := range seen {
			if once[id] {
				t.Errorf("%s shows post %s twice", start, id)
			}
			once[id] = true
		}
	}
	v.get("/home?before=1").want(200, "No older posts.", "Back to the latest posts")
	for _, before := range []string{"x", "0", "-1", "1.5", "99999999999999999999", "01", "+1", ""} {
		v.get("/home?before="+before).want(400, "page address is not valid")
		v.get("/timeline?before=" + before).want(400)
		v.get("/u/ada?before=" + before).want(400)
	}
	v.get("/u/ada/followers?before=nonsense").want(400, "page address is not valid")
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.visitor()
	v.get("/nowhere").want(404, "This page doesn&#39;t exist")
	v.get("/u/nobody").want(404, "This account doesn&#39;t exist")
	v.get("/u/" + strings.Repeat("x", 5000)).want(404)
	v.get("/static/none.css").want(404, "This page doesn&#39;t exist")
	for _, c := range []struct{ method, path, allow string }{
		{http.MethodPost, "/timeline", "GET, HEAD"},
		{http.MethodPut, "/login", "GET, HEAD, POST"},
		{http.MethodDelete, "/u/nobody/follow", "GET, HEAD, POST"},
		{http.MethodPost, "/healthz", "GET, HEAD"},
	} {
		request, err := http.NewRequest(c.method, s.http.URL+c.path, http.NoBody)
		a := v.do(request, err).want(405, "support that request")
		if allow := a.header.Values("Allow"); len(allow) != 1 || allow[0] != c.allow {
			t.Errorf("%s %s: Allow: %q, want %q", c.method, c.path, allow, c.allow)
		}
	}
	request, err := http.NewRequest(http.MethodHead, s.http.URL+"/timeline", http.NoBody)
	if a := v.do(request, err).want(200); a.body != "" || a.header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %d bytes, Content-Length %q", len(a.body), a.header.Get("Content-Length"))
	}
	// A page of another site cannot act on behalf of its visitor (CSRF).
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		request, err := http.NewRequest(http.MethodPost, s.http.URL+"/logout", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(name, value)
		v.do(request, nil).want(403, "another site")
	}
	request, err = http.NewRequest(http.MethodPost, s.http.URL+"/login", strings.NewReader("%zz"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	v.do(request, nil).want(400, "The form couldn&#39;t be read")
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.visitor()
	page := v.get("/")
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'",
		"X-Content-Type-Options":  "nosniff",
		"Referrer-Policy":         "same-origin",
		"Cache-Control":           "private, no-cache",
		"Vary":                    "Cookie, Accept-Encoding",
		"Content-Type":            "text/html; charset=utf-8",
	} {
		if got := page.header.Get(name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	page.wantNot("style=", "onclick=", "<style")
	for _, part := range strings.Split(page.body, `"`) {
		if strings.HasPrefix(part, "/static/") {
			a := v.get(part).want(200)
			if got := a.header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
				t.Errorf("%s: Cache-Control: %q", part, got)
			}
			want := map[string]string{"css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", "svg": "image/svg+xml", "png": "image/png"}
			if got := a.header.Get("Content-Type"); got != want[part[len(part)-3:]] {
				t.Errorf("%s: Content-Type: %q", part, got)
			}
		}
	}
	first, second := page.header.Get("X-Request-Id"), v.get("/").header.Get("X-Request-Id")
	if first == "" || first == second {
		t.Errorf("IDs of two requests: %q and %q, want different ones", first, second)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.signedUp("ada")
	v.send("/post", "status", "counted")
	v.get("/home") // bypasses the caches after the post
	v.get("/home")
	s.visitor().get("/u/ada")
	s.http.Config.Handler = s.server.AdminHandler()
	v.get("/metrics").want(200,
		`retwis_http_requests_total{route="GET /home",status="2xx"} 2`,
		`retwis_http_requests_total{route="POST /post",status="3xx"} 1`,
		"retwis_posts_rendered_total ", "retwis_posts_reused_total ", "retwis_http_request_seconds_bucket",
		"go_goroutines ")
	v.get("/readyz").want(200)
}

// Every connection has timeouts.
func TestHTTPServer(t *testing.T) {
	t.Parallel()
	server := httpserver.New(http.NotFoundHandler(), nil)
	for name, got := range map[string]int64{
		"ReadHeaderTimeout": int64(server.ReadHeaderTimeout),
		"ReadTimeout":       int64(server.ReadTimeout),
		"WriteTimeout":      int64(server.WriteTimeout),
		"IdleTimeout":       int64(server.IdleTimeout),
		"MaxHeaderBytes":    int64(server.MaxHeaderBytes),
	} {
		if got <= 0 {
			t.Errorf("%s is %d, want a limit", name, got)
		}
	}
	if server.ErrorLog == nil {
		t.Error("the server has no ErrorLog")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := web.New(nil, web.Options{}); err == nil {
		t.Error("New accepted a nil service")
	}
	if _, err := web.New(&app.App{}, web.Options{Timeout: -1}); err == nil || !strings.Contains(err.Error(), "Timeout") {
		t.Errorf("negative timeout: %v, want an error about Timeout", err)
	}
}
