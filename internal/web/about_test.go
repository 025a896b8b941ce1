package web_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	siteinfo "retwis/internal/social/site"
)

// set changes a setting of the site as an operator.
func (s *site) set(field siteinfo.Field, text string) {
	s.t.Helper()
	if _, err := s.social.Site.Set(s.t.Context(), social.Operator, map[siteinfo.Field]string{field: text}, nil); err != nil {
		s.t.Fatal(err)
	}
}

// signedUpAs returns a visitor with an account that has a role.
func (s *site) signedUpAs(name string, role social.Role) *visitor {
	s.t.Helper()
	v := s.signedUp(name)
	s.role(name, role)
	return v
}

// Pages say who runs the site, and scripts in operators' texts do not run.
func TestSitePages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.visitor()
	s.signedUpAs("mia", social.Moderator)
	s.signedUp("ada")
	v.get("/about").want(200, "About Retwis", "mia", "moderator", `href="/about"`).wantNot(`href="/rules"`, `href="/privacy"`, "ada")
	for _, path := range []string{"/rules", "/privacy", "/terms"} {
		v.get(path).want(404)
	}
	s.set(siteinfo.Name, "Light & House")
	s.set(siteinfo.Description, "For keepers.")
	s.set(siteinfo.Contact, "https://example.com/contact")
	s.set(siteinfo.Rules, "Be kind.\r\n\r\nNo <spam>.")
	s.set(siteinfo.About, "# Who\n\nWe *are* [here](https://example.com) <img src=x onerror=alert(1)> [bad](javascript:alert(1))")
	s.set(siteinfo.Privacy, "Nothing.")
	s.set(siteinfo.Terms, "None.")
	v.get("/about").want(
		200, "<title>About · Light &amp; House</title>", "For keepers.", "<h2>Who</h2>", "<em>are</em>", `href="https://example.com/contact"`,
		`<a href="https://example.com" rel="nofollow">here</a>`, `href="/rules"`, `href="/privacy"`, `href="/terms"`,
	).wantNot("onerror", "javascript:", "src=x", `src="x"`)
	v.get("/rules").want(200, `<li id="rule-1" dir="auto" lang="">Be kind.</li><li id="rule-2" dir="auto" lang="">No &lt;spam&gt;.</li>`)
	v.get("/privacy").want(200, "<p>Nothing.</p>")
	v.get("/terms").want(200, "<p>None.</p>")
	s.signedUp("ben").get("/u/ada/report").want(200, `href="/rules"`)
}

// The name of the site replaces Retwis everywhere.
func TestSiteName(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	ada.send("/post", "status", "hello #go").want(303)
	s.set(siteinfo.Name, "Light: House")
	s.set(siteinfo.Description, "For keepers.")
	v := s.visitor()
	for _, path := range []string{"/", "/timeline", "/u/ada", "/u/ada/1", "/tag/go", "/login", "/nothing"} {
		page := v.get(path)
		if !strings.Contains(page.body, "Light: House") {
			t.Errorf("%s does not contain the name of the site", path)
		}
		page.wantNot("· Retwis", `content="Retwis"`)
	}
	v.get("/").want(200, "<title>Light: House: For keepers.</title>", `content="For keepers."`, "hello", `property="og:title" content="Light: House"`)
	v.get("/u/ada").want(200, `content="Posts by ada (@ada) on Light: House."`)
	v.get("/timeline.atom").want(200, "<title>Light: House</title>")
	v.get("/timeline.json").want(200, `"title":"Light: House"`)
	var manifest struct {
		Name  string `json:"name"`
		Icons []struct {
			Address string `json:"src"`
			Type    string `json:"type"`
		} `json:"icons"`
	}
	a := v.get("/site.webmanifest").want(200)
	if err := json.Unmarshal([]byte(a.body), &manifest); err != nil || manifest.Name != "Light: House" || len(manifest.Icons) != 3 {
		t.Fatalf("manifest: %v\n%s", err, a.body)
	}
	for _, icon := range manifest.Icons {
		if got := v.get(icon.Address).want(200).header.Get("Content-Type"); got != icon.Type {
			t.Errorf("Content-Type of %s: %q, want %q", icon.Address, got, icon.Type)
		}
	}
	if got := v.get("/favicon.ico").want(200).header.Get("Content-Type"); got != "image/png" {
		t.Errorf("Content-Type of /favicon.ico: %q, want image/png", got)
	}
	v.get("/.well-known/change-password").want(303, "/settings/security")
}

// Only admins can change the settings of the site.
func TestSiteSettings(t *testing.T) {
	t.Parallel()
	s := setup(t)
	admin, mia := s.signedUpAs("olga", social.Admin), s.signedUpAs("mia", social.Moderator)
	mia.get("/moderation/site").want(404)
	mia.send("/moderation/site", "name", "Mine").want(404)
	mia.get("/moderation").want(200).wantNot(`href="/moderation/site"`)
	admin.get("/moderation/site").want(200, `href="/moderation/site/privacy"`, `<option value="open" selected>`, `name="signup_was" value="open"`)
	admin.send("/moderation/site", "name", "Harbour", "rules", "Be kind.", "contact", "nowhere", "signup", "open", "noindex", "off").
		want(422, "Use an email address", `value="nowhere"`, `value="Harbour"`)
	admin.get("/about").want(200).wantNot("Harbour")
	admin.send("/moderation/site", "name", "Harbour", "rules", "Be kind.", "contact", "a@b.example", "signup", "invite", "noindex", "on").
		want(303, "/moderation/site?saved")
	admin.get("/moderation/site?saved").want(200, "Saved.", `value="Harbour"`, `<option value="invite" selected>`)
	if mode, err := s.social.SignUps.SignUpMode(t.Context()); err != nil || mode != accounts.SignUpInvite {
		t.Errorf("sign-up mode %s, %v; want invite", mode, err)
	}
	// A setting that has changed since the form was shown is kept, unless the form changes it.
	for was, want := range map[string]accounts.SignUpMode{"open": accounts.SignUpInvite, "invite": accounts.SignUpOpen} {
		admin.send("/moderation/site", "name", "Harbour", "rules", "Be kind.", "contact", "a@b.example", "signup", "open", "signup_was", was, "noindex", "on").want(303)
		if mode, err := s.social.SignUps.SignUpMode(t.Context()); err != nil || mode != want {
			t.Errorf("open sent by a form that showed %s: mode %s, %v; want %s", was, mode, err, want)
		}
		if err := s.social.SignUps.SetSignUpMode(t.Context(), social.Operator, accounts.SignUpInvite); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("щ", siteinfo.MaxText)
	admin.send("/moderation/site/privacy", "text", long+"щ").want(422, "Use at most 20,000 characters.")
	admin.send("/moderation/site/privacy", "text", long).want(303)
	admin.get("/moderation/site/privacy").want(200, long)
	admin.get("/moderation/site/name").want(404)
	admin.get("/moderation/audit").want(200, "site:name", "site:rules", "site:privacy", "changed who can sign up").wantNot("щ", "Be kind")
	if a := s.visitor().get("/about").want(200, "Harbour"); a.header.Get("X-Robots-Tag") != "noindex" {
		t.Error("/about has no X-Robots-Tag: noindex")
	}
}

// Two admins with the same form open do not undo each other's changes.
func TestSiteSettingsOfTwo(t *testing.T) {
	t.Parallel()
	s := setup(t)
	olga, ida := s.signedUpAs("olga", social.Admin), s.signedUpAs("ida", social.Admin)
	was := func(a *response, field string) string {
		t.Helper()
		found := regexp.MustCompile(`name="` + field + `" value="([^"]+)"`).FindStringSubmatch(a.body)
		if found == nil {
			t.Fatalf("the form has no field %s: %s", field, a.body)
		}
		return found[1]
	}
	page := olga.get("/moderation/site")
	form := func(name, description string) []string {
		return []string{
			"signup", "open", "signup_was", "open", "noindex", "off", "noindex_was", was(page, "noindex_was"), "name", name, "name_was", was(page, "name_was"),
			"description", description, "description_was", was(page, "description_was"),
		}
	}
	ida.send("/moderation/site", form("", "Ida's.")...).want(303)
	olga.send("/moderation/site", form("Harbour", "")...).want(303)
	s.visitor().get("/about").want(200, "Harbour", "Ida&#39;s.")
	page = olga.send("/moderation/site", form("Harbour", "Olga's.")...).want(422, "Someone else changed this in the meantime.", `value="Olga&#39;s."`)
	olga.send("/moderation/site", form("Harbour", "Olga's.")...).want(303)
	s.visitor().get("/about").want(200, "Olga&#39;s.")

	// An invalid value in a field that another admin has changed does not hide that change.
	shown := was(olga.get("/moderation/site"), "contact_was")
	s.set(siteinfo.Contact, "ida@b.example")
	contact := []string{"name", "Harbour", "description", "Olga's.", "signup", "open", "signup_was", "open", "noindex", "off", "contact_was", shown, "contact"}
	if page = olga.send("/moderation/site", append(contact, "nowhere")...).want(422, "Use an email address"); was(page, "contact_was") != shown {
		t.Error("contact_was has changed after an invalid value")
	}
	olga.send("/moderation/site", append(contact, "olga@b.example")...).want(422, "Someone else changed this in the meantime.")

	before := was(olga.get("/moderation/site/privacy"), "was")
	ida.send("/moderation/site/privacy", "text", "Of Ida", "was", before).want(303)
	page = olga.send("/moderation/site/privacy", "text", "Of Olga", "was", before).want(422, "Someone else changed this in the meantime.", "Of Olga")
	s.visitor().get("/privacy").want(200, "Of Ida")
	olga.send("/moderation/site/privacy", "text", "Of Olga", "was", was(page, "was")).want(303)
	s.visitor().get("/privacy").want(200, "Of Olga")
}

// An invitation names the user who invites, unless it is by the operator.
func TestInvited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	mia := s.signedUpAs("mia", social.Moderator)
	mia.send("/post", "status", "hello").want(303)
	s.set(siteinfo.Name, "Harbour")
	link := func(by int64) string {
		t.Helper()
		token, _, err := s.social.SignUps.CreateInvite(t.Context(), accounts.NewInvite{By: by, Uses: 1, For: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return "/invite/" + token
	}
	v := s.visitor()
	v.get(link(s.user("mia").ID)).want(200, "mia invites you to Harbour", "hello", `name="invite"`)
	v.get(link(0)).want(200, "You are invited to Harbour")
}
