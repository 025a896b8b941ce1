package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestGerman chooses German at the bottom of a page. From then on, pages and scripts must use
// German, and pages must fit a narrow screen.
func TestGerman(t *testing.T) {
	t.Parallel()
	checker, err := newPageChecker()
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, serve(t))
	b.open("/about")
	b.click(`footer button[value="de"]`)
	b.wantPath("/about")
	b.signUp("ada")
	b.publish("Hallo Welt")
	b.until("the post is published", func() bool { return slices.Contains(b.texts(".toast.told span"), "Beitrag veröffentlicht.") })
	b.open("/u/ada")
	b.until("the time of the post is in German", func() bool { return slices.Equal(b.texts(".post time"), []string{"gerade eben"}) })
	b.run(chromedp.Click(chromedp.CSS(".post-action.like")))
	b.until("the button offers to unlike", func() bool {
		return b.attribute(".post-action.like", "aria-label") == "„Gefällt mir“ zurücknehmen, 1 Mal"
	})
	b.until("a screen reader announces the like", func() bool { return slices.Contains(b.texts("#live-region"), "Gefällt dir") })
	b.press(".post .more-link")
	b.until("the menu is open", func() bool { return slices.Contains(b.texts(".post .menu-items a"), "Bearbeiten") })
	for _, path := range []string{"/", "/home", "/explore", "/search", "/notifications", "/u/ada/1", "/lists", "/settings", "/settings/profile", "/settings/security", "/settings/data", "/settings/appearance", "/compose"} {
		b.open(path)
		for _, width := range []int64{320, 390, 820} {
			b.resize(look{width: width}, 700)
			if get[bool](b, `document.documentElement.scrollWidth > document.documentElement.clientWidth`) {
				t.Errorf("%s is wider than a screen of %d pixels", path, width)
			}
		}
		checker.check(b, "german"+strings.ReplaceAll(path, "/", " "), "html")
	}
}
