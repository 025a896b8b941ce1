package e2e

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// look is a screen and a color scheme in which a page is shown.
type look struct {
	screen, scheme string
	width, height  int64
	options        []chromedp.EmulateViewportOption
}

// looks are the looks of the screenshots in docs.
var looks = []look{
	{"desktop", "light", 1280, 860, nil},
	{"desktop", "dark", 1280, 860, nil},
	{"phone", "dark", 390, 844, []chromedp.EmulateViewportOption{chromedp.EmulateMobile}},
	{"phone", "light", 390, 844, []chromedp.EmulateViewportOption{chromedp.EmulateMobile}},
}

// colorScheme sets the color scheme, without transitions.
func colorScheme(scheme string) action {
	return command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// use shows the page in a look. The viewport is as high as the page, so that fixed elements cover
// no others.
func (b *browser) use(l look) {
	b.t.Helper()
	b.run(colorScheme(l.scheme))
	if height := b.resize(l, l.height); height > l.height {
		b.resize(l, height)
	}
}

// resize resizes the viewport and returns the height of the content.
func (b *browser) resize(l look, height int64) int64 {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(l.width, height, l.options...))
	// On a phone, content that is too wide increases innerWidth, but does not affect matchMedia.
	size := fmt.Sprintf("(width: %dpx) and (height: %dpx)", l.width, height)
	b.until("the page has the size "+size, func() bool { return get[bool](b, fmt.Sprintf(`matchMedia(%q).matches`, size)) })
	return get[int64](b, `document.documentElement.scrollHeight`)
}

// pageChecker checks pages with axe-core. With the build tag long, it also takes pictures.
type pageChecker struct {
	axe   string
	looks []look
	album
}

// newPageChecker reads axe-core and returns a pageChecker.
func newPageChecker() (pageChecker, error) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		err = fmt.Errorf("%w; run make e2e, or npm ci in e2e", err)
	}
	return pageChecker{axe: string(axe) + ";true", looks: checkedLooks, album: newAlbum()}, err
}

// check checks the current page in all looks: the page must fit the screen, and axe-core must
// report no problem in the elements that match the selector. An open menu needs a selector, because
// the menu covers other elements.
func (c pageChecker) check(b *browser, name, selector string) {
	b.t.Helper()
	if get[bool](b, `typeof axe === "undefined"`) {
		b.do(c.axe)
	}
	var shots [][]byte
	checked := map[string]bool{} // by screen
	for _, l := range c.looks {
		b.use(l)
		where := fmt.Sprintf("%s (%s) on a %s in %s mode", name, b.path(), l.screen, l.scheme)
		if get[bool](b, `document.documentElement.scrollWidth > document.documentElement.clientWidth`) {
			b.t.Errorf("%s is wider than the screen", where)
		}
		// Only colors differ between light and dark.
		for _, found := range b.findings(selector, checked[l.screen]) {
			b.t.Errorf("%s: %s", where, found)
		}
		checked[l.screen] = true
		shots = append(shots, c.capture(b))
	}
	c.save(b, name, shots)
}

// finding is a result of axe-core.
type finding struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// findings returns the violations, and the contrasts that axe-core cannot compute, such as text that
// has the color of its background.
func (b *browser) findings(selector string, colorsOnly bool) []string {
	b.t.Helper()
	options := `{resultTypes: ["violations", "incomplete"], preload: false, rules: {"target-size": {enabled: true}}`
	if colorsOnly {
		options += `, runOnly: ["color-contrast"]`
	}
	script := fmt.Sprintf(`(async () => {
		const found = await axe.run(%q, %s});
		const all = found.violations;
		for (const rule of found.incomplete.filter(i => i.id === "color-contrast")) {
			const unclear = [];
			for (const node of rule.nodes) unclear.push(...await contrast(node));
			if (unclear.length > 0) all.push({...rule, nodes: unclear});
		}
		return JSON.stringify(all);

		// contrast repeats the computation: for text in a menu or dialog, with the page below hidden; for
		// a cut-off tab, scrolled into view; for other text, without white space beyond the line.
		async function contrast(node) {
			const text = document.querySelector(node.target[0]), row = text.closest(".tabs"), over = text.closest(".menu-items, dialog");
			const scrolled = row?.scrollLeft;
			if (over !== null) {
				document.body.style.visibility = "hidden";
				over.style.visibility = "visible";
			} else if (row !== null) {
				text.scrollIntoView({inline: "center", block: "nearest", behavior: "instant"});
			} else {
				text.style.whiteSpace = "normal";
			}
			const rerun = await axe.run(text, {runOnly: ["color-contrast"], preload: false});
			document.body.style.visibility = text.style.whiteSpace = "";
			if (over !== null) over.style.visibility = "";
			if (row !== null) row.scrollLeft = scrolled;
			return [...rerun.violations, ...rerun.incomplete].flatMap(rule => rule.nodes);
		}
	})()`, selector, options)
	var results []finding
	if err := json.Unmarshal([]byte(get[string](b, script, chromedp.EvalAwaitPromise)), &results); err != nil {
		b.t.Fatal(err)
	}
	var texts []string
	for _, f := range results {
		for _, node := range f.Nodes {
			texts = append(texts, fmt.Sprintf("%s: %s\n\t%s\n\t%s", f.ID, f.Help, node.HTML, node.Summary))
		}
	}
	return texts
}
