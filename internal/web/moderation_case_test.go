package web_test

import (
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/audit"
)

// A case shows the person's profile, counts, earlier decisions, latest posts and other open
// reports.
func TestCaseOfPerson(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author, reader, other, mona := s.signedUp("author"), s.signedUp("reader"), s.signedUp("other"), s.signedUpAs("mona", social.Moderator)
	author.send("/settings/profile", "bio", "sells <b>everything</b>").want(303)
	reader.send("/u/author/follow").want(303)
	paths, ids := make([]string, 6), make([]string, 6)
	for i := range paths {
		paths[i], ids[i] = author.published("author", "post <i>"+string(rune('a'+i)))
	}
	reported, _ := reader.published("reader", "of somebody else")
	other.send(reported+"/report", "kind", "spam").want(200)
	reader.send(paths[0]+"/report", "kind", "spam").want(200)
	reader.send(paths[1]+"/report", "kind", "spam").want(200)
	reader.send("/u/author/report", "kind", "abuse").want(200)
	person := audit.UserTarget(s.user("author").ID)
	page := mona.get("/moderation/case?of="+person).want(200, "Joined", "6 posts", "1 follower<", "3 open reports", "0 decisions in 30 days", "never limited",
		"sells &lt;b&gt;everything", "Other open reports about author", "/moderation/case?of=post%3A"+ids[0]+`"`, "post &lt;i&gt;a</a>",
		"Latest posts", "post &lt;i&gt;f", "no restrictions").
		wantNot("of somebody else", "post &lt;i&gt;z")
	if strings.Contains(page.body, "/moderation/case?of=user") && strings.Contains(page.body, ">The account<") {
		t.Error("the case is listed among the other open reports")
	}
	if n := strings.Count(page.body, `<article`); n != 5 {
		t.Errorf("%d posts of the person, want 5", n)
	}
	page = mona.get("/moderation/case?of=post:"+ids[5]).want(200, "3 open reports", ">The account</a>", "post &lt;i&gt;b</a>")
	if n := strings.Count(page.body, `id="p`+ids[5]+`"`); n != 1 {
		t.Errorf("the post of the case appears %d times, want 1", n)
	}
	mona.send("/moderation/decide", "of", person, "action", "limit").want(303)
	mona.send("/moderation/decide", "of", person, "action", "restore").want(303)
	mona.get("/moderation/case?of="+person).want(200, "1 decision in 30 days", "limited or suspended 1 time<").wantNot("never limited")
	// The author, who is not a moderator, cannot see the case.
	author.get("/moderation/case?of=post:" + ids[0]).want(404)
}

// A decision reports its result and leads to the next report or to the queue.
func TestDecideAndNext(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author, reader, mona := s.signedUp("author"), s.signedUp("reader"), s.signedUpAs("mona", social.Moderator)
	var ids []string
	for _, text := range []string{"first", "second", "third"} {
		path, id := author.published("author", text)
		reader.send(path+"/report", "kind", "spam").want(200)
		ids = append(ids, id)
	}
	at := func(n int) string { return "/moderation/case?of=post%3A" + ids[n] }
	mona.send("/moderation/take").want(303, at(0))
	mona.get(at(0)).want(200, "Decide and next", "No action", "Hide post", `<option value="" selected>Permanent`, "Put back in the queue")
	mona.send("/moderation/decide", "of", "post:"+ids[0], "report", "1", "action", "hide", "message", "Be kind.", "next", "1").want(303, at(1)+"&decided=hide")
	mona.get(at(1)+"&decided=hide").want(200, "Post hidden. Report closed. This is the next report.", "second")
	mona.send("/moderation/decide", "of", "post:"+ids[1], "report", "1", "action", "dismiss").want(303, "/moderation/reports?decided=dismiss")
	mona.get("/moderation/reports?decided=dismiss").want(200, "No action taken. Report closed.", "Review next")
	mona.send("/moderation/take").want(303, at(2))
	mona.get("/moderation/reports").want(200, "You are reviewing a report.", "Continue")
	mona.send("/moderation/decide", "of", "post:"+ids[2], "report", "1", "action", "delete", "next", "1").want(303, "/moderation/reports?empty&decided=delete")
	mona.get("/moderation/reports?empty&decided=delete").want(200, "Post deleted. Report closed. There are no reports for you to review.", "No open reports.")
	mona.send("/moderation/decide", "of", "post:"+ids[0], "action", "unhide").want(303, at(0)+"&done=unhide")
	mona.get(at(0)+"&done=unhide").want(200, "Post shown again.").wantNot("Report closed")
	mona.get(at(0)+"&done=%3Cb%3E").want(200).wantNot("<b>", "&lt;b&gt;")

	// After an error the form keeps what was typed.
	mona.send("/moderation/decide", "of", "post:"+ids[0], "action", "fly", "message", "typed <b>", "note", "noted").want(422, "typed &lt;b&gt;</textarea>", "noted</textarea>")

	// The author and the reporter are notified; the author does not learn who reported.
	author.get("/notifications").want(200, "A moderator hid your post:", "Be kind.", "A moderator deleted your post.", "A moderator made your post visible again.").wantNot("@reader", "@mona", "/u/reader", "/u/mona")
	reader.get("/notifications").want(200, "Thank you: what you reported was hidden.", "We looked at what you reported and took no action.",
		"Thank you: what you reported was deleted.", "Post by @author").wantNot("/u/mona", "Be kind.")
	author.get("/u/author").want(200)
	mona.send("/moderation/decide", "of", audit.UserTarget(s.user("author").ID), "action", "limit", "message", "Too <b>much.").want(303)
	author.get("/notifications").want(200, "A moderator limited your account:", "Too &lt;b&gt;much.")
}

// The message with which a moderator shows a post again or restores an account reaches the person.
func TestMessageOfReversal(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author, mona := s.signedUp("author"), s.signedUpAs("mona", social.Moderator)
	path, id := author.published("author", "the text")
	person := audit.UserTarget(s.user("author").ID)
	decide := func(target, action, message string) {
		t.Helper()
		mona.send("/moderation/decide", "of", target, "action", action, "message", message).want(303)
	}
	decide("post:"+id, "hide", "Be kind.")
	mona.get("/moderation/case?of=post:"+id).want(200, "Show post again", "The person will see this message.")
	mona.send("/moderation/decide", "of", "post:"+id, "action", "unhide", "message", strings.Repeat("a", 1001)).want(422, "at most 1,000 characters")
	decide("post:"+id, "unhide", "That was <b>our</b> mistake.")
	author.get("/notifications").want(200, "A moderator made your post visible again:", "That was &lt;b&gt;our&lt;/b&gt; mistake.", path)
	author.get(path).want(200, "the text").wantNot("Be kind.", "mistake.")

	decide(person, "limit", "Too much.")
	mona.get("/moderation/case?of="+person).want(200, "Restore", "The person will see this message.")
	decide(person, "restore", "Thanks for <i>waiting</i>.")
	author.get("/notifications").want(200, "A moderator restored your account:", "Thanks for &lt;i&gt;waiting&lt;/i&gt;.")
	author.get("/u/author").want(200).wantNot("Too much.", "Thanks for")
	decide(person, "suspend", "Stop.")
	decide(person, "restore", "Welcome back.")
	author.send("/login", "username", "author", "password", password).want(303)
	author.get("/notifications").want(200, "A moderator suspended your account:", "Stop.", "Welcome back.")

	// A repeated decision is not notified again.
	decide(person, "restore", "Once more.")
	author.get("/notifications").want(200).wantNot("Once more.")
}

// The rules of the site are reasons for a report. A moderator sees the reported rule as it was and
// can send it to the person.
func TestReportOfRule(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author, reader, mona, adam := s.signedUp("author"), s.signedUp("reader"), s.signedUpAs("mona", social.Moderator), s.signedUpAs("adam", social.Admin)
	path, id := author.published("author", "the text")
	reader.get(path+"/report").want(200).wantNot(`value="rule"`, "Which rule?")
	reader.send(path+"/report", "kind", "rule", "rule", "1").want(422)
	adam.send("/moderation/site", "rules", "Be <kind>.\nNo advertising", "signup", "open").want(303)
	form := reader.get(path+"/report").want(200, "Breaks a rule", "1. Be &lt;kind&gt;.", "2. No advertising")
	version := between(form.body, `name="rules" value="`, `"`)
	for _, number := range []string{"", "0", "3", "x", "-1"} {
		reader.send(path+"/report", "kind", "rule", "rules", version, "rule", number).want(422, "Choose the rule.")
	}
	adam.send("/moderation/site", "rules", "No advertising\nBe <kind>.", "signup", "open", "rules_was", version).want(303)
	reader.send(path+"/report", "kind", "rule", "rules", version, "rule", "1", "text", "typed").want(422, "The rules have changed.", "typed")
	version = between(reader.get(path+"/report").body, `name="rules" value="`, `"`)
	reader.send(path+"/report", "kind", "rule", "rules", version, "rule", "2", "text", "look\nhere").
		want(200, "Thanks. A moderator will look at it.", `action="/u/author/mute"`, "Mute @author", `action="/u/author/block"`, "Block @author")
	reader.send("/u/author/mute").want(303)
	reader.send("/u/author/report", "kind", "spam", "rule", "1").want(200).wantNot(`action="/u/author/mute"`)
	adam.send("/moderation/site", "rules", "", "signup", "open", "rules_was", version).want(303)
	mona.get("/moderation/reports").want(200, "1 report: Breaks a rule")
	mona.get("/moderation/case?of=post:"+id).want(200, "Rule 2: Be &lt;kind&gt;.", "look\nhere")
	mona.send("/moderation/take", "of", "post:"+id).want(303)
	mona.get("/moderation/case?of=post:"+id).want(200, "This breaks rule 2: Be &lt;kind&gt;.</textarea>").wantNot("Fill in a rule")
	adam.send("/moderation/site", "rules", "Another one", "signup", "open").want(303)
	mona.get("/moderation/case?of=post:"+id+"&rule=1").want(200, "Fill in a rule", "This breaks rule 1: Another one.</textarea>")
	mona.get("/moderation/case?of=post:"+id+"&rule=9").want(200, "This breaks rule 2:")
}

// between returns the text between the first from and the next to, or "" if from does not occur.
func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	found, _, _ := strings.Cut(rest, to)
	return found
}
