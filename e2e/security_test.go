package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" // the default of authenticator apps
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// appCode returns the code that an authenticator app shows at the given time (RFC 6238).
func appCode(t *testing.T, key string, at time.Time) string {
	t.Helper()
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ReplaceAll(key, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, at.Unix()/30)
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[offset:])&0x7fffffff%1_000_000)
}

// sendCode submits the current code of an authenticator app, or the next one if the current code was
// already used at the time last. It returns the time of the code. If the submission took longer than
// the validity of a code, sendCode submits another code.
func (b *browser) sendCode(form, key string, last time.Time, accepted func() bool) time.Time {
	b.t.Helper()
	const period = 30 * time.Second
	for {
		now := time.Now()
		codeTime := now
		if next := last.Truncate(period).Add(period); !last.IsZero() && codeTime.Before(next) {
			codeTime = next
		}
		b.submit(form, "code", appCode(b.t, key, codeTime))
		if accepted() {
			return codeTime
		}
		if time.Since(now) < period {
			b.t.Fatalf("a valid code was rejected; the page is %s", b.path())
		}
	}
}

// TestSecurity turns on two-step log-in, logs in with a code and with a recovery code, ends
// sessions of other browsers, and changes the password, with scripts and without.
func TestSecurity(t *testing.T) {
	t.Parallel()
	site := serve(t)
	for name, actions := range map[string][]action{"with scripts": nil, "without scripts": {withoutScripts()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := security{t: t, site: site, actions: actions, user: strings.ReplaceAll(name, " ", "_")}
			s.main = newBrowser(t, site, actions...)
			s.run()
		})
	}
}

// security is a user who changes the security settings in the browser main.
type security struct {
	t          *testing.T
	site, user string
	actions    []action
	main       *browser
}

// TestPlainHTTP logs in and changes settings over plain HTTP, as in a local network. Over plain
// HTTP, a browser sends no Sec-Fetch-Site header: only the Origin header shows that a form is from
// this site.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	site := strings.Replace(serve(t), "127.0.0.1", lanHost, 1)
	newBrowser(t, site).signUp("ada")
	b := newBrowser(t, site)
	b.open("/login")
	b.submit(`main form`, "username", "ada", "password", password)
	b.wantPath("/home")
	b.open("/settings/security")
	const newPassword = "a better horse"
	b.submit(`form[action$="/password"]`, "current", password, "password", newPassword, "password2", newPassword)
	if texts := b.texts("p.notice"); len(texts) != 1 || !strings.Contains(texts[0], "Password changed") {
		t.Errorf("the notices are %q, want that the password is changed", texts)
	}
}

// navigateBack presses the back button, without waiting for the page.
func navigateBack() action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		history, err := cdp.Call(ctx, t, page.GetNavigationHistory, cdp.Empty{})
		if err != nil {
			return err
		}
		previous := history.Entries[history.CurrentIndex-1].ID
		_, err = cdp.Call(ctx, t, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: previous})
		return err
	})
}

// otherBrowser returns another browser after the first step of a log-in.
func (s security) otherBrowser(password string) *browser {
	s.t.Helper()
	b := newBrowser(s.t, s.site, s.actions...)
	b.open("/login")
	b.submit("main form", "username", s.user, "password", password)
	return b
}

// run goes through the steps of TestSecurity.
func (s security) run() {
	const settings, newPassword = "/settings/security", "another horse battery"
	b := s.main
	b.signUp(s.user)
	b.open(settings)
	if s.actions == nil {
		s.typing()
	}
	b.submit(`form[action$="/app"]`, "current", password)
	b.wantPath(settings + "/app")
	key := b.texts("code.secret")[0]
	if !b.has("svg.qr") {
		s.t.Error("the page has no QR code")
	}
	confirmed := b.sendCode(`form[action$="/confirm"]`, key, time.Time{}, func() bool { return b.has(".codes code") })
	codes := b.texts(".codes code")
	if len(codes) != 10 {
		s.t.Fatalf("%d recovery codes, want 10", len(codes))
	}

	second := s.otherBrowser(password)
	second.wantPath("/login/code")
	second.submit("main form", "code", "123")
	second.sendCode("main form", key, confirmed, func() bool { return second.path() == "/home" })
	third := s.otherBrowser(password)
	third.submit("main form", "code", codes[0])
	third.wantPath("/home")

	b.open(settings)
	if n := len(b.texts(".sessions > li")); n != 3 {
		s.t.Errorf("%d sessions are listed, want 3", n)
	}
	b.submit(`form[action$="/end"]`)
	b.wantPath(settings)
	ended := 0
	for _, other := range []*browser{second, third} {
		other.open("/home")
		if other.path() == "/login" {
			ended++
		}
	}
	if ended != 1 {
		s.t.Errorf("%d of the other browsers are logged out, want 1", ended)
	}

	b.submit(`form[action$="/password"]`, "current", password, "password", "password123", "password2", "password123")
	b.submit(`form[action$="/password"]`, "current", password, "password", newPassword, "password2", newPassword)
	b.wantPath(settings)
	if got := b.texts(".notice"); len(got) != 1 || !strings.Contains(got[0], "Password changed") {
		s.t.Errorf("after the change of the password, the notices are %q, want that it is changed", got)
	}
	for _, other := range []*browser{second, third} {
		other.open("/home")
		other.wantPath("/login")
	}
	fourth := s.otherBrowser(newPassword)
	fourth.wantPath("/login/code")

	// The back button does not show a page of the ended session.
	b.open("/home")
	b.run(chromedp.Click(chromedp.CSS(".account summary")))
	b.submit(`form[action="/logout"]`)
	b.wantPath("/")
	if s.actions != nil {
		return // without scripts, a browser may show the page from its back/forward cache
	}
	b.run(navigateBack())
	b.until("the back button leads to the log-in", func() bool {
		return get[string](b, `location.pathname + " " + !!document.querySelector(".side")`) == "/login false"
	})
}

// typing checks the rating that scripts show while a password is typed, and the button that reveals
// the password.
func (s security) typing() {
	s.t.Helper()
	b := s.main
	b.run(chromedp.SendKeys(chromedp.CSS("#new-password"), "password1"), chromedp.WaitVisible(chromedp.CSS(".strength")))
	text := func() string { return strings.Join(b.texts(".strength"), "") }
	b.until("a weak password is rated weak", func() bool { return strings.HasPrefix(text(), "Weak") })
	b.run(chromedp.Click(chromedp.CSS(".reveal:has(#new-password) button")))
	if kind := get[string](b, `document.querySelector("#new-password").type`); kind != "text" {
		s.t.Errorf("the revealed password is in a field of type %s, want text", kind)
	}
	b.run(chromedp.SendKeys(chromedp.CSS("#new-password"), " four quick vixens"))
	b.until("a strong password is rated strong", func() bool { return strings.HasPrefix(text(), "Strong") })
}

// virtualAuthenticator adds a device that creates passkeys and responds at once.
func virtualAuthenticator() action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, webauthn.Enable, webauthn.EnableParams{}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, t, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		}})
		return err
	})
}

// TestPasskeys logs in with a passkey instead of a password, and instead of the code of two-step
// log-in, until the passkey is removed.
func TestPasskeys(t *testing.T) {
	t.Parallel()
	const settings = "/settings/security"
	site := strings.Replace(serve(t), "127.0.0.1", "localhost", 1) // passkeys need a domain name
	b := newBrowser(t, site, virtualAuthenticator())
	b.signUp("ada")
	press := func(path string) { b.run(chromedp.Click(chromedp.CSS(`button[data-passkey="` + path + `"]`))) }
	waitForPath := func(path string) {
		t.Helper()
		b.until("the browser is at "+path, func() bool { return b.path() == path })
	}
	waitForNotice := func(text string) {
		t.Helper()
		b.until(text, func() bool { return strings.Contains(strings.Join(b.texts(".notice, .problem"), " "), text) })
	}
	add := func(typed string) {
		b.open(settings)
		b.run(chromedp.SendKeys(chromedp.CSS("#passkey-current"), typed), chromedp.SendKeys(chromedp.CSS("#passkey-name"), "My phone"))
		press(settings + "/passkeys")
	}
	add("wrong")
	waitForNotice("That is not your password.")
	add(password)
	waitForNotice("Passkey added")
	b.until("the passkey is in the list", func() bool { return strings.Contains(strings.Join(b.texts(".sessions strong"), " "), "My phone") })

	b.post("/logout")
	b.open("/login?next=%2Fbookmarks")
	press("/login/passkey")
	waitForPath("/bookmarks")

	b.open(settings)
	b.submit(`form[action$="/app"]`, "current", password)
	key := b.texts("code.secret")[0]
	b.sendCode(`form[action$="/confirm"]`, key, time.Time{}, func() bool { return b.has(".codes code") })
	b.post("/logout")
	b.logIn("ada", password)
	b.wantPath("/login/code")
	press("/login/passkey")
	waitForPath("/home")

	b.open(settings)
	b.press(".sessions details summary")
	b.submit(`form[action$="/passkeys-remove"]`, "current", password)
	b.wantPath(settings)
	b.post("/logout")
	b.open("/login")
	press("/login/passkey")
	waitForNotice("This passkey doesn't work here")
}
