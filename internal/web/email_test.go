package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"retwis/internal/app"
	"retwis/internal/mail"
	"retwis/internal/mail/mailtest"
	"retwis/internal/redistest"
	"retwis/internal/social/limits"
	"retwis/internal/web"
)

const adaAt = "ada@example.net"

// mailing returns a site with a mail server.
func mailing(t *testing.T, appOpt app.Options) (*site, *mailtest.Server) {
	t.Helper()
	server := mailtest.Start(t)
	opened, err := mail.Open("smtp://"+server.Address, "https://retwis.example")
	if err != nil {
		t.Fatal(err)
	}
	appOpt.Mail = opened
	return start(t, redistest.DB(t).Client(t), web.Options{}, appOpt), server
}

// confirmAddress gives a visitor a confirmed address.
func (v *visitor) confirmAddress(server *mailtest.Server, address string) {
	v.site.t.Helper()
	n := len(server.Mails())
	v.send("/settings/email", "address", address, "current", password).want(303, "/settings/email?sent")
	link := server.Wait(v.site.t, n+1).Link("/confirm/")
	v.site.visitor().get(link).want(200, "Confirm your email address", address)
	v.site.visitor().send(link).want(200, "Email address confirmed")
	// Confirming again succeeds, because the response may be lost or the user may click twice.
	v.site.visitor().send(link).want(200, "Email address confirmed")
	v.get(link).want(200, "Email address confirmed").wantNot("<form method=\"post\" action=\"" + link)
}

// TestMailPages sets and confirms an address, turns on digests, resets the password and removes the
// address, without scripts.
func TestMailPages(t *testing.T) {
	t.Parallel()
	s, server := mailing(t, app.Options{})
	ada := s.signedUp("ada")
	ada.get("/settings/profile").want(200, `href="/settings/email"`)
	ada.get("/settings/email").want(200, "Your email address")
	ada.get("/settings/email/remove").want(303, "/settings/email")
	ada.send("/settings/email", "address", adaAt, "current", "wrong").want(422, "That is not your password.", `value="`+adaAt+`"`)
	ada.send("/settings/email", "address", "ada", "current", password).want(422, "Use an email address such as")
	ada.send("/settings/email/digest", "digest", "yes").want(422)
	ada.confirmAddress(server, adaAt)
	ada.get("/settings/email").want(200, adaAt)
	ada.send("/settings/email/digest", "digest", "yes").want(303, "/settings/email?saved")
	ada.get("/settings/email?saved").want(200, "Settings saved", "checked")

	visitor := s.visitor()
	visitor.get("/login").want(200, `href="/forgot"`)
	visitor.send("/forgot", "account", " ").want(422, "Enter your username")
	visitor.send("/forgot", "account", "ada").want(303, "/forgot?sent")
	visitor.get("/forgot?sent").want(200, "sent a link there. It works for one hour.")
	link := server.Wait(t, 2).Link("/reset/")
	visitor.get(link).want(200, "Set a new password")
	visitor.send(link, "password", "a new password of ada", "password2", "a new password of ada").want(303, "/login?reset=ada")
	visitor.get("/login?reset=ada").want(200, "New password set.", `value="ada"`)
	ada.get("/settings/email").want(303, "/login")
	if m := server.Wait(t, 3); m.Header.Get("Subject") != "Your password was changed" {
		t.Errorf("mail after the reset: %+v", m)
	}
	visitor.send("/login", "username", "ada", "password", "a new password of ada").want(303)
	visitor.send("/settings/email/remove", "current", "a new password of ada").want(303, "/settings/email?removed")
	visitor.get("/settings/email").want(200, "No one else sees your email address")
	if m := server.Wait(t, 4); m.To != adaAt || m.Header.Get("Subject") != "Your email address was removed" {
		t.Errorf("mail after the removal: %+v", m)
	}
	// The log contains neither addresses nor secrets of links.
	for _, secret := range []string{adaAt, "example.net", strings.TrimPrefix(link, "/reset/")} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log contains %q:\n%s", secret, s.log)
		}
	}
}

// The response is the same for known and unknown addresses.
func TestForgotAlike(t *testing.T) {
	t.Parallel()
	s, server := mailing(t, app.Options{})
	s.signedUp("ada").confirmAddress(server, adaAt)
	eve := s.signedUp("eve")
	var pages, headers []string
	for _, address := range []string{adaAt, "nobody@example.net", "ada", "nobody"} {
		r := s.visitor().send("/forgot", "account", address)
		r.want(303, "/forgot?sent")
		pages = append(pages, r.body)
	}
	for _, address := range []string{adaAt, "nobody@example.net"} {
		r := eve.send("/settings/email", "address", address, "current", password)
		r.want(303, "/settings/email?sent")
		headers = append(headers, r.body+strings.ReplaceAll(eve.get("/settings/email").body, address, "ADDRESS"))
	}
	if len(slices.Compact(pages)) != 1 || len(slices.Compact(headers)) != 1 {
		t.Errorf("the responses differ: %q, %q", pages, headers)
	}
}

// No page shows the address to others. A mail program can end digests without a session.
func TestAddressIsPrivate(t *testing.T) {
	t.Parallel()
	s, server := mailing(t, app.Options{})
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	ada.confirmAddress(server, adaAt)
	ada.send("/settings/email/digest", "digest", "yes").want(303)
	ada.send("/post", "status", "hello").want(303)
	for _, v := range []*visitor{ben, s.visitor(), s.signedUpAs("mona", 2)} {
		for _, path := range []string{"/u/ada", "/u/ada.json", "/u/ada.atom", "/timeline", "/timeline.json", "/search?q=" + adaAt, "/suggest?q=ada", "/u/ada/followers", "/explore/people", "/moderation/case?of=user:1", "/about", "/settings/email"} {
			if body := v.get(path).body; strings.Contains(strings.ReplaceAll(body, `value="`+adaAt+`"`, ""), "<strong>"+adaAt) || path != "/search?q="+adaAt && strings.Contains(body, adaAt) {
				t.Errorf("%s shows the address", path)
			}
		}
	}
	rec, err := s.social.Email.Get(t.Context(), s.user("ada").ID)
	if err != nil || rec.Due == nil {
		t.Fatalf("address = %+v, %v; want digests", rec, err)
	}
	link := "/unsubscribe/1." + rec.Stop
	s.visitor().get(link).want(200, "Stop the daily emails?")
	if rec, _ = s.social.Email.Get(t.Context(), rec.ID); rec.Due == nil {
		t.Error("opening the link ended the digests")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+link, strings.NewReader("List-Unsubscribe=One-Click"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	s.visitor().do(req, nil).want(200, "You won&#39;t get any more daily emails")
	if rec, _ = s.social.Email.Get(t.Context(), rec.ID); rec.Due != nil {
		t.Error("POST to the link did not end the digests")
	}
	s.visitor().get("/unsubscribe/1.x").want(404)
	r := s.visitor().get(link)
	if r.header.Get("Cache-Control") != "no-store" || r.header.Get("Referrer-Policy") != "strict-origin" {
		t.Errorf("header of the unsubscribe page: %v", r.header)
	}
}

// The number of links for forgotten passwords is limited per address.
func TestForgotLimit(t *testing.T) {
	t.Parallel()
	s, _ := mailing(t, app.Options{Limits: limits.Config{}})
	v := s.visitor()
	for range 10 {
		v.send("/forgot", "account", "nobody").want(303)
	}
	v.send("/forgot", "account", "nobody").want(429)
}

// A site without a mail server has no pages about mail and no links to them.
func TestNoMail(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	for _, path := range []string{"/settings/email", "/forgot", "/confirm/1.x", "/unsubscribe/1.x"} {
		ada.get(path).want(404)
	}
	for _, path := range []string{"/settings/profile", "/settings/security"} {
		if strings.Contains(ada.get(path).body, "/settings/email") {
			t.Errorf("%s links to /settings/email", path)
		}
	}
	if strings.Contains(s.visitor().get("/login").body, "/forgot") {
		t.Error("/login links to /forgot")
	}
}
