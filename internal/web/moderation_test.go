package web_test

import (
	"net/url"
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/audit"
	siteinfo "retwis/internal/social/site"
	"retwis/internal/web/view"
)

// role gives a user a role.
func (s *site) role(name string, role social.Role) {
	s.t.Helper()
	if err := s.social.Moderation.SetRole(s.t.Context(), social.Operator, s.user(name).ID, role, ""); err != nil {
		s.t.Fatal(err)
	}
}

// A person reports a post; a moderator takes the report and suspends the author, who can no longer
// log in; another moderator finds nothing to take; then the account is restored.
func TestModeration(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author, reader, first, second := s.signedUp("author"), s.signedUp("reader"), s.signedUp("first"), s.signedUp("second")
	s.role("first", social.Moderator)
	s.role("second", social.Moderator)
	path, id := author.published("author", "the text")
	reader.get(path+"/more").want(200, path+"/report")
	reader.get(path+"/report").want(200, "Why are you reporting this post?", "the text")
	reader.send(path+"/report", "text", "look").want(422, "Choose a reason.", "look")
	reader.send(path+"/report", "kind", "spam", "text", strings.Repeat("a", 501)).want(422, "at most 500")
	reader.send(path+"/report", "kind", "spam", "text", "look <b>here</b>").want(200, "Thanks.")
	reader.send(path+"/report", "kind", "abuse", "text", "again").want(200)
	author.send(path+"/report", "kind", "spam").want(400)

	target := "post:" + id
	address := "/moderation/case?of=" + url.QueryEscape(target)
	first.get("/home").want(200, `href="/moderation"`, "1<span class=\"unseen\"> to decide</span>")
	first.get("/moderation/reports").want(200, "1 report: Spam or advertising", "the text", `href="`+strings.ReplaceAll(address, "&", "&amp;")+`"`)
	first.send("/moderation/take").want(303, address)
	first.get(address).want(200, "look &lt;b&gt;here&lt;/b&gt;", "Spam or advertising", "Put back in the queue", "</a>, <time", "@reader", `href="/moderation/reports" aria-current="true"`)
	second.send("/moderation/take").want(303, "/moderation/reports?empty")
	second.get("/moderation/reports").want(200, "first is reviewing")
	second.send("/moderation/decide", "of", target, "report", "1", "action", "delete").want(409)
	second.send("/moderation/take", "of", target).want(409)
	first.send("/moderation/return", "of", target).want(303, "/moderation/reports")
	second.send("/moderation/take").want(303, address)
	second.send("/moderation/decide", "of", target, "report", "1", "action", "fly").want(422, "Choose what to do.")
	second.send("/moderation/decide", "of", target, "report", "1", "action", "suspend", "days", "7",
		"message", "Advertising.", "note", "the second time").want(303, "/moderation/reports?decided=suspend")

	author.get("/home").want(303)
	author.send("/login", "username", "author", "password", password).want(403, "suspended until", "Advertising.").wantNot("Contact the moderators")
	s.set(siteinfo.Contact, "mods@example.com")
	author.send("/login", "username", "author", "password", password).
		want(403, "suspended until", "Advertising.", `Contact the moderators: <a href="mailto:mods@example.com">mods@example.com</a>`)
	s.visitor().get("/login").want(200, `Forgot your password? Ask <a href="mailto:mods@example.com">mods@example.com</a> for a link.`)
	reader.get(path).want(404)
	s.visitor().get("/u/author").want(404, "This account is suspended")
	if body := s.visitor().get("/timeline").want(200).body; strings.Contains(body, "the text") {
		t.Error("the public timeline has a post of a suspended person")
	}
	first.get("/u/author").want(200, "the text", "This account is suspended")
	first.get("/moderation/reports").want(200, "No open reports.")
	first.get("/moderation/people").want(200, "@author", "suspended")
	first.get("/moderation/people?q=aut").want(200, "@author")
	first.get("/moderation/people?q=nobody").want(200, "No people for “nobody”.")
	first.get("/moderation/audit").want(200, "second", "suspended the account", "the second time")
	first.get("/moderation/audit?by=first").want(200, "No decisions.")
	first.get("/moderation/audit?about=author").want(200, "the second time")
	first.get("/moderation/audit?by=nobody").want(200, "There&#39;s no user named nobody.")
	for _, before := range []string{"x", "1", "0-0", "1-18446744073709551616"} {
		first.get("/moderation/audit?before=" + before).want(400)
	}

	person := "user:" + url.QueryEscape(strings.TrimPrefix(audit.UserTarget(s.user("author").ID), "user:"))
	first.send("/moderation/decide", "of", person, "action", "restore").want(303)
	author.send("/login", "username", "author", "password", password).want(303)
	reader.get(path).want(200, "the text")

	// The author still sees a hidden post and why it was hidden.
	first.send("/moderation/decide", "of", target, "action", "hide", "message", "Not here.").want(303)
	const hidden, pin = "Hidden by a moderator. Only you and moderators see it.", `class="quiet pin"`
	page := author.get(path).want(200, "the text", hidden, "Reason: Not here.").wantNot(`id="reply"`, pin)
	if n := strings.Count(page.body, hidden); n != 1 {
		t.Errorf("the page of a hidden post says %d times that it is hidden, want once", n)
	}
	author.get("/u/author").want(200, "the text", hidden)
	author.get("/notifications").want(200, "A moderator hid your post:", "Not here.", path, `<a href="mailto:mods@example.com">Contact the moderators</a>`)
	reader.get("/notifications").want(200, "Thank you: the account you reported was suspended.", "Post by @author").wantNot("Contact the moderators")
	s.visitor().get("/nothing").want(404).wantNot("Contact the moderators")
	first.get(path).want(200, "the text", "Hidden by a moderator. Only its author and moderators see it.").wantNot(`id="reply"`)
	reader.get(path).want(404)
	first.send("/moderation/decide", "of", target, "action", "unhide").want(303)
	reader.get(path).want(200)
	author.get(path).want(200, `id="reply"`, pin).wantNot(hidden)

	// A limited person sees the reason on their profile.
	first.send("/moderation/decide", "of", person, "action", "limit", "message", "Too much.").want(303)
	author.get("/u/author").want(200, "Your account is limited", "Too much.")
	reader.get(path).want(200)
	if body := reader.get("/timeline").want(200).body; strings.Contains(body, "the text") {
		t.Error("the public timeline has a post of a limited person")
	}

	// Moderators cannot decide about other moderators, about themselves, or about unknown targets.
	first.send("/moderation/decide", "of", audit.UserTarget(s.user("second").ID), "action", "suspend").want(403)
	first.send("/moderation/decide", "of", audit.UserTarget(s.user("first").ID), "action", "restore").want(403)
	first.get("/moderation/case?of=user:99999").want(404)
	first.get("/moderation/case?of=nonsense").want(404)
	first.get("/moderation/case").want(404)
}

// A person appeals against a decision, and learns what a moderator answers.
func TestAppeal(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author, reader, mona := s.signedUp("author"), s.signedUp("reader"), s.signedUp("mona")
	s.role("mona", social.Moderator)
	path, id := author.published("author", "the text")
	target, form := "post:"+id, "/appeal?of=post%3A"+id
	author.get(path).want(200).wantNot("/appeal")
	author.get(form).want(404, "This decision is no longer in effect")
	s.visitor().get(form).want(303, "/login")
	mona.send("/moderation/decide", "of", target, "action", "hide", "message", "Be kind.").want(303)

	author.get(path).want(200, `href="`+form+`"`, "Appeal this decision")
	author.get("/notifications").want(200, `href="`+form+`"`)
	mona.get(path).want(200).wantNot("/appeal")
	for _, other := range []*visitor{reader, mona} {
		other.get(form).want(404)
		other.send("/appeal", "of", target, "text", "why").want(404)
	}
	author.get(form).want(200, "Why should the decision change?")
	author.send("/appeal", "of", target, "text", " ").want(422, "Say why the decision should change.")
	author.send("/appeal", "of", target, "text", "It <b>was</b> a quote.").want(303, path)
	author.get(path).want(200, "Appeal sent.")
	author.get(form).want(200, "Your appeal is waiting for a moderator.").wantNot("<textarea")

	page := "/moderation/case?of=post:" + id
	mona.get("/moderation/reports").want(200, "Appeal")
	mona.get(page).want(200, "Appeal", "It &lt;b&gt;was&lt;/b&gt; a quote.", "@author")
	mona.send("/moderation/take", "of", target).want(303)
	mona.get(page).want(200, `value="unhide"`, `value="dismiss"`, "Keep the decision", `name="heard"`)
	mona.send("/moderation/decide", "of", target, "report", "1", "action", "dismiss").want(422, "@author has appealed. Read the appeal before you decide.", `name="heard"`)
	mona.send("/moderation/decide", "of", target, "report", "1", "heard", "1", "action", "dismiss", "message", "A quote is fine elsewhere.").want(303)
	author.get("/notifications").want(200, "The decision stands:", "A quote is fine elsewhere.")

	author.send("/appeal", "of", target, "text", "Please look again.").want(303)
	mona.send("/moderation/take", "of", target).want(303)
	mona.send("/moderation/decide", "of", target, "report", "1", "heard", "1", "action", "unhide").want(303, "decided=unhide")
	author.get("/notifications").want(200, "A moderator made your post visible again.").wantNot("/appeal")
	reader.get(path).want(200, "the text")

	person := audit.UserTarget(s.user("author").ID)
	mona.send("/moderation/decide", "of", person, "action", "limit", "message", "Too much.").want(303)
	account := view.AppealPath(person)
	author.get("/u/author").want(200, `href="`+account+`"`)
	author.get("/notifications").want(200, `href="`+account+`"`)
	reader.get("/u/author").want(200).wantNot("/appeal")
	author.send("/appeal", "of", person, "text", "I write less now.").want(303, "/u/author")
	mona.send("/moderation/take", "of", person).want(303)
	mona.get("/moderation/case?of="+person).want(200, `value="restore"`)
	mona.send("/moderation/decide", "of", person, "report", "1", "heard", "1", "action", "restore").want(303)
	author.get("/u/author").want(200).wantNot("/appeal")
}

// Moderators still see a reported post, with its text, after its author has deleted it. Users who
// have the form open can still report the post.
func TestReportOfDeletedPost(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author, reader, late, mona := s.signedUp("author"), s.signedUp("reader"), s.signedUp("late"), s.signedUp("mona")
	s.role("mona", social.Moderator)
	path, id := author.published("author", "ugly words")
	reader.send(path+"/report", "kind", "abuse").want(200, "Thanks.")
	author.send(path + "/delete").want(303)
	late.send(path+"/report", "kind", "abuse", "text", "too late?").want(200, "Thanks.")
	mona.get("/moderation/reports").want(200, "Post by author, deleted by its author on", "ugly words", "2 reports")
	mona.get("/moderation/case?of=post:"+id).want(200, "Post by author, deleted by its author on", "ugly words", "too late?")

	path, id = author.published("author", "words that nobody has reported")
	reader.send(path+"/reply", "status", "an answer").want(303)
	author.send(path + "/delete").want(303)
	reader.get("/u/reader/replies").want(200, "an answer", "Replying to a deleted post").wantNot(`href="` + path + `"`)
	late.send(path+"/report", "kind", "abuse", "text", "first").want(200, "Thanks.")
	mona.get("/moderation/case?of=post:"+id).want(200, "Post by author, deleted by its author on", "first")
}

// Only moderators and the author see hidden content on any page.
func TestWalkHidden(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"suspended", "hidden"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			author, follower, moderator := s.signedUp("author"), s.signedUp("follower"), s.signedUp("mona")
			s.role("mona", social.Moderator)
			follower.send("/u/author/follow").want(303)
			author.send("/u/follower/follow").want(303)
			_, id := author.published("author", "the text of #walk @follower")
			follower.send("/u/author/" + id + "/repost").want(303)
			follower.send("/u/author/" + id + "/like").want(303)
			follower.send("/u/author/" + id + "/bookmark").want(303)
			action, target := "hide", "post:"+id
			if state == "suspended" {
				action, target = "suspend", audit.UserTarget(s.user("author").ID)
			}
			moderator.send("/moderation/decide", "of", target, "action", action).want(303)
			for route, w := range walks {
				path, ok := strings.CutPrefix(route, "GET ")
				if !ok || w.path == "" || strings.HasPrefix(path, "/moderation") {
					continue
				}
				path = strings.ReplaceAll(w.path, "{id}", id)
				others := []string{path, strings.ReplaceAll(path, "author", "follower")}
				for name, v := range map[string]*visitor{"stranger": s.visitor(), "follower": follower} {
					for _, path := range others {
						a := v.get(path)
						if strings.Contains(a.body, "the text of") {
							t.Errorf("a %s sees the text at %s", name, path)
						}
						if a.status >= 500 {
							t.Errorf("a %s at %s: status %d", name, path, a.status)
						}
						if state == "suspended" && strings.Contains(a.body, "@author") {
							t.Errorf("a %s sees the name at %s", name, path)
						}
					}
				}
			}
			moderator.get("/u/author/"+id).want(200, "the text of")
		})
	}
}
