package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// older adds the next page of a list of posts below the list.
func (b *browser) older() {
	b.t.Helper()
	posts := len(b.texts(".post"))
	b.do(`document.querySelector('a[rel="next"]').click()`)
	b.until("older posts are added", func() bool { return len(b.texts(".post")) > posts })
}

// scrolled returns how far the page is scrolled.
func (b *browser) scrolled() int {
	b.t.Helper()
	return get[int](b, `Math.round(scrollY)`)
}

// TestOlderPosts checks that older posts are added below the list, by the button and by the key for
// the next post, and that the back button leads to the same place in the longer list.
func TestOlderPosts(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	b.signUp("ada")
	for i := range 25 {
		post(t, b, fmt.Sprint("post ", i))
	}
	b.open("/home")
	b.older()
	b.wantPath("/home")
	if got := b.texts(".post .body"); len(got) != 20 || got[0] != "post 24" || got[19] != "post 5" {
		t.Errorf("with the second page, the list shows %q, want the 20 newest posts", got)
	}
	if got := get[string](b, `document.activeElement.querySelector(".body")?.innerText ?? ""`); got != "post 14" {
		t.Errorf("the focus is on %q, want the first of the added posts", got)
	}
	b.do(`[...document.querySelectorAll(".post")].at(-1).focus()`)
	b.do(`[...document.querySelectorAll(".post")].at(-1).querySelector(".post-action.like").focus()`)
	b.run(chromedp.KeyEvent("j"))
	b.until("the key for the next post adds the last page", func() bool { return len(b.texts(".post")) == 25 })
	if b.has(`a[rel="next"]`) {
		t.Error("the whole list has a link to older posts")
	}
	b.do(`[...document.querySelectorAll(".post")].at(-3).scrollIntoView({behavior: "instant"})`)
	place := b.scrolled()
	b.do(`document.querySelector(".post:nth-last-child(3) .by .when").click()`) // which, unlike a click, does not scroll
	b.until("the post is open", func() bool { return b.path() == "/u/ada/3" })
	b.do(`history.back()`)
	b.until("the list is as long as before", func() bool { return b.path() == "/home" && len(b.texts(".post")) == 25 })
	b.until(fmt.Sprintf("the page is scrolled to %d again", place), func() bool { return b.scrolled() == place })
}

// TestReplyInPlace checks that a reply that is sent from a list leaves the list in place, and that a
// refused reply stays in its dialog.
func TestReplyInPlace(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	b.signUp("ada")
	for i := range 12 {
		post(t, b, fmt.Sprint("post ", i))
	}
	b.open("/home")
	b.do(`document.querySelector('.post[data-id="4"]').scrollIntoView({block: "center", behavior: "instant"})`)
	place := b.scrolled()
	if place == 0 {
		t.Fatal("the page is too short to be scrolled")
	}
	const button = "dialog form[data-composer] .status-foot button:not([type])"
	reply := func(text string) {
		t.Helper()
		b.do(`document.querySelector('.post[data-id="4"] .post-action.reply').click()`)
		b.until("the reply box is open", func() bool { return b.has("dialog[open] textarea") })
		if got := b.value("dialog textarea"); got != "" {
			t.Errorf("the box for a new reply has the draft %q", got)
		}
		b.fill("dialog textarea", text)
		b.do(fmt.Sprintf(`document.querySelector(%q).click()`, button))
	}
	reply("a short reply")
	b.until("the reply is sent", func() bool { return !b.has("dialog") && slices.Contains(b.texts(".toast.told > span"), "Reply sent.") })
	b.until("a screen reader announces the reply", func() bool { return slices.Contains(b.texts("#live-region"), "Reply sent.") })
	if got := b.scrolled(); got != place || b.path() != "/home" {
		t.Errorf("after the reply, %s is scrolled to %d, want /home at %d", b.path(), got, place)
	}
	b.until("the post has a reply", func() bool { return b.has(`.post[data-id="4"][data-replies="1"]`) })
	long := strings.Repeat("long ", 80)
	reply(long)
	b.until("the problem is shown", func() bool { return strings.Contains(strings.Join(b.texts("#live-region.toast"), ""), "280") })
	if got := b.value("dialog textarea"); got != long {
		t.Errorf("the box of the refused reply shows %q, want its text", got)
	}
	b.wantPath("/home")
	b.fill("dialog textarea", "another short reply")
	b.do(fmt.Sprintf(`document.querySelector(%q).click()`, button))
	b.until("the shortened reply is sent", func() bool { return !b.has("dialog") })
	b.until("the post has two replies", func() bool { return b.has(`.post[data-id="4"][data-replies="2"]`) })
}
