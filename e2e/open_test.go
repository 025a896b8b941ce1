package e2e

import (
	"net/url"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestOpenPage checks that an open page hides a post that is deleted elsewhere, and loads a first
// reply, and that the back button restores typed text.
func TestOpenPage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	b.signUp("ada")
	post(t, b, "one")
	post(t, b, "two")
	b.open("/u/ada")
	send(t, b, "/u/ada/1/delete", nil)
	b.until("the deleted post disappears", func() bool { return slices.Equal(b.texts(".post.gone"), []string{"This post is unavailable."}) })
	b.wantTexts(".post .body", "two")

	b.open("/u/ada/2")
	send(t, b, "/u/ada/2/reply", url.Values{"status": {"a reply"}})
	b.until("the page offers the reply", func() bool { return b.has("#new-posts a") })
	b.run(chromedp.Click(chromedp.CSS("#new-posts a")))
	b.until("the reply is loaded", func() bool { return slices.Equal(b.texts(".below .body"), []string{"a reply"}) })

	b.open("/u/ada/2/edit")
	b.run(chromedp.SendKeys(chromedp.CSS("main textarea"), "and more: "))
	b.click(`a[href="/notifications"]`)
	b.run(navigateBack())
	b.until("the typed text is restored", func() bool {
		return get[string](b, `location.pathname + " " + document.body?.hidden + " " + document.querySelector("main textarea")?.value`) ==
			"/u/ada/2/edit false and more: two"
	})
}
