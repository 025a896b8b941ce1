package web_test

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/live"
	"retwis/internal/web"
)

// init adds the routes that guard an account to walks.
func init() {
	for route, w := range map[string]walk{
		"GET /login/code":             {"/login/code", "", everybody(303)},
		"POST /login/code":            {"/login/code", "", everybody(422)},
		"GET /login/passkey":          {"/login/passkey", "", everybody(303)},
		"POST /login/passkey":         {"/login/passkey", "", everybody(422)},
		"GET /login/passkey-options":  {"/login/passkey-options", "", everybody(303)},
		"POST /login/passkey-options": {"/login/passkey-options", "", everybody(200)},

		"POST /settings/security/passkeys":         {"/settings/security/passkeys", "", signedIn(422)},
		"POST /settings/security/passkeys-options": {"/settings/security/passkeys-options", "", signedIn(422)},
		"POST /settings/security/passkeys-remove":  {"/settings/security/passkeys-remove", "", signedIn(422)},
		"GET /reset/{token}":                       {"/reset/1.none", "", everybody(404)},
		"POST /reset/{token}":                      {"/reset/1.none", "", everybody(404)},
		"GET /settings/security":                   {"/settings/security", "", signedIn(200)},
		"POST /settings/security/password":         {"/settings/security/password", "", signedIn(422)},
		"POST /settings/security/end":              {"/settings/security/end", "", signedIn(303)},
		"POST /settings/security/others":           {"/settings/security/others", "", signedIn(303)},
		"GET /settings/security/app":               {"/settings/security/app", "", signedIn(303)},
		"POST /settings/security/app":              {"/settings/security/app", "", signedIn(422)},
		"POST /settings/security/confirm":          {"/settings/security/confirm", "", signedIn(303)},
		"POST /settings/security/codes":            {"/settings/security/codes", "", signedIn(422)},
		"POST /settings/security/off":              {"/settings/security/off", "", signedIn(422)},
	} {
		walks[route] = w
	}
	for _, form := range []string{"passkeys", "passkeys-options", "passkeys-remove", "password", "end", "others", "confirm", "codes", "off"} {
		path := "/settings/security/" + form
		walks["GET "+path] = walk{path, "", everybody(303)}
	}
}

var (
	shownKey     = regexp.MustCompile(`<code class="secret">([A-Z2-7 ]+)</code>`)
	shownCode    = regexp.MustCompile(`<li><code>([a-z2-7-]+)</code></li>`)
	shownSession = regexp.MustCompile(`name="id" value="([0-9a-f]+)"`)
)

// loggedIn logs a user in with another browser.
func (s *site) loggedIn(name, agent string) *visitor {
	s.t.Helper()
	v := s.visitor()
	v.agent(agent)
	v.send("/login", "username", name, "password", password).want(303, "/home")
	return v
}

// agent sets the User-Agent of a visitor.
func (v *visitor) agent(name string) { v.http.Transport = agent{v.http.Transport, name} }

type agent struct {
	http.RoundTripper
	name string
}

func (a agent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", a.name)
	return a.RoundTripper.RoundTrip(r)
}

const (
	firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
	iphone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
)

func TestSecurityPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.signedUp("ada")
	current, phone, third := s.loggedIn("ada", firefox), s.loggedIn("ada", iphone), s.loggedIn("ada", "<script>x")
	page := current.get("/settings/security").want(200, "Firefox on Linux", "This device", "Safari on iOS", "Unknown device").wantNot("<script>x")
	if cache := page.header.Get("Cache-Control"); cache != "no-store" {
		t.Errorf("Cache-Control: %q", cache)
	}
	if cache := current.get("/notifications").header.Get("Cache-Control"); cache != "private, no-cache" {
		t.Errorf("Cache-Control of notifications: %q", cache)
	}
	// Every session except the current one has a button that ends it.
	ids := shownSession.FindAllStringSubmatch(page.body, -1)
	if len(ids) != 3 {
		t.Fatalf("%d sessions can be ended, want 3", len(ids))
	}
	before, _, _ := strings.Cut(page.body, "Safari on iOS")
	at := len(shownSession.FindAllString(before, -1))
	current.send("/settings/security/end", "id", ids[at][1]).want(303, "/settings/security?ended")
	current.get("/settings/security?ended").want(200, "Device logged out").wantNot("Safari on iOS")
	phone.get("/home").want(303, "/login")
	third.get("/home").want(200)
	current.send("/settings/security/end", "id", "*").want(303)
	current.send("/settings/security/others").want(303, "?others")
	third.get("/home").want(303, "/login")
	current.get("/home").want(200)
	log := s.log.String()
	for _, event := range []string{"session ended", "sessions ended"} {
		if !strings.Contains(log, `msg="`+event+`"`) {
			t.Errorf("the log has no %q", event)
		}
	}
	// Another user cannot end these sessions.
	ben := s.signedUp("ben")
	fourth := s.loggedIn("ada", firefox)
	for _, id := range shownSession.FindAllStringSubmatch(current.get("/settings/security").body, -1) {
		ben.send("/settings/security/end", "id", id[1]).want(303)
	}
	fourth.get("/home").want(200)
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	s := setup(t)
	current := s.signedUp("ada")
	other := s.loggedIn("ada", firefox)
	const next = "a better horse"
	for _, c := range [][4]string{
		{"wrong horse", next, next, "not your password"},
		{password, "short", "short", "8 to 128"},
		{password, "password123", "password123", "too easy to guess"},
		{password, next, next + "x", "match."},
	} {
		current.send("/settings/security/password", "current", c[0], "password", c[1], "password2", c[2]).want(422, c[3], `aria-invalid="true"`).wantNot(c[1] + `"`)
	}
	current.send("/settings/security/password", "current", password, "password", next, "password2", next).want(303, "?password")
	current.get("/settings/security?password").want(200, "Password changed")
	other.get("/home").want(303, "/login")
	other.send("/login", "username", "ada", "password", password).want(422)
	other.send("/login", "username", "ada", "password", next).want(303)
	s.visitor().send("/register", "username", "grace", "password", "Grace1234", "password2", "Grace1234").want(422, "too similar to your username")
	if log := s.log.String(); !strings.Contains(log, `msg="password changed"`) || !strings.Contains(log, `msg="password not confirmed"`) || strings.Contains(log, "horse") {
		t.Errorf("log: %s", log)
	}
}

// currentCode returns the current code of an authenticator app.
func currentCode(t *testing.T, key string, at time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(strings.ReplaceAll(key, " ", ""), at)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestTwoSteps(t *testing.T) {
	t.Parallel()
	s := setup(t)
	current := s.signedUp("ada")
	current.send("/settings/security/app", "current", "wrong horse").want(422, "not your password")
	current.send("/settings/security/app", "current", password).want(303, "/settings/security/app")
	page := current.get("/settings/security/app").want(200, `<svg class="qr" role="img"`, "Set up two-step log-in")
	key := shownKey.FindStringSubmatch(page.body)[1]
	current.send("/settings/security/confirm", "code", "000000x").want(422, "That code isn&#39;t right", `class="qr"`)
	codes := shownCode.FindAllStringSubmatch(current.send("/settings/security/confirm", "code", currentCode(t, key, time.Now())).want(200, "not shown again").body, -1)
	current.send("/settings/security/confirm", "code", currentCode(t, key, time.Now())).want(303, "/settings/security?on") // sent twice
	current.get("/settings/security?on").want(200, "get new ones here")
	if len(codes) != 10 {
		t.Fatalf("%d codes, want 10", len(codes))
	}
	current.get("/settings/security").want(200, "You have 10 recovery codes").wantNot(codes[0][1])
	current.get("/settings/security/app").want(303, "/settings/security")

	v := s.visitor()
	v.get("/login/code").want(303, "/login")
	const text = "what I <thought>"
	v.send("/login", "username", "ada", "password", password, "next", "/u/ada").want(303, "/login/code?next=%2Fu%2Fada")
	v.get("/home").want(303, "/login") // one step is not enough
	v.get("/login/code?next=%2Fu%2Fada").want(200, `value="/u/ada"`, "one-time-code")
	v.send("/login/code", "code", "1", "next", "/u/ada").want(422, "That code is wrong", `value="/u/ada"`)
	v.send("/login/code", "code", currentCode(t, key, time.Now().Add(30*time.Second)), "next", "/u/ada").want(303, "/u/ada")
	v.get("/home").want(200)

	// A draft survives both steps. A code and a recovery code work only once.
	v = s.visitor()
	v.send("/login", "username", "ada", "password", password, "status", text).want(200, "what I &lt;thought&gt;</textarea>", `action="/login/code"`)
	v.send("/login/code", "code", currentCode(t, key, time.Now().Add(30*time.Second)), "status", text).want(422, "already used", "what I &lt;thought&gt;</textarea>")
	v.send("/login/code", "code", codes[0][1], "status", text).want(200, "logged in again", "what I &lt;thought&gt;</textarea>", `action="/post"`)
	v = s.visitor()
	v.send("/login", "username", "ada", "password", password).want(303)
	for range 5 {
		v.send("/login/code", "code", codes[0][1]).want(422, "already used")
	}
	v.send("/login/code", "code", codes[1][1]).want(422, "Log in again", `name="password"`)

	current.send("/settings/security/codes", "current", password).want(200, "New recovery codes").wantNot(codes[2][1])
	current.send("/settings/security/off", "current", "wrong horse").want(422, "not your password")
	current.send("/settings/security/off", "current", password).want(303, "?off")
	current.get("/settings/security?off").want(200, "Two-step log-in turned off", "Turn on")
	s.visitor().send("/login", "username", "ada", "password", password).want(303, "/home")

	log := s.log.String()
	for _, event := range []string{"second factor on", "second factor off", "code failed", "recovery codes renewed"} {
		if !strings.Contains(log, `msg="`+event+`"`) {
			t.Errorf("the log has no %q", event)
		}
	}
	for _, secret := range []string{strings.ReplaceAll(key, " ", ""), codes[0][1], codes[1][1], text, "thought"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log contains %q", secret)
		}
	}
}

func TestResetLink(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	token, _, err := s.social.Auth.IssueReset(t.Context(), social.Operator, 1)
	if err != nil {
		t.Fatal(err)
	}
	v, path := s.visitor(), "/reset/"+token
	page := v.get(path).want(200, "For the account ada")
	if page.header.Get("Referrer-Policy") != "strict-origin" || page.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers: %v", page.header)
	}
	const next = "a better horse"
	v.send(path, "password", next, "password2", "other").want(422, "match.")
	v.send(path, "password", "password", "password2", "password").want(422, "too easy")
	ada.get("/home").want(200)
	v.send(path, "password", next, "password2", next).want(303, "/login?reset")
	v.get("/login?reset").want(200, "New password set")
	ada.get("/home").want(303, "/login")
	v.get(path).want(404, "This link doesn")
	v.send(path, "password", next, "password2", next).want(404, "This link doesn", "log in with it", `href="/login"`)
	v.send("/login", "username", "ada", "password", next).want(303, "/home")
	v.get("/login?next=%2Fhome").want(303)
	s.visitor().get("/login").want(200, "Forgot your password?", "moderator")
	if log := s.log.String(); !strings.Contains(log, `msg="password reset"`) || strings.Contains(log, token) {
		t.Errorf("log: %s", log)
	}
}

// Over TLS the cookie has a name that no other host can set. A cookie with the plain name, which
// any host of the same domain can set, logs nobody in.
func TestCookieOverTLS(t *testing.T) {
	t.Parallel()
	s := setup(t)
	old := s.signedUp("ada")
	secure := httptest.NewUnstartedServer(s.server.Handler())
	secure.StartTLS()
	t.Cleanup(secure.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := secure.Client()
	client.Jar, client.CheckRedirect = jar, old.http.CheckRedirect
	v := &visitor{site: &site{t: t, http: secure}, http: client}
	request, err := http.NewRequest(http.MethodGet, secure.URL+"/home", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := url.Parse(old.site.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range old.http.Jar.Cookies(plain) {
		request.AddCookie(cookie)
	}
	set := fmt.Sprint(v.do(request, nil).want(303, "/login").header["Set-Cookie"])
	if strings.Contains(set, "__Host-auth=") {
		t.Errorf("a cookie that another host may have set became %s", set)
	}
	request.Header.Set("Cookie", strings.ReplaceAll(request.Header.Get("Cookie"), "auth=", "__Host-auth="))
	v.do(request, nil).want(200)
}

// The event stream of a session ends with the session, whichever process ends the session.
func TestEventsEndWithTheSession(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	first, second := reach(t, db.URL()), reach(t, db.URL())
	server := second.ClientOption()
	// Use a long heartbeat, because each heartbeat checks the session, too.
	options := web.Options{Live: live.Options{Heartbeat: time.Hour}}
	local, remote := serving(t, first), start(t, second.Client(), options, app.Options{Invalidations: second.Invalidations(), Server: &server})
	ada := local.signedUp("ada")
	phone := local.loggedIn("ada", iphone)
	open, ended := (&visitor{site: remote, http: ada.http}).follow("on=home", ""), (&visitor{site: remote, http: phone.http}).follow("on=home", "")
	open.next("unread")
	ended.next("unread")
	phone.send("/logout").want(303)
	for range ended.got { // until the stream ends
	}
	ada.send("/post", "status", "still here").want(303)
	ben := local.signedUp("ben")
	ben.send("/u/ada/follow").want(303)
	open.until("unread", "1")
}
