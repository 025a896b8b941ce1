package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestModeration reports a post; a moderator takes the report and suspends the author. Until the
// account is restored, the posts are hidden and the owner cannot log in. TestModeration runs with
// and without scripts.
func TestModeration(t *testing.T) {
	t.Parallel()
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := "embedded:" + t.TempDir()
			site := serve(t, "--redis", redis)
			var actions []action
			if !scripts {
				actions = append(actions, withoutScripts())
			}
			ada, ben, mod := newBrowser(t, site, actions...), newBrowser(t, site, actions...), newBrowser(t, site, actions...)
			for name, b := range map[string]*browser{"ada": ada, "ben": ben, "moira": mod} {
				b.signUp(name)
			}
			runRetwis(t, "user", "role", "moira", "moderator", "--redis", redis)
			ben.publish("Buy my things")
			ada.open("/u/ben/1/report") // linked in the menu of the post
			ada.choose("kind", "spam")
			ada.submit("form.report", "text", "He writes this every day")
			ada.wantTexts(".notice", "Thanks. A moderator will look at it.")

			mod.openUntil("/moderation/reports", "a moderator sees the report", func() bool {
				return mod.has(`form[action="/moderation/take"]`)
			})
			mod.click(`form[action="/moderation/take"] button`)
			mod.wantPath("/moderation/case")
			mod.choose("action", "suspend")
			mod.submit(`form[action="/moderation/decide"]`, "message", "No advertising.", "note", "seen often")
			mod.wantPath("/moderation/reports")

			ben.open("/home")
			ben.wantPath("/login")
			ben.submit("main form", "username", "ben", "password", password)
			if text := strings.Join(ben.texts("main"), ""); !strings.Contains(text, "suspended") || !strings.Contains(text, "No advertising.") {
				t.Errorf("the log-in of a suspended user shows %q, want that the account is suspended and why", text)
			}
			ada.open("/timeline")
			if ada.has(".post") {
				t.Error("the public timeline has a post by a suspended user")
			}
			ada.open("/u/ben")
			if text := strings.Join(ada.texts("main"), ""); !strings.Contains(text, "This account is suspended") {
				t.Errorf("the profile of a suspended user shows %q, want that the account is suspended", text)
			}

			mod.open("/moderation/people")
			mod.click("main .people li a")
			mod.choose("action", "restore")
			mod.submit(`form[action="/moderation/decide"]`, "note", "he has apologized")
			mod.wantTexts(".notice", "Account restored.")
			ben.open("/login")
			ben.submit("main form", "username", "ben", "password", password)
			ben.wantPath("/home")
			ada.open("/timeline")
			ada.wantTexts(".post .body", "Buy my things")
			mod.open("/moderation/audit")
			mod.wantTexts(".decisions .body", "he has apologized", "seen often", "moderator")
		})
	}
}

// choose selects a radio button.
func (b *browser) choose(name, value string) {
	b.t.Helper()
	b.run(chromedp.Click(chromedp.CSS(`input[name="` + name + `"][value="` + value + `"]`)))
}

// runRetwis runs a retwis command.
func runRetwis(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(retwis, args...).CombinedOutput(); err != nil {
		t.Fatalf("retwis %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
