package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"

	"retwis/internal/app"
	"retwis/internal/social/limits"
	"retwis/internal/social/moderation"
	"retwis/internal/social/storage"
	"retwis/internal/web"
)

// limitedSite returns a site with only the limits in changes. The site takes the address of a
// client from X-Forwarded-For.
func limitedSite(t *testing.T, changes ...string) *site {
	t.Helper()
	config := limits.Off()
	for _, change := range changes {
		if err := config.Set(change); err != nil {
			t.Fatal(err)
		}
	}
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	return start(t, redistest.DB(t).Client(t), web.Options{TrustedProxies: proxies}, app.Options{Limits: config})
}

// at sets the address of the visitor.
func (v *visitor) at(address string) *visitor {
	v.http.Transport = forwarded{v.http.Transport, address}
	return v
}

type forwarded struct {
	http.RoundTripper
	address string
}

func (f forwarded) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-Forwarded-For", f.address)
	return f.RoundTripper.RoundTrip(r)
}

func (a *response) retryAfter(t *testing.T, limit int) {
	t.Helper()
	if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 || n > limit {
		t.Errorf("Retry-After is %q, want 1 to %d", a.header.Get("Retry-After"), limit)
	}
}

// Above the limit a post is rejected, keeping its text, while others can still post.
func TestPostLimit(t *testing.T) {
	t.Parallel()
	s := limitedSite(t, "post=2/1h", "reply=1/1h", "edit=1/1h")
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	ada.send("/post", "status", " ").want(422) // does not count
	ada.send("/post", "status", "one").want(303)
	ada.send("/post", "status", "two").want(303)
	a := ada.send("/post", "status", "three <3").want(429, "posting too fast", "again in 30 minutes", "three &lt;3</textarea>", `action="/post"`, "hasn&#39;t been published")
	a.retryAfter(t, 1800)
	ben.send("/post", "status", "hello").want(303)
	ada.get("/home").want(200, "two").wantNot("three &lt;3")
	for path, text := range map[string]string{"/u/ada/1/reply": "replying", "/u/ada/1/edit": "editing"} {
		ada.send(path, "status", "first").want(303)
		ada.send(path, "status", "my words").want(429, text+" too fast", "my words</textarea>", `action="`+path+`"`)
	}
	metrics := s.metrics()
	for _, want := range []string{`retwis_limits_hit_total{event="post"} 1`, `retwis_limits_hit_total{event="reply"} 1`, "retwis_limits_unchecked_total 0"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	if log := s.log.String(); !strings.Contains(log, `msg="limit reached"`) || !strings.Contains(log, "event=post") {
		t.Errorf("the security log lacks the refusals: %s", log)
	}
}

func (s *site) metrics() string {
	s.t.Helper()
	recorder := httptest.NewRecorder()
	s.server.AdminHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return recorder.Body.String()
}

// Each kind of one-click action has its own limit.
func TestActLimits(t *testing.T) {
	t.Parallel()
	s := limitedSite(t, "like=2/1h", "repost=1/1h", "follow=2/1h", "profile=1/1h")
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	ben.send("/post", "status", "hello").want(303)
	ada.send("/u/ben/1/like").want(303)
	ada.send("/u/ben/1/unlike").want(303)
	ada.send("/u/ben/999/like").want(429, "liking or bookmarking too fast")
	ada.send("/u/ben/1/bookmark").want(429)
	ada.send("/u/ben/1/repost").want(303)
	ada.send("/u/ben/1/unrepost").want(429, "reposting")
	ada.send("/u/ben/follow").want(303)
	ada.send("/u/nobody/follow").want(404) // does not count
	ada.send("/tag/x/follow").want(303)
	ada.send("/u/ben/mute").want(429, "following or unfollowing")
	ada.send("/settings/profile", "bio", "me").want(303)
	ada.send("/settings/profile", "bio", "you").want(429)
	ada.get("/home").want(200)
	ada.get("/u/ben").want(200)
}

// Wrong passwords are limited per account and address: a stranger is stopped, the owner is not.
func TestLoginLimit(t *testing.T) {
	t.Parallel()
	s := limitedSite(t, "login=3/1h", "login-account=8/1h", "login-address=20/1h")
	s.signedUp("ada")
	owner := s.visitor().at("203.0.113.1")
	stranger := s.visitor().at("198.51.100.1")
	guess := func(v *visitor, name string) *response {
		return v.send("/login", "username", name, "password", "wrong horse", "status", "my text")
	}
	owner.send("/login", "username", "ada", "password", password).want(303)
	owner.send("/logout").want(303)
	for range 3 {
		guess(stranger, "ada").want(422, "Wrong username or password.")
	}
	a := guess(stranger, "aDA").want(429, "Too many attempts", "again in 20 minutes", "my text</textarea>", `value="aDA"`)
	a.retryAfter(t, 1200)
	stranger.send("/login", "username", "ada", "password", password).want(429)
	for range 3 { // the same limit applies to missing accounts
		guess(stranger, "nobody").want(422)
	}
	guess(stranger, "nobody").want(429)
	owner.send("/login", "username", "ada", "password", password).want(303)
	// Strangers at many addresses reach the limit of the account; the owner can still log in.
	for i := range 5 {
		guess(s.visitor().at(fmt.Sprintf("2001:db8:%d::1", i)), "ada").want(422)
	}
	guess(s.visitor().at("2001:db8:77::1"), "ada").want(429)
	for range 12 { // a correct password never counts
		owner.send("/login", "username", "ada", "password", password).want(303)
	}
	guess(owner, "ada").want(422)
	// An IPv6 network counts as one address.
	mixed := limitedSite(t, "login=2/1h")
	guess(mixed.visitor().at("2001:db8::1"), "ada").want(422)
	guess(mixed.visitor().at("2001:db8::ffff"), "ada").want(422)
	guess(mixed.visitor().at("2001:db8::2:3:4"), "ada").want(429)
	guess(mixed.visitor().at("2001:db8:0:1::1"), "ada").want(422)
}

// A correct password of a suspended user does not count, and a log-in with a passkey does not reset
// the count.
func TestOnlyWrongPasswordsCount(t *testing.T) {
	t.Parallel()
	s := limitedSite(t, "login=2/1h", "login-address=2/1h")
	s.signedUp("ada")
	user := s.user("ada")
	if err := s.social.Moderation.SetStanding(t.Context(), social.Operator, user.ID, moderation.StandingChange{Standing: social.Suspended}); err != nil {
		t.Fatal(err)
	}
	v := s.visitor().at("203.0.113.1")
	for range 4 {
		v.send("/login", "username", "ada", "password", password).want(403)
	}
	for range 2 {
		v.send("/login", "username", "ada", "password", "wrong horse").want(422)
	}
	if err := s.social.Auth.LoggedIn(t.Context(), user, "", netip.MustParseAddr("203.0.113.1")); err != nil {
		t.Fatal(err)
	}
	v.send("/login", "username", "ada", "password", "wrong horse").want(429)
	v.send("/login", "username", "ben", "password", "wrong horse").want(429)
}

// Someone with an open session cannot try passwords without limit.
func TestDeletionLimit(t *testing.T) {
	t.Parallel()
	s := limitedSite(t, "password=2/1h")
	ada := s.signedUp("ada")
	for range 2 {
		ada.send("/settings/delete", "password", "wrong horse").want(422, "That password is wrong.")
	}
	ada.send("/settings/delete", "password", password).want(429)
	ada.get("/home").want(200)
	if log := s.log.String(); strings.Count(log, `msg="password not confirmed"`) != 2 {
		t.Errorf("log: %s", log)
	}
}

// In forms that need the current password, only wrong passwords count, not other errors in the
// form.
func TestOnlyWrongPasswordsOfSettingsCount(t *testing.T) {
	t.Parallel()
	config := limits.Off()
	if err := config.Set("password=2/1h"); err != nil {
		t.Fatal(err)
	}
	s, _ := mailing(t, app.Options{Limits: config})
	ada := s.signedUp("ada")
	change := func(current, typed, again string) *response {
		return ada.send("/settings/security/password", "current", current, "password", typed, "password2", again)
	}
	for range 3 {
		change(password, "a better horse", "another horse").want(422, "match.")
		change("wrong horse", "a better horse", "another horse").want(422, "match.")
		change(password, "short", "short").want(422, "8 to 128")
		change(password, "password123", "password123").want(422, "too easy to guess")
		ada.send("/settings/security/passkeys", "current", password).want(422, "Your browser didn&#39;t create a passkey")
		ada.send("/settings/security/codes", "current", password).want(303, "/settings/security") // two-step login is off
		ada.send("/settings/email", "address", "ada", "current", password).want(422, "Use an email address such as")
	}
	change("wrong horse", "short", "short").want(422, "not your password")
	ada.send("/settings/security/passkeys", "current", "wrong horse").want(422, "not your password")
	change("wrong horse", "short", "short").want(429)
	ada.send("/settings/security/passkeys", "current", "wrong horse").want(429)
	ada.send("/settings/email", "address", adaAt, "current", "wrong horse").want(429)
}

// Only wrong codes count. Codes of an expired log-in, or of an account without tries left, are not
// compared and do not count.
func TestOnlyWrongCodesCount(t *testing.T) {
	t.Parallel()
	s := limitedSite(t, "second-factor=2/1h")
	ada := s.signedUp("ada")
	ada.send("/settings/security/app", "current", password).want(303)
	key := shownKey.FindStringSubmatch(ada.get("/settings/security/app").body)[1]
	ada.send("/settings/security/confirm", "code", currentCode(t, key, time.Now())).want(200)
	redis := func(command, key string, args ...string) {
		t.Helper()
		if err := s.client.Do(t.Context(), s.client.B().Arbitrary(command).Keys(key).Args(args...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	v := s.visitor().at("203.0.113.1")
	logIn := func() { v.send("/login", "username", "ada", "password", password).want(303, "/login/code") }
	for range 3 {
		logIn()
		redis("DEL", storage.LoginsKey(1))
		v.send("/login/code", "code", "1").want(422, "Log in again")
		logIn()
		redis("HSET", storage.UserKey(1), "code_tries", "20 "+storage.Seconds(time.Now()))
		v.send("/login/code", "code", "1").want(429, "Use a recovery code")
		redis("HDEL", storage.UserKey(1), "code_tries")
	}
	for range 2 {
		v.send("/login/code", "code", "1").want(422, "That code is wrong")
	}
	v.send("/login/code", "code", "1").want(429, "try again in").wantNot("Use a recovery code")
}

// An address can create a few accounts; rejected sign-ups do not count.
func TestSignUpLimit(t *testing.T) {
	t.Parallel()
	s := limitedSite(t, "sign-up=2/1h")
	join := func(v *visitor, name string) *response {
		return v.send("/register", "username", name, "password", password, "password2", password)
	}
	for range 4 {
		join(s.visitor().at("203.0.113.1"), "a b").want(422)
	}
	join(s.visitor().at("203.0.113.1"), "ada").want(303)
	join(s.visitor().at("203.0.113.1"), "ada").want(303) // the form was sent again
	join(s.visitor().at("203.0.113.1"), "ben").want(303)
	join(s.visitor().at("203.0.113.1"), "eve").want(429, "from your network", `value="eve"`).retryAfter(t, 1800)
	join(s.visitor().at("203.0.113.2"), "eve").want(303)
}

// A repeated sign-up, after a lost response or a second click, logs the user in. It cannot be used
// to guess passwords: tries count like those of a log-in, and older accounts are not considered.
func TestSignUpAgain(t *testing.T) {
	t.Parallel()
	config, later := limits.Off(), atomic.Int64{}
	if err := config.Set("login=2/1h"); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	s := start(t, redistest.DB(t).Client(t), web.Options{}, app.Options{Limits: config, Now: now})
	join := func(v *visitor, name, typed string) *response {
		return v.send("/register", "username", name, "password", typed, "password2", typed)
	}
	join(s.visitor(), "ben", password).want(303, "/home")
	join(s.visitor(), "ada", password).want(303, "/home")
	repeated := s.visitor()
	join(repeated, "ADA", password).want(303, "/home")
	repeated.get("/home").want(200, `href="/u/ada"`)
	for range 4 {
		join(s.visitor(), "ada", "another horse").want(422, "That username is taken.")
	}
	join(s.visitor(), "ada", password).want(422, "That username is taken.") // no tries are left
	later.Store(int64(time.Hour))
	join(s.visitor(), "ben", password).want(422, "That username is taken.")
	log := s.log.String()
	for event, want := range map[string]int{`"login failed"`: 2, "sign-up": 2, "login": 1} {
		if got := strings.Count(log, "msg="+event+" "); got != want {
			t.Errorf("the log has %d of %s, want %d", got, event, want)
		}
	}
}

// An address adds only a few accounts to "New members". An IPv6 network counts as one address.
func TestNewcomers(t *testing.T) {
	t.Parallel()
	s := limitedSite(t, "newcomer=2/1d")
	join := func(from, name string) {
		t.Helper()
		s.visitor().at(from).send("/register", "username", name, "password", password, "password2", password).want(303)
	}
	join("198.51.100.1", "ada")
	s.visitor().at("2001:db8::1").send("/register", "username", "ada", "password", password, "password2", password).want(303, "/home") // sent again
	for i := range 5 {
		join(fmt.Sprintf("2001:db8::%d", i+1), fmt.Sprint("robot", i))
	}
	join("198.51.100.1", "ben")
	s.visitor().get("/explore/people").want(200, "New members", "/u/ada", "/u/ben", "/u/robot0", "/u/robot1").wantNot("/u/robot2", "/u/robot3", "/u/robot4")
	s.visitor().get("/u/robot4").want(200)
}

// Clients behind an unconfigured proxy are not limited together.
func TestUnknownProxy(t *testing.T) {
	t.Parallel()
	config := limits.Off()
	if err := config.Set("sign-up=1/1h"); err != nil {
		t.Fatal(err)
	}
	s := start(t, redistest.DB(t).Client(t), web.Options{}, app.Options{Limits: config})
	for i := range 5 {
		s.visitor().at("203.0.113.1").send("/register", "username", fmt.Sprint("user", i), "password", password, "password2", password).want(303)
	}
	s.signedUp("direct")
	s.visitor().send("/register", "username", "again", "password", password, "password2", password).want(429)
	if n := strings.Count(s.log.String(), "--trusted-proxies"); n != 1 {
		t.Errorf("%d warnings, want 1: %s", n, s.log)
	}
}

// If the database cannot decide about a limit, the site stays usable.
func TestLimitsFailOpen(t *testing.T) {
	t.Parallel()
	s := limitedSite(t, "post=1/1h")
	ada := s.signedUp("ada")
	ada.send("/post", "status", "one").want(303)
	ada.send("/post", "status", "two").want(429)
	if err := s.client.Do(t.Context(), s.client.B().Arbitrary("DEL").Keys("ratelimit:post:{1}:1h").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Do(t.Context(), s.client.B().Arbitrary("SADD").Keys("ratelimit:post:{1}:1h").Args("damaged").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	ada.send("/post", "status", "three").want(303)
	if metrics := s.metrics(); !strings.Contains(metrics, "retwis_limits_unchecked_total 1") {
		t.Errorf("the metrics do not count the unchecked limit")
	}
}
