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
				t.Errorf("the first page marks %q, want quick in 20 posts", got)
			}
			if actions == nil {
				b.older()
				if got := b.texts("mark"); len(got) != 21 {
					t.Errorf("both pages mark %q, want quick in 21 posts", got)
				}
			} else {
				b.click(`a[rel="next"]`)
				if got := b.texts("mark"); len(got) != 1 {
					t.Errorf("the second page marks %q, want quick in one post", got)
				}
			}
			b.submit(".find-large", "q", "ada")
			b.click(`.tabs a[href*="in=people"]`)
			if got := b.texts(".people .name"); !slices.Equal(got, []string{"Ada"}) {
				t.Errorf("found the people %q, want Ada", got)
			}
			b.submit(".find-large", "q", "fox")
			b.click(`.tabs a[href*="in=tags"]`)
			if got := b.texts(".tags a"); !slices.Equal(got, []string{"#foxes"}) {
				t.Errorf("found the tags %q, want #foxes", got)
			}
			b.open("/search?q=%28quick")
			if got := b.texts(".problem"); len(got) != 1 || got[0] == "" {
				t.Errorf("an invalid query shows the problems %q, want one", got)
			}
		})
	}
}

// TestMenuWidths checks that the menu fits the screen at each width and has a link to the search,
// and that the parts of a page do not overlap.
func TestMenuWidths(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	b.signUp("ada")
	for _, width := range []int64{1280, 900, 390, 320} {
		b.resize(look{width: width}, 844)
		for _, path := range []string{"/timeline", "/search"} {
			b.open(path)
			if tooWide := get[string](b, `[...document.querySelectorAll(".side a, .side input, .side summary, main *")]
				.filter(e => e.checkVisibility() && !e.closest(".tabs") && !e.closest(".unseen") && e.getBoundingClientRect().right > innerWidth + 1)
				.map(e => e.outerHTML.slice(0, 80)).join("\n")`); tooWide != "" {
				t.Errorf("%s at a width of %d has elements that are too wide:\n%s", path, width, tooWide)
			}
			if !get[bool](b, `document.querySelector('.side a[href="/search"]').checkVisibility()`) {
				t.Errorf("%s at a width of %d has no link to the search in its menu", path, width)
			}
		}
		for _, path := range []string{"/home", "/settings/profile", "/settings/delete", "/u/ada", "/about"} {
			b.open(path)
			if get[bool](b, `(() => {
				const [a, b] = ["main", ".sidebar"].map(e => document.querySelector(e).getBoundingClientRect());
				return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
			})()`) {
				t.Errorf("%s at a width of %d: the sidebar lies over the page", path, width)
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

// TestPeopleToFollow dismisses a suggested person and follows another.
func TestPeopleToFollow(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t, "--demo"))
	b.signUp("newcomer")
	b.open("/explore/people")
	names := b.texts("main .people .name")
	if len(names) < 2 {
		t.Fatalf("the page suggests %q, want at least two people", names)
	}
	b.click(`main .people form[action$="/dismiss"] button`)
	b.wantPath("/explore/people")
	if got := b.texts("main .people .name"); strings.Join(got, " ") == strings.Join(names, " ") {
		t.Errorf("after a dismissal, the page shows the same suggestions: %q", got)
	}
	b.do(`window.isSamePage = true`)
	b.press(`main .people form[action$="/follow"] button`)
	b.until("the person is followed", func() bool { return b.has(`main .people form[action$="/unfollow"] .undo`) })
	b.press(`main .people form[action$="/unfollow"] button`)
	b.until("the person is no longer followed", func() bool { return !b.has(`main .people form[action$="/unfollow"]`) })
	b.press(`main .people form[action$="/follow"] button`)
	b.until("the person is followed", func() bool { return b.has(`main .people form[action$="/unfollow"] .undo`) })
	if !get[bool](b, `window.isSamePage === true`) {
		t.Error("the follow button has loaded another page")
	}
	b.open("/u/newcomer/following")
	if got := b.texts("main .people li"); len(got) != 1 {
		t.Errorf("the user follows %q, want one person", got)
	}
}

// TestSearchBox checks that the search box offers people, tags and a search for posts, which can be
// chosen with the keyboard.
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
		t.Errorf("the box offers %q, want %q", got, want)
	}
	if b.attribute(box, "role") != "combobox" || b.attribute(box, "aria-expanded") != "true" || b.attribute(box, "aria-activedescendant") != "none" {
		t.Error("the box lacks the ARIA attributes of a combobox")
	}
	b.run(chromedp.SendKeys(chromedp.CSS(box), kb.ArrowDown))
	if got := b.attribute(box, "aria-activedescendant"); got != "q-completion-0" {
		t.Errorf("the arrow key down chooses %q, want the first completion", got)
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
			t.Errorf("after the keys %q, the search is for posts only: %v, want %v", keys, isPosts, !isPosts)
		}
	}
}
