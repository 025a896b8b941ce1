package web_test

import (
	"strings"
	"testing"
	"time"

	"retwis/internal/social"
)

// Admins and owners see the state of the site. For all others, the moderators among them,
// the page does not exist, and their tabs do not name it.
func TestOverview(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const path = "/moderation/overview"
	s.visitor().get(path).want(404)
	for name, role := range map[string]social.Role{"mia": social.Member, "moll": social.Moderator, "adam": social.Admin, "olga": social.Owner} {
		b := s.signedUp(name)
		s.role(name, role)
		if role < social.Admin {
			b.get(path).want(404)
		} else {
			b.get(path).want(200, "Accounts created", "Memory of the database", "Version", `href="/moderation/overview" aria-current="page"`)
		}
		if role == social.Moderator && strings.Contains(b.get("/moderation").want(200).body, path) {
			t.Error("a moderator is offered the overview")
		}
		if role >= social.Admin {
			b.get("/moderation").want(200, `href="/moderation/overview"`)
		}
	}
	if !strings.Contains(s.log.String(), "msg=refused") {
		t.Error("refusals are not in the security log")
	}
	owner := s.visitor()
	owner.send("/login", "username", "olga", "password", password).want(303)
	owner.get(path).want(200, "<dd>4", "never", "Look at this")
	if err := s.social.RecordBackup(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if body := owner.get(path).want(200, time.Now().UTC().Format("2 Jan 2006")).body; strings.Contains(body, "never") || strings.Contains(body, "Look at this") {
		t.Error("a fresh backup is worth a look")
	}
	if err := s.social.RecordBackup(t.Context(), time.Now().Add(-27*time.Hour)); err != nil {
		t.Fatal(err)
	}
	owner.get(path).want(200, "Look at this")
}
