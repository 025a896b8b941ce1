package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestStates checks every page, menu, dialog and state in light mode on a desktop and in dark mode
// on a phone; with the build tag long, in eight looks. Every page must fit the screen, and axe-core
// must report neither violations nor contrasts that it cannot compute.
func TestStates(t *testing.T) {
	t.Parallel()
	checker, err := newPageChecker()
	if err != nil {
		t.Fatal(err)
	}
	s := states{pageChecker: checker}
	s.prepare(t)
	t.Run("people", func(t *testing.T) {
		for name, tour := range map[string]func(*browser){"visitor": s.visitor, "member": s.member, "moderator": s.moderator} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				tour(newBrowser(t, s.site))
			})
		}
	})
	s.approval(newBrowser(t, s.site)) // changes the sign-up form
	s.outage(newBrowser(t, s.site))
}

// states has tours of the site for a visitor, a member and a moderator.
type states struct {
	pageChecker
	site, redis string
	database    *os.Process

	invitation, reset string // paths of one-time links
}

// page opens and checks a page.
func (s states) page(b *browser, name, path string) {
	b.t.Helper()
	b.open(path)
	s.check(b, name, "html")
}

// prepare starts the database and the site, and stores settings and one-time links.
func (s *states) prepare(t *testing.T) {
	t.Helper()
	s.startDatabase(t)
	s.site = serve(t, "--demo", "--redis", s.redis, "--limit", "edit=1/1h", "--smtp", "smtp://127.0.0.1:1", "--base-url", "https://retwis.example",
		"--media", t.TempDir())
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(retwis, append(args, "--redis", s.redis)...).Output()
		if err != nil {
			t.Fatalf("retwis %s: %v", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out))
	}
	run("site", "set", "contact", "keeper@lighthouse.example")
	run("site", "set", "rules", "Be kind to each other.\nNo advertising, no scams, and nothing that you would not say to somebody's face.")
	run("site", "set", "privacy", "## What is stored\n\n- your posts\n- your **password**, hashed\n\nNobody else gets [any of it](https://example.com).")
	s.invitation = run("invite", "create")
	s.reset = run("user", "reset-password", "vera_holm")
}

// startDatabase starts a server that the test can suspend. retwis supervises its own server.
func (s *states) startDatabase(t *testing.T) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		program = "valkey-server"
	}
	socket := filepath.Join(t.TempDir(), "socket")
	cmd := exec.Command(program, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.redis, s.database = "unix://"+socket, cmd.Process
}

// logIn submits the log-in form.
func (b *browser) logIn(name, password string) {
	b.t.Helper()
	b.open("/login")
	b.submit("main form", "username", name, "password", password)
}

// post submits a form that the page does not have.
func (b *browser) post(path string, fields ...string) {
	b.t.Helper()
	script := `const f = document.createElement("form"); f.method = "post"; f.action = ` + strconv.Quote(path) + `;`
	for i := 0; i < len(fields); i += 2 {
		script += `{ const i = document.createElement("input"); i.name = ` + strconv.Quote(fields[i]) +
			`; i.value = ` + strconv.Quote(fields[i+1]) + `; f.append(i); }`
	}
	// The timeout lets the script return before the page navigates.
	script = `(() => {` + script + ` document.body.append(f); setTimeout(() => f.submit()); })()`
	if _, err := chromedp.RunResponse(b.ctx, chromedp.Evaluate[chromedp.Void](script)); err != nil {
		b.t.Fatalf("submit %s: %v", path, err)
	}
}

// press clicks an element that does not lead to another page.
func (b *browser) press(selector string) {
	b.t.Helper()
	b.run(chromedp.Click(chromedp.CSS(selector)))
}

// mostReplied returns the path of the post with the most replies on a page.
func (b *browser) mostReplied(path string) string {
	b.t.Helper()
	b.open(path)
	return get[string](b, `(() => {
		const posts = [...document.querySelectorAll(".post")].sort((a, b) => b.dataset.replies - a.dataset.replies);
		return new URL(posts[0].querySelector("a.when").href).pathname;
	})()`)
}

// visitor checks the pages of people who are logged out, and of new accounts.
func (s states) visitor(b *browser) {
	for _, p := range [][2]string{
		{"front page", "/"},
		{"sign-up", "/register"},
		{"log-in", "/login"},
		{"explore signed out", "/explore"},
		{"latest signed out", "/timeline"},
		{"people to follow signed out", "/explore/people"},
		{"search signed out", "/search?q=redis"},
		{"profile signed out", "/u/vera_holm"},
		{"not found", "/nowhere"},
		{"tag signed out", "/tag/redis"},
		{"invitation", s.invitation},
		{"about", "/about"},
		{"rules", "/rules"},
		{"privacy", "/privacy"},
		{"invitation that does not work", "/invite/abc"},
		{"reset", s.reset},
		{"reset that does not work", "/reset/1.abc"},
		{"forgotten password", "/forgot"},
		{"forgotten password sent", "/forgot?sent"},
		{"link of a mail that does not work", "/confirm/1.abc"},
	} {
		s.page(b, p[0], p[1])
	}
	s.page(b, "thread signed out", b.mostReplied("/u/demo"))
	b.open("/register")
	b.submit("main form", "username", "demo", "password", "password1")
	s.check(b, "sign-up with a problem", "html")
	b.logIn("demo", "wrong password")
	s.check(b, "log-in with a problem", "html")
	b.post("/post", "status", "Written after the session ended")
	s.check(b, "log-in with a draft", "html")

	b.signUp("two_steps")
	b.open("/settings/security")
	b.submit(`form[action$="/app"]`, "current", password)
	s.check(b, "two-step set-up", "html")
	key := b.texts("code.secret")[0]
	b.sendCode(`form[action$="/confirm"]`, key, time.Time{}, func() bool { return b.has(".codes code") })
	s.check(b, "recovery codes", "html")
	b.open("/settings/security")
	b.press("details:nth-of-type(1) summary")
	b.press("details:nth-of-type(2) summary")
	s.check(b, "security with two-step log-in", "html")
	b.post("/logout")
	b.logIn("two_steps", password)
	s.check(b, "code of the second step", "html")
	b.submit("main form", "code", "123")
	s.check(b, "wrong code", "html")

	s.longNames(b)
	b.post("/logout")
	b.signUp("leaver")
	b.open("/settings/delete")
	b.submit("main form", "password", "not my password")
	s.check(b, "delete account", "html")
	b.submit("main form", "password", password)
	s.check(b, "account deleted", "html")
}

// longNames checks long and right-to-left names, stacked accents and a deep conversation.
func (s states) longNames(b *browser) {
	b.signUp("wide")
	b.open("/settings/profile")
	b.submit("form.settings", "display_name", strings.Repeat("W", 50), "bio", "A name of many letters")
	b.post(b.mostReplied("/u/vera_holm") + "/repost")
	b.publish("Stacked " + strings.Repeat("e"+strings.Repeat("\u0301\u0302\u0303\u0323", 9), 8))
	path := b.mostReplied("/u/wide")
	firstPath := path
	for range 8 {
		b.post(path+"/reply", "status", "And so on")
		path = "/u/wide/" + strings.TrimPrefix(get[string](b, `location.hash`), "#p")
	}
	s.page(b, "deep conversation", firstPath)
	if got := len(b.texts(".at.beside .context")); got != 3 {
		b.t.Errorf("%d replies name the author of the parent post, want 3", got)
	}
	s.page(b, "what a post replies to", path)
	b.post("/logout")
	b.signUp("hebrew")
	b.open("/settings/profile")
	b.submit("form.settings", "display_name", "שלום עולם", "bio", "כמה מילים")
	b.post("/u/wide/follow")
	s.page(b, "long name", "/u/wide")
	s.page(b, "right-to-left name in a list", "/u/wide/followers")
	s.page(b, "right-to-left name", "/u/hebrew")
}

// member checks the pages of a logged-in user.
func (s states) member(b *browser) {
	b.logIn("demo", "demo-demo")
	thread := b.mostReplied("/u/demo")
	for _, p := range [][2]string{
		{"home", "/home"},
		{"thread", thread},
		{"notifications", "/notifications"},
		{"profile", "/u/vera_holm"},
		{"explore", "/explore"},
		{"latest", "/timeline"},
		{"people to follow", "/explore/people"},
		{"search", "/search"},
		{"search results", "/search?q=redis"},
		{"search nothing", "/search?q=nothingatall"},
		{"search wrong", "/search?q=%28redis"},
		{"search people", "/search?q=a&in=people"},
		{"search tags", "/search?q=re&in=tags"},
		{"lists", "/lists"},
		{"on which lists", "/u/vera_holm/lists"},
		{"own profile", "/u/demo"},
		{"replies", "/u/vera_holm/replies"},
		{"likes", "/u/vera_holm/likes"},
		{"followers", "/u/demo/followers"},
		{"following", "/u/vera_holm/following"},
		{"tag", "/tag/redis"},
		{"liked by", thread + "/likes"},
		{"reposted by", thread + "/reposts"},
		{"delete post", thread + "/delete"},
		{"settings", "/settings/profile"},
		{"security", "/settings/security"},
		{"notification settings", "/settings/notifications"},
		{"data", "/settings/data"},
		{"import", "/settings/import"},
		{"e-mail", "/settings/email"},
		{"report person", "/u/vera_holm/report"},
	} {
		s.page(b, p[0], p[1])
		s.screenshot(b, p[0])
	}
	s.writing(b)
	s.menus(b, thread)

	b.open(thread + "/edit")
	b.submit("form.status", "status", "Hello from the #redis corner, again. What shall we talk about?")
	s.page(b, "edited post", thread)
	s.page(b, "earlier versions", thread+"/history")
	b.open(thread + "/edit")
	b.submit("form.status", "status", "And once more")
	s.check(b, "too fast", "html")

	b.open("/settings/profile")
	b.submit("form.settings", "display_name", strings.Repeat("long ", 20))
	s.check(b, "settings with a problem", "html")

	post := b.mostReplied("/u/vera_holm")
	b.post(post + "/bookmark")
	s.page(b, "bookmarks", "/bookmarks")
	b.open(post + "/report")
	b.choose("kind", "spam")
	b.submit("form.report", "text", "He writes this every day")
	s.check(b, "report sent", "html")
	b.post("/u/vera_holm/mute")
	s.page(b, "muted profile", "/u/vera_holm")
	s.page(b, "muted", "/settings/muted")
	b.post("/u/edda_storm/block")
	s.page(b, "blocked profile", "/u/edda_storm")
	s.page(b, "blocked", "/settings/blocked")
	names := "" // more names than the limit of follows allows
	for n := range 150 {
		names += fmt.Sprintf("x%d\n", n)
	}
	b.open("/settings/import")
	b.submit(`form[action="/settings/import"]`, "list", names)
	s.check(b, "import that runs", "html")
}

// writing checks the elements that scripts add while the user types.
func (s states) writing(b *browser) {
	b.open("/home")
	b.fill("#status", strings.Repeat("no end ", 45))
	s.check(b, "too long", "html")
	b.submit("form.status")
	s.check(b, "refused post", "html")
	var files []string
	for i := range 3 {
		files = append(files, filepath.Join(b.t.TempDir(), "photo.jpg"))
		if err := os.WriteFile(files[i], landscape(uint64(i), 900, 600), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	b.addPictures(files...)
	s.check(b, "pictures of a new post", "html")
	b.open("/home")
	b.fill("#status", "Dear @ve")
	b.until("a completion is offered", func() bool { return b.has(`[role="option"]`) })
	s.check(b, "completion", ".completion")
	b.open("/settings/security")
	b.fill("#new-password", "password1")
	b.run(chromedp.WaitVisible(chromedp.CSS(".strength:not(:empty)")))
	s.check(b, "password that is typed", "html")
	b.open("/timeline")
	b.run(chromedp.KeyEvent("?"))
	s.check(b, "keys", "dialog")
}

// menus checks menus, dialogs and the print view.
func (s states) menus(b *browser, thread string) {
	b.open("/u/vera_holm")
	b.press(".profile .menu summary")
	s.check(b, "profile menu", ".profile .menu-items")
	b.open("/u/vera_holm")
	b.press(".account summary")
	s.check(b, "account menu", ".account .menu-items")
	b.open(thread)
	b.press(".post .more-link")
	s.check(b, "menu of an own post", ".post .menu-items")
	b.open("/timeline")
	b.press(".post:has(.pictures) .more-link")
	s.check(b, "menu of a post", ".post .menu-items")
	b.press(`.post .menu a[href$="/mute"]`)
	b.until("the dialog is open", func() bool { return b.has("dialog[open] form") })
	s.check(b, "mute in a dialog", "dialog")
	b.open("/timeline")
	b.press(".pictures a")
	s.check(b, "lightbox", "dialog")
	b.open("/timeline")
	b.press(".side .new")
	b.until("the dialog is open", func() bool { return b.has("dialog[open] textarea") })
	s.check(b, "new post in a dialog", "dialog")
	b.open(thread)
	s.print(b)
}

// print checks the printed page.
func (s states) print(b *browser) {
	b.t.Helper()
	b.use(looks[0])
	b.run(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	if shown := get[string](b, `[...document.querySelectorAll("nav, form, button, .button, summary, footer")]
		.filter(e => e.checkVisibility()).map(e => e.outerHTML).join(" ")`); shown != "" {
		b.t.Errorf("the printed %s has controls: %s", b.path(), shown)
	}
	if texts := b.texts(".post .body"); len(texts) == 0 {
		b.t.Errorf("the printed %s has no posts", b.path())
	}
	s.save(b, "print", [][]byte{s.capture(b)})
	b.run(colorScheme("light"))
}

// moderator checks the pages of a new account, of a moderator and of an admin.
func (s states) moderator(b *browser) {
	b.signUp("moira")
	for _, p := range [][2]string{
		{"empty home", "/home"},
		{"empty notifications", "/notifications"},
		{"empty bookmarks", "/bookmarks"},
		{"empty profile", "/u/moira"},
		{"no followers", "/u/moira/followers"},
	} {
		s.page(b, p[0], p[1])
	}
	runRetwis(b.t, "user", "limit", "moira", "--message", "Too much.", "--redis", s.redis)
	b.openUntil("/u/moira", "the decision can be appealed", func() bool { return b.has(`.notice a[href^="/appeal"]`) })
	s.check(b, "profile of a limited account", "html")
	b.press(`.notice a[href^="/appeal"]`)
	b.until("the dialog is open", func() bool { return b.has("dialog[open] form") })
	s.check(b, "appeal in a dialog", "dialog")
	appeal := b.attribute(`.notice a[href^="/appeal"]`, "href")
	b.open(appeal)
	b.submit(`main form[action="/appeal"]`, "text", "I write less now.")
	s.page(b, "an open appeal", appeal)
	s.page(b, "notification of a decision", "/notifications")
	runRetwis(b.t, "user", "restore", "moira", "--redis", s.redis)
	b.open("/u/wei_rao/report")
	b.choose("kind", "abuse")
	b.submit("form.report", "text", "")
	post := b.mostReplied("/u/tara_lind")
	for _, kind := range []string{"spam", "other"} {
		b.open(post + "/report")
		b.choose("kind", kind)
		b.submit("form.report", "text", "")
	}
	runRetwis(b.t, "user", "role", "moira", "moderator", "--redis", s.redis)
	runRetwis(b.t, "user", "suspend", "nils_rios", "--message", "No advertising.", "--redis", s.redis)
	b.openUntil("/moderation/reports", "a moderator sees the reports", func() bool { return b.has("main .people li") })
	s.check(b, "queue", "html")
	b.press(".account summary")
	s.check(b, "account menu of a moderator", ".account .menu-items")
	b.open("/moderation/reports")
	b.click("main .people li:last-child a")
	s.check(b, "case to take", "html")
	b.open("/moderation/reports")
	b.submit(`form[action="/moderation/take"]`)
	s.check(b, "case", "html")
	s.page(b, "queue with a report taken", "/moderation/reports")
	for _, p := range [][2]string{
		{"moderated people", "/moderation/people"},
		{"decisions", "/moderation/audit"},
		{"nobody waits for an approval", "/moderation/signups"},
		{"nothing is blocked", "/moderation/blocks"},
		{"suspended profile", "/u/nils_rios"},
		{"profile of a moderator", "/u/vera_holm"},
	} {
		s.page(b, p[0], p[1])
	}
	runRetwis(b.t, "user", "role", "moira", "admin", "--redis", s.redis)
	runRetwis(b.t, "block", "add", "domain", "spam.example", "--for", "720h", "--redis", s.redis)
	runRetwis(b.t, "block", "add", "word", "casino", "--redis", s.redis)
	s.page(b, "blocks", "/moderation/blocks")
	b.openUntil("/moderation", "the overview for admins", func() bool { return b.has(".overview") })
	s.check(b, "overview for admins", "html")
	s.page(b, "settings of the site", "/moderation/site")
	s.page(b, "text of the site", "/moderation/site/privacy")
	b.open("/settings/invites")
	b.submit(`form[action="/settings/invites"]`, "uses", "3", "note", "for the workshop")
	s.check(b, "invites", "html")
	s.page(b, "no invitations", "/settings/invites?") // the link is gone
}

// approval checks the pages about pending sign-ups.
func (s states) approval(b *browser) {
	b.logIn("moira", password)
	runRetwis(b.t, "invite", "mode", "approval", "--redis", s.redis)
	defer runRetwis(b.t, "invite", "mode", "open", "--redis", s.redis)
	visitor := newBrowser(b.t, s.site)
	visitor.openUntil("/register", "sign-ups need an approval", func() bool { return visitor.has(`[name="reason"]`) })
	s.check(visitor, "sign-up with approval", "html")
	for _, name := range []string{"waits_first", "waits_second"} {
		visitor.open("/register")
		visitor.submitSignUp("main form", name, "reason", "I keep a lighthouse, and have read here for a long time.")
	}
	s.check(visitor, "waits for an approval", "html")
	s.page(b, "sign-ups that wait", "/moderation/signups")
}

// outage checks the pages that are shown while the database does not respond.
func (s states) outage(b *browser) {
	b.signUp("patience")
	b.open("/home")
	if err := s.database.Signal(syscall.SIGSTOP); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = s.database.Signal(syscall.SIGCONT) })
	b.post("/post", "status", "Written while the database is down")
	s.check(b, "outage with a draft", "html")
	s.page(b, "outage", "/u/nobody")
}
