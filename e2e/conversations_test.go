package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestConversations lets two users reply, like, repost, bookmark, edit, delete, mention, tag, pin,
// mute and block, with scripts and without.
func TestConversations(t *testing.T) {
	t.Parallel()
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := serve(t)
			var actions []action
			if !scripts {
				actions = append(actions, withoutScripts())
			}
			c := conversation{scripts: scripts, ada: newBrowser(t, site, actions...), ben: newBrowser(t, site, actions...)}
			c.ada.signUp("ada")
			c.ben.signUp("ben")
			c.ben.publish("First post,\nin two lines, about #gardens")
			c.react(t)
			c.reply(t)
			c.tags(t)
			if scripts {
				c.completion(t)
				c.keys(t)
				c.live(t)
			}
			c.edit(t)
			c.profile(t)
			c.muteAndBlock(t)
			c.remove(t)
		})
	}
}

// conversation is a conversation between two users.
type conversation struct {
	scripts  bool
	ada, ben *browser
}

// press presses a button that acts in place with scripts, and reloads the page without.
func (c conversation) press(b *browser, selector string) {
	b.t.Helper()
	if c.scripts {
		b.run(chromedp.Click(chromedp.CSS(selector)))
	} else {
		b.click(selector)
	}
}

// wantTexts checks the texts of all matching elements.
func (b *browser) wantTexts(selector string, want ...string) {
	b.t.Helper()
	if got := b.texts(selector); !slices.Equal(got, want) {
		b.t.Errorf("on %s, %s has the texts %q, want %q", b.path(), selector, got, want)
	}
}

// counts returns the numbers of replies, reposts and likes of the first post on the page.
func (b *browser) counts() string {
	b.t.Helper()
	return get[string](b, `(() => {
		const d = document.querySelector(".post")?.dataset;
		return [d?.replies, d?.reposts, d?.likes].join(" ");
	})()`)
}

// react likes, unlikes, reposts and bookmarks a post. The page shows each action at once.
func (c conversation) react(t *testing.T) {
	c.ada.open("/timeline")
	c.ada.wantTexts(".post .body", "First post,\nin two lines, about #gardens")
	for _, step := range []struct{ button, counts, on string }{
		{"like", "0 0 1", "like"},
		{"like", "0 0 0", ""},
		{"like", "0 0 1", "like"},
		{"repost", "0 1 1", "repost like"},
		{"save", "0 1 1", "repost like save"},
	} {
		c.press(c.ada, ".post .post-action."+step.button)
		c.ada.until(step.button+" leads to "+step.counts+" "+step.on, func() bool {
			on := get[string](c.ada, `[...document.querySelectorAll(".post .post-action.on")].map(e => [...e.classList].find(c => c !== "post-action" && c !== "on")).join(" ")`)
			return c.ada.counts() == step.counts && on == step.on
		})
	}
	c.ada.wantPath("/timeline")
	if c.scripts {
		c.ada.until("the server has responded", func() bool { return slices.Contains(c.ada.texts("#live-region"), "Bookmarked") })
	}
	c.ada.open("/bookmarks")
	c.ada.wantTexts(".post .body", "First post,\nin two lines, about #gardens")
	c.ada.open("/u/ada/likes")
	c.ada.wantTexts(".post .by .name", "ben")
	c.ada.open("/u/ada")
	if got := c.ada.texts(".post .context"); len(got) != 1 || !strings.Contains(strings.Join(strings.Fields(got[0]), " "), "ada reposted") {
		t.Errorf("ada's profile has the reposts %q, want one", got)
	}
	c.ben.open("/home")
	if got := c.ben.attribute("[data-unread]", "data-unread"); got != "2" {
		t.Errorf("ben has %s unread notifications, want 2", got)
	}
	c.ben.open("/notifications")
	if got := strings.Join(c.ben.texts(".alert.unread .what"), "\n"); strings.Count(got, "liked your post") != 1 || strings.Count(got, "reposted your post") != 1 {
		t.Errorf("ben's notifications are %q, want one like and one repost", got)
	}
	c.ben.open("/home")
	if got := c.ben.attribute("[data-unread]", "data-unread"); got != "0" {
		t.Errorf("ben has %s unread notifications after reading, want 0", got)
	}
}

// attribute returns an attribute of the first matching element, or "none".
func (b *browser) attribute(selector, name string) string {
	b.t.Helper()
	return get[string](b, fmt.Sprintf(`document.querySelector(%q)?.getAttribute(%q) ?? "none"`, selector, name))
}

// reply replies on the page of the post, and gets a reply.
func (c conversation) reply(t *testing.T) {
	c.ada.open("/timeline")
	c.ada.click(".post a.when")
	c.ada.wantPath("/u/ben/1")
	c.ada.submit("form.status", "status", "Well said, @ben")
	c.ada.until("the reply is shown", func() bool { return slices.Contains(c.ada.texts(".post .body"), "Well said, @ben") })
	c.ben.open("/notifications")
	c.ben.click(".alert.unread .post a.when")
	c.ben.submit("form.status", "status", "Thank you")
	c.ada.open("/u/ben/1")
	c.ada.wantTexts(".post .body", "First post,\nin two lines, about #gardens", "Well said, @ben", "Thank you")
	c.ada.open("/timeline")
	c.ada.wantTexts(".post .body", "First post,\nin two lines, about #gardens") // without replies
	c.ada.open("/u/ada/replies")
	c.ada.wantTexts(".post .body", "Well said, @ben")
	c.ada.click(".post .body a")
	c.ada.wantPath("/u/ben")
	c.ada.open("/u/ben/1/likes")
	c.ada.wantTexts("main .people .name", "ada")
	// A rejected reply stays in the form.
	c.ada.open("/u/ben/1")
	long := strings.Repeat("too long ", 40)
	c.ada.submit("form.status", "status", long)
	if kept := c.ada.value(`[name="status"]`); kept != long {
		t.Errorf("the reply box shows %.30q…, want the typed text", kept)
	}
}

// tags follows a tag.
func (c conversation) tags(t *testing.T) {
	c.ada.open("/u/ben/1")
	c.ada.click(`.post .body a[href="/tag/gardens"]`)
	c.ada.wantTexts("h1", "#gardens")
	c.press(c.ada, "main form.follow button")
	c.ada.until("the tag is followed", func() bool { return c.ada.has(`main form.follow[action$="/unfollow"]`) })
	c.ada.wantPath("/tag/gardens")
	c.ben.publish("More about #Gardens")
	c.ada.open("/home")
	if got := c.ada.texts(".post .body"); !slices.Contains(got, "More about #Gardens") {
		t.Errorf("a follower of the tag sees %q, want the new post with the tag", got)
	}
}

// completion checks that names and tags are offered while they are typed.
func (c conversation) completion(t *testing.T) {
	b := c.ada
	b.open("/home")
	box := chromedp.CSS("#status")
	for typed, want := range map[string]string{"Dear @be": "Dear @ben ", "about #gar": "about #gardens "} {
		// The first letters open the list, and the last letter updates the list.
		b.fill("#status", typed[:len(typed)-1])
		b.until("a completion is offered for the beginning of "+typed, func() bool { return b.has(`[role="listbox"] [role="option"]`) })
		b.do(`document.querySelector('[role="listbox"]').dataset.before = ""`)
		b.run(chromedp.SendKeys(box, typed[len(typed)-1:]))
		b.until("a completion is offered for "+typed, func() bool { return b.has(`[role="listbox"]:not([data-before]) [role="option"]`) })
		if got := b.attribute("#status", "aria-controls"); got == "none" {
			t.Error("the box has no aria-controls")
		}
		b.run(chromedp.SendKeys(box, kb.ArrowDown), chromedp.SendKeys(box, kb.ArrowUp), enter())
		if got := b.value("#status"); got != want {
			t.Errorf("%q was completed to %q, want %q", typed, got, want)
		}
		if b.has(`[role="listbox"]`) {
			t.Error("the list is open after a completion")
		}
	}
	// A click chooses a completion; Escape closes the list.
	b.fill("#status", "@b")
	b.until("a completion is offered", func() bool { return b.has(`[role="option"]`) })
	b.run(chromedp.Click(chromedp.CSS(`[role="option"]`)))
	if got := b.value("#status"); got != "@ben " {
		t.Errorf("after a click on a completion, the box shows %q, want @ben", got)
	}
	b.run(chromedp.SendKeys(box, "@a"))
	b.until("a completion is offered", func() bool { return b.has(`[role="option"]`) })
	b.run(chromedp.SendKeys(box, kb.Escape))
	if got := b.value("#status"); got != "@ben @a" || b.has(`[role="option"]`) {
		t.Errorf("after Escape, the box shows %q, want \"@ben @a\" and no list", got)
	}
	// Text typed after the list opened, or at another position, is not replaced.
	b.run(chromedp.SendKeys(box, " @b"))
	b.until("a completion is offered", func() bool { return b.has(`[role="option"]`) })
	b.run(chromedp.KeyEvent(kb.Home), enter())
	if got := b.value("#status"); got != "\n@ben @a @b" {
		t.Errorf("after Enter before a name, the box shows %q, want only a line break more", got)
	}
	b.fill("#status", "@ben @a")
	// Ctrl+Enter publishes.
	b.run(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.until("the post is published", func() bool { return slices.Contains(b.texts(".post .body"), "@ben @a") })
}

// enter presses Enter as a single event, so that a page that handles the key gets no line break.
// SendKeys sends the character as a separate event.
func enter() action {
	return command(input.DispatchKeyEvent, input.DispatchKeyEventParams{
		Type: kb.KeyDown, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13, Text: "\r",
	})
}

// keys moves between posts, likes and writes with keyboard shortcuts.
func (c conversation) keys(t *testing.T) {
	b := c.ada
	b.open("/u/ben")
	focus := func() string {
		return get[string](b, `document.activeElement.dataset.id ?? document.activeElement.id`)
	}
	posts := get[[]string](b, `[...document.querySelectorAll(".post")].map(e => e.dataset.id)`)
	if len(posts) < 2 {
		t.Fatalf("ben's profile has the posts %v, want at least 2", posts)
	}
	for _, step := range []struct{ key, want string }{{"j", posts[0]}, {"j", posts[1]}, {"k", posts[0]}} {
		b.run(chromedp.KeyEvent(step.key))
		if got := focus(); got != step.want {
			t.Errorf("after %s the focus is on %q, want post %q", step.key, got, step.want)
		}
	}
	b.run(chromedp.KeyEvent("l"))
	b.until("the post is liked", func() bool { return b.has(".post .post-action.like.on") })
	b.until("a screen reader announces the like", func() bool { return slices.Contains(b.texts("#live-region"), "Liked") })
	b.run(chromedp.KeyEvent("m"))
	if !b.has(".post .menu[open]") {
		t.Error("m does not open the menu of the post")
	}
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until("Escape closes the menu", func() bool { return !b.has(".menu[open]") })
	b.run(chromedp.KeyEvent("?"))
	b.until("? shows the keys", func() bool { return b.has("dialog[open] kbd") })
	b.run(chromedp.KeyEvent("j")) // ignored while the list is open
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until("Escape closes the list of keys", func() bool { return !b.has("dialog[open]") })
	b.run(chromedp.KeyEvent("j"))
	b.run(chromedp.KeyEvent("r"))
	b.until("r opens the reply box", func() bool { return b.has("dialog[open]") && focus() == "reply" })
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until("Escape closes the dialog", func() bool { return !b.has("dialog[open]") })
	b.run(chromedp.KeyEvent("n"))
	b.until("n opens the box for a new post", func() bool { return b.has("dialog[open]") && focus() == "new" })
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until("Escape closes the dialog", func() bool { return !b.has("dialog[open]") })
	b.run(chromedp.KeyEvent("o"))
	b.until("o opens the post", func() bool { return strings.HasPrefix(b.path(), "/u/ben/") })
	b.open("/home")
	b.run(chromedp.KeyEvent("n"))
	b.until("n moves the focus to the box of the page", func() bool { return focus() == "status" })
	b.fill("#status", "") // KeyEvent sends the character as a separate event
	b.run(chromedp.SendKeys(chromedp.CSS("#status"), "jkl?"))
	if got := b.value("#status"); got != "jkl?" {
		t.Errorf("the box shows %q, want jkl?", got)
	}
	// A draft survives a visit to another page.
	b.open("/timeline")
	b.open("/home")
	if got := b.value("#status"); got != "jkl?" {
		t.Errorf("after a visit to another page, the box shows %q, want jkl?", got)
	}
}

// live checks that open pages show new posts, counts and notifications.
func (c conversation) live(t *testing.T) {
	c.ada.open("/timeline")
	c.ben.publish("something new")
	c.ada.until("the page offers the new post", func() bool { return c.ada.has("#new-posts a") })
	c.ada.wantTexts("#new-posts", "1 new post")
	c.ada.run(chromedp.Click(chromedp.CSS("#new-posts a")))
	c.ada.until("the new post is shown", func() bool { return slices.Contains(c.ada.texts(".post .body"), "something new") })
	c.ada.until("a screen reader announces the new posts", func() bool { return slices.Contains(c.ada.texts("#live-region"), "New posts loaded") })

	unread := c.ada.attribute("[data-unread]", "data-unread")
	c.ben.open("/u/ada")
	c.press(c.ben, ".post .post-action.like")
	c.ada.until("the number of notifications changes", func() bool { return c.ada.attribute("[data-unread]", "data-unread") != unread })
	c.ada.until("the title has the number of notifications", func() bool {
		return strings.HasPrefix(get[string](c.ada, `document.title`), "("+c.ada.attribute("[data-unread]", "data-unread")+") ")
	})
	c.ada.until("the number of likes changes", func() bool {
		return c.ada.has(`.post[data-likes="1"] .post-action.like[aria-label*="1 like"]`)
	})
	c.ada.wantPath("/timeline")

	// The user comes back to the page two hours later.
	c.ada.do(`(() => {
		const now = Date.now;
		Date.now = () => now() + 2 * 3600 * 1000;
		document.dispatchEvent(new Event("visibilitychange"));
	})()`)
	if got := c.ada.texts(".post time"); got[0] != "2 hours ago" {
		t.Errorf("after two hours, the post shows the time %q, want 2 hours ago", got[0])
	}
}

// edit edits and pins a post.
func (c conversation) edit(t *testing.T) {
	b := c.ben
	b.open("/u/ben/1")
	c.press(b, ".post .more-link")
	b.click(`.menu-items a[href="/u/ben/1/edit"]`)
	b.submit(`form[action="/u/ben/1/edit"]`, "status", "First post, now better")
	b.open("/u/ben/1")
	if got := b.texts(".post .body"); len(got) == 0 || got[0] != "First post, now better" {
		t.Errorf("after the edit, the page shows %q, want the new text first", got)
	}
	c.ada.open("/u/ben/1/history")
	if got := strings.Join(c.ada.texts(".versions .body"), "|"); got != "First post,\nin two lines, about #gardens" {
		t.Errorf("the history shows %q, want the first version", got)
	}
	b.open("/u/ben/1")
	b.submit(`form[action="/u/ben/1/pin"]`)
	c.ada.open("/u/ben")
	c.ada.wantTexts(".pinned .body", "First post, now better")
}

// profile edits a profile, follows, and changes the notification settings.
func (c conversation) profile(t *testing.T) {
	c.ben.open("/settings/profile")
	c.ben.submit("form.settings", "display_name", "Ben Holm", "bio", "Writes about #gardens")
	c.ada.open("/u/ben")
	c.ada.wantTexts("h1", "Ben Holm")
	c.ada.wantTexts(".profile .bio", "Writes about #gardens")
	c.ada.submit(`form[action="/u/ben/follow"]`)
	c.ada.wantPath("/u/ben")
	c.ada.open("/home")
	if got := c.ada.texts(".post .body"); !slices.Contains(got, "First post, now better") {
		t.Errorf("after following, the home timeline shows %q, want the post by ben", got)
	}
	c.unfollowInMenu()
	c.ben.open("/notifications")
	if got := strings.Join(c.ben.texts(".alert.follow .what"), ""); !strings.Contains(got, "ada followed you") {
		t.Errorf("ben's notifications are %q, want the follow by ada", got)
	}
	c.ben.open("/u/ada")
	c.ben.wantTexts(".profile .mark", "Follows you")
	c.ben.open("/settings/notifications")
	c.ben.run(chromedp.Click(chromedp.CSS(`input[value="like"]`)))
	c.ben.submit("form.settings")
	if c.ben.has(`input[value="like"]:checked`) {
		t.Error("the notifications of likes are still on")
	}
}

// unfollowInMenu unfollows the author of a post in the menu of the post, and follows them again.
func (c conversation) unfollowInMenu() {
	c.press(c.ada, `.post:has(.name[href="/u/ben"]) .more-link`)
	c.press(c.ada, `.unfollow`)
	if c.scripts {
		c.ada.until("a toast confirms it", func() bool { return slices.Contains(c.ada.texts(".toast.told span"), "You unfollowed @ben.") })
		c.ada.wantPath("/home")
		c.ada.run(chromedp.Click(chromedp.CSS(`.post:has(.name[href="/u/ben"]) .menu > summary`)))
		c.ada.wantTexts(`.post:has(.name[href="/u/ben"]) .unfollow:not([hidden])`)
	} else {
		c.ada.wantTexts(".toast.told span", "You unfollowed @ben.")
		c.ada.click(".post .more-link")
		c.ada.wantTexts(".unfollow")
		c.ada.open("/u/ben")
	}
	c.ada.submit(`form[action="/u/ben/follow"]`) // with scripts, that of the toast
}

// muteAndBlock mutes and blocks a user, and checks that the posts of the user are hidden.
func (c conversation) muteAndBlock(t *testing.T) {
	confirm := func(b *browser, verb, duration string) {
		b.open("/u/ben")
		b.run(chromedp.Click(chromedp.CSS(".profile .menu summary")))
		c.press(b, `.menu-items a[href="/u/ben/`+verb+`"]`)
		form := `form[action="/u/ben/` + verb + `"]`
		b.until("the page asks for the duration", func() bool { return b.has(form) })
		b.run(chromedp.Click(chromedp.CSS(form + ` input[value="` + duration + `"]`)))
		b.submit(form)
		b.wantPath("/u/ben")
	}
	confirm(c.ada, "mute", "week")
	c.ada.wantTexts(".toast.told > span", "You muted @ben.")
	c.ada.open("/home")
	if got := c.ada.texts(".post .by .name"); slices.Contains(got, "Ben Holm") || slices.Contains(got, "ben") {
		t.Errorf("ada muted ben and sees posts by %q", got)
	}
	c.ada.open("/settings/muted")
	c.ada.submit(`form[action="/u/ben/unmute"]`)
	confirm(c.ada, "block", "")
	c.ben.open("/u/ada")
	c.ben.wantTexts("h1", "This account doesn't exist")
	c.ada.open("/timeline")
	if got := c.ada.texts(".post .by .name"); slices.Contains(got, "Ben Holm") || slices.Contains(got, "ben") {
		t.Errorf("ada blocked ben and sees posts by %q", got)
	}
	c.ada.open("/settings/blocked")
	c.ada.submit(`form[action="/u/ben/unblock"]`)
	c.ben.open("/u/ada")
	c.ben.wantTexts("h1", "ada")
}

// remove deletes a post. All pages must omit the post, but keep its replies.
func (c conversation) remove(t *testing.T) {
	c.ben.open("/u/ben/1")
	c.press(c.ben, ".post .more-link")
	c.press(c.ben, `.menu-items a[href="/u/ben/1/delete"]`)
	c.ben.until("the page asks for confirmation", func() bool { return c.ben.has("form.confirm") })
	c.ben.submit(`form.confirm`)
	c.ada.open("/u/ben/1")
	if !c.ada.has(".error") {
		t.Error("the deleted post still has a page")
	}
	for _, path := range []string{"/timeline", "/u/ben", "/u/ada", "/bookmarks", "/u/ada/likes"} {
		c.ada.open(path)
		if got := c.ada.texts(".post .body"); slices.Contains(got, "First post, now better") {
			t.Errorf("%s shows the deleted post", path)
		}
	}
	c.ada.open("/u/ada/replies")
	c.ada.wantTexts(".post .body", "Well said, @ben")
}

// TestLoadNewPosts checks that new posts of a profile are loaded below the pinned post, and push
// older posts to the next page.
func TestLoadNewPosts(t *testing.T) {
	t.Parallel()
	site := serve(t)
	b := newBrowser(t, site)
	b.signUp("ada")
	for i := range 9 {
		post(t, b, "post "+strconv.Itoa(i))
	}
	b.post("/u/ada/1/pin")
	post(t, b, "post 9")
	b.open("/u/ada")
	b.wantTexts(".pinned .body", "post 0")
	if b.has(`a[rel="next"]`) {
		t.Fatal("ten posts have a second page")
	}
	post(t, b, "a new one")
	b.until("the page offers the new post", func() bool { return b.has("#new-posts a") })
	b.run(chromedp.Click(chromedp.CSS("#new-posts a")))
	b.until("the new post is loaded", func() bool { return !b.has("#new-posts") })
	b.wantTexts(".pinned .body", "post 0")
	if got := b.texts(".pinned ~ .feed .body"); len(got) != 10 || got[0] != "a new one" {
		t.Errorf("the page shows %q, want ten posts, with the new post first", got)
	}
	if !b.has(`a[rel="next"]`) {
		t.Fatal("the page has no link to older posts")
	}
	b.older()
	if got := b.texts(".pinned ~ .feed .body"); len(got) != 11 || got[10] != "post 0" {
		t.Errorf("with the next page, the list shows %q, want post 0 last", got)
	}
}
