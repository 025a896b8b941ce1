package web_test

import (
	"strings"
	"testing"
	"time"

	"retwis/internal/social"
)

// Moderators see what needs attention; admins and owners also see the state of the site. Others get
// status 404.
func TestOverview(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const path = "/moderation"
	s.visitor().get(path).want(404)
	for name, role := range map[string]social.Role{"mia": social.Member, "moll": social.Moderator, "adam": social.Admin, "olga": social.Owner} {
		b := s.signedUp(name)
		s.role(name, role)
		switch {
		case role < social.Moderator:
			b.get(path).want(404)
		case role < social.Admin:
			b.get(path).want(200, "Needs attention", "Nothing right now.").wantNot("Accounts created", "Memory of", "/moderation/site")
		default:
			b.get(path).want(200, "Accounts created", "Memory of the database", "Version", `href="/moderation" aria-current="page"`)
		}
	}
	if !strings.Contains(s.log.String(), "msg=refused") {
		t.Error("refusals are not in the security log")
	}
	owner := s.visitor()
	owner.send("/login", "username", "olga", "password", password).want(303)
	const hint = "retwis backup --keep 14 DIRECTORY"
	page := owner.get(path).want(200, "<dd>4", "<span>Last backup: never</span>", hint)
	if n := strings.Count(page.body, "Last backup"); n != 1 {
		t.Errorf("the last backup appears %d times, want once", n)
	}
	if err := s.social.RecordBackup(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if body := owner.get(path).want(200, "<dt>Last backup</dt>", time.Now().UTC().Format("2 Jan 2006")).body; strings.Contains(body, "never") || strings.Contains(body, hint) || !strings.Contains(body, "Nothing right now.") {
		t.Error("a fresh backup needs attention")
	}
	if err := s.social.RecordBackup(t.Context(), time.Now().Add(-27*time.Hour)); err != nil {
		t.Fatal(err)
	}
	owner.get(path).want(200, "<span>Last backup: ", hint).wantNot("<dt>Last backup</dt>")

	// Moderators see the number and the age of open reports.
	mia := s.visitor()
	mia.send("/login", "username", "mia", "password", password).want(303)
	owner.send("/post", "status", "a post").want(303)
	mia.send("/u/olga/report", "kind", "spam").want(200)
	moll := s.visitor()
	moll.send("/login", "username", "moll", "password", password).want(303)
	moll.get(path).want(200, `<a href="/moderation/reports">1 open report</a>`, "oldest: <time").wantNot("Last backup")
}
