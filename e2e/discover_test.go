package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestSearch searches from the menu, in tabs, page by page, and with an invalid query, with scripts
// and without.
func TestSearch(t *testing.T) {
	t.Parallel()
	for name, actions := range map[string][]action{
		"with scripts":    nil,
		"without scripts": {withoutScripts()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBrowser(t, serve(t), actions...)
			b.signUp("Ada")
			for i := range 21 {
				post(t, b, fmt.Sprint("the quick fox #foxes ", i))
			}
			b.open("/home")
			if _, err := chromedp.RunResponse(b.ctx, chromedp.SendKeys(chromedp.CSS("#find"), "quick\r")); err != nil {
				t.Fatal(err)
			}
			b.wantPath("/search")
			if got := b.texts("mark"); len(got) != 20 || got[0] != "quick" {
				t.Errorf("marked: %q", got)
			}
			b.click(`a[rel="next"]`)
			if got := b.texts("mark"); len(got) != 1 {
				t.Errorf("marked on the second page: %q", got)
			}
			b.submit(".find-large", "q", "ada")
			b.click(`.tabs a[href*="in=people"]`)
			if got := b.texts(".people .name"); !slices.Equal(got, []string{"Ada"}) {
				t.Errorf("people: %q", got)
			}
			b.submit(".find-large", "q", "fox")
			b.click(`.tabs a[href*="in=tags"]`)
			if got := b.texts(".tags a"); !slices.Equal(got, []string{"#foxes"}) {
				t.Errorf("tags: %q", got)
			}
			b.open("/search?q=%28quick")
			if got := b.texts(".problem"); len(got) != 1 || got[0] == "" {
				t.Errorf("an invalid query: %q", got)
			}
		})
	}
}

// TestMenuWidths checks that the menu fits the screen at each width and has a link to the search.
func TestMenuWidths(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	b.signUp("ada")
	for _, width := range []int64{1280, 900, 390, 320} {
		b.resize(look{width: width}, 844)
		for _, path := range []string{"/timeline", "/search"} {
			b.open(path)
			if wide := get[string](b, `[...document.querySelectorAll(".side a, .side input, .side summary, main *")]
				.filter(e => e.checkVisibility() && !e.closest(".tabs") && !e.closest(".unseen") && e.getBoundingClientRect().right > innerWidth + 1)
				.map(e => e.outerHTML.slice(0, 80)).join("\n")`); wide != "" {
				t.Errorf("%s at a width of %d is too wide:\n%s", path, width, wide)
			}
			if !get[bool](b, `document.querySelector('.side a[href="/search"]').checkVisibility()`) {
				t.Errorf("%s at a width of %d has no search in its menu", path, width)
			}
		}
		position := func(path string) string {
			b.open(path)
			return get[string](b, `[".side", "main"].map(e => Math.round(document.querySelector(e).getBoundingClientRect().left)).join()`)
		}
		if home, settings := position("/home"), position("/settings/profile"); home != settings {
			t.Errorf("at a width of %d, menu and page start at %s on /home, but at %s in the settings", width, home, settings)
		}
	}
}

// TestPeopleToFollow follows one of the suggested people and dismisses another.
func TestPeopleToFollow(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t, "--demo"))
	b.signUp("newcomer")
	b.open("/explore/people")
	names := b.texts("main .people .name")
	if len(names) < 2 {
		t.Fatalf("suggested: %q", names)
	}
	b.click(`main .people form[action$="/dismiss"] button`)
	b.wantPath("/explore/people")
	if got := b.texts("main .people .name"); strings.Join(got, " ") == strings.Join(names, " ") {
		t.Errorf("after a dismissal, the page shows the same suggestions: %q", got)
	}
	b.do(`window.isSamePage = true`)
	b.press(`main .people form[action$="/follow"] button`)
	b.until("the follow", func() bool { return b.has(`main .people form[action$="/unfollow"] .undo`) })
	b.press(`main .people form[action$="/unfollow"] button`)
	b.until("the end of the follow", func() bool { return !b.has(`main .people form[action$="/unfollow"]`) })
	b.press(`main .people form[action$="/follow"] button`)
	b.until("the follow", func() bool { return b.has(`main .people form[action$="/unfollow"] .undo`) })
	if !get[bool](b, `window.isSamePage === true`) {
		t.Error("following has loaded another page")
	}
	b.open("/u/newcomer/following")
	if got := b.texts("main .people li"); len(got) != 1 {
		t.Errorf("followed: %q", got)
	}
}

// TestSearchBox checks that the search box offers people, tags and a search for posts, and that the
// keyboard can choose them.
func TestSearchBox(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	b.signUp("adam")
	b.publish("about #adapters")
	const box = ".find-large input"
	suggestions := func() []string {
		b.open("/search")
		b.fill(box, "ada")
		var found []string
		b.until("the tag is offered", func() bool {
			found = b.texts(`[role="option"] .name`)
			if len(found) > 0 && len(found) < 3 { // the index is not up to date yet
				b.open("/search")
				b.fill(box, "ada")
			}
			return len(found) == 3
		})
		return found
	}
	if got, want := suggestions(), []string{"@adam", "#adapters", "Search posts for “ada”"}; !slices.Equal(got, want) {
		t.Errorf("offered: %q, want %q", got, want)
	}
	if b.attribute(box, "role") != "combobox" || b.attribute(box, "aria-expanded") != "true" || b.attribute(box, "aria-activedescendant") != "none" {
		t.Error("the box lacks the ARIA attributes of a combobox")
	}
	b.run(chromedp.SendKeys(chromedp.CSS(box), kb.ArrowDown))
	if got := b.attribute(box, "aria-activedescendant"); got != "q-completion-0" {
		t.Errorf("an arrow key chooses %q", got)
	}
	for keys, want := range map[string]string{
		"": "/search", kb.ArrowDown: "/u/adam", kb.ArrowDown + kb.ArrowDown: "/tag/adapters",
		kb.ArrowUp: "/search", kb.ArrowDown + kb.Escape: "/search",
	} {
		suggestions()
		b.run(chromedp.SendKeys(chromedp.CSS(box), keys))
		if _, err := chromedp.RunResponse(b.ctx, enter()); err != nil {
			t.Fatal(err)
		}
		b.wantPath(want)
		if isPosts := b.has(`.tabs a[href*="in=posts"][aria-current="page"]`); isPosts != (keys == kb.ArrowUp) {
			t.Errorf("%q: the search is for posts only: %v", keys, isPosts)
		}
	}
}
