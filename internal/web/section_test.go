package web_test

import (
	"strings"
	"testing"

	"retwis/internal/social"
)

// The list of settings is on a page of its own and next to each settings page. There the current
// page is marked, and the title leads back to the list.
func TestSettingsList(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, mona := s.signedUp("ada"), s.signedUpAs("mona", social.Moderator)
	s.visitor().get("/settings").want(303, "/login")
	pages := map[string]string{
		"/settings/profile": "Profile", "/settings/security": "Security", "/settings/notifications": "Notifications",
		"/settings/muted": "Muted", "/settings/blocked": "Blocked", "/settings/import": "Import", "/settings/data": "Export",
		"/settings/delete": "Delete account",
	}
	list := ada.get("/settings").want(200, "<title>Settings · Retwis</title>").wantNot("/settings/invites", "/settings/email", "section-up")
	if n := strings.Count(list.body, `class="section-nav`); n != 1 {
		t.Errorf("the list appears %d times, want 1", n)
	}
	for path, label := range pages {
		list.want(200, `href="`+path+`" aria-current="false"`)
		page := ada.get(path).want(200, `class="in columns"`, "<title>"+label+" · Settings · Retwis</title>", ">"+label+"</h1>",
			`href="`+path+`" aria-current="page"`, `<p class="section-up"><a href="/settings">`)
		for other := range pages {
			if other != path && !strings.Contains(page.body, `href="`+other+`" aria-current="false"`) {
				t.Errorf("%s lacks %s or marks it as the current page", path, other)
			}
		}
	}
	// The response to a form marks the page of the form.
	ada.send("/settings/security/password", "current", "wrong", "password", "another horse", "password2", "another horse").
		want(422, `href="/settings/security" aria-current="true"`)
	mona.get("/settings").want(200, `href="/settings/invites"`)
	mona.get("/settings/invites").want(200, `href="/settings/invites" aria-current="page"`, "Invites · Settings")
}

// The moderation pages have such a list, too, with counts of pending items. Only admins see the
// pages about the site.
func TestModerationList(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, mona, adam := s.signedUp("ada"), s.signedUpAs("mona", social.Moderator), s.signedUpAs("adam", social.Admin)
	path, id := mona.published("mona", "a post")
	ada.send(path+"/report", "kind", "spam").want(200)
	for _, path := range []string{"/moderation", "/moderation/reports", "/moderation/signups", "/moderation/people", "/moderation/blocks", "/moderation/tags", "/moderation/audit"} {
		mona.get(path).want(200, `href="`+path+`" aria-current="page"`, ` · Moderation · Retwis</title>`, "1<span class=\"unseen\"> to decide</span>").wantNot("/moderation/site")
	}
	mona.get("/moderation/case?of=post:"+id).want(200, `href="/moderation/reports" aria-current="true"`, `href="/moderation" aria-current="false"`)
	mona.get("/moderation/overview").want(303, "/moderation")
	adam.get("/moderation").want(200, `href="/moderation/site" aria-current="false"`)
	adam.get("/moderation/site").want(200, `href="/moderation/site" aria-current="page"`, "Site and texts · Moderation")
	adam.get("/moderation/site/about").want(200, `href="/moderation/site" aria-current="true"`)
}
