package e2e

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// look is a way in which a page is seen.
type look struct {
	screen, light string
	width, height int64
	options       []chromedp.EmulateViewportOption
}

var looks = []look{
	{"desktop", "light", 1280, 860, nil},
	{"desktop", "dark", 1280, 860, nil},
	{"phone", "dark", 390, 844, []chromedp.EmulateViewportOption{chromedp.EmulateMobile}},
	{"phone", "light", 390, 844, []chromedp.EmulateViewportOption{chromedp.EmulateMobile}},
}

// scheme is a colour scheme, without the transition to it.
func scheme(light string) action {
	return command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: light}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// use shows the page in a look, in its whole height: no part is below what is fixed to
// the edge of the screen.
func (b *browser) use(l look) {
	b.t.Helper()
	b.run(scheme(l.light))
	if height := b.resize(l, l.height); height > l.height {
		b.resize(l, height)
	}
}

// resize waits until the page has the size, and returns the height of what is in it.
func (b *browser) resize(l look, height int64) int64 {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(l.width, height, l.options...))
	// What is wider than the screen makes innerWidth larger on a phone, not this.
	size := fmt.Sprintf("(width: %dpx) and (height: %dpx)", l.width, height)
	b.until("the page has the size "+size, func() bool { return get[bool](b, fmt.Sprintf(`matchMedia(%q).matches`, size)) })
	return get[int64](b, `document.documentElement.scrollHeight`)
}

// judges looks at pages with axe-core, and draws them in the long run.
type judges struct {
	axe   string
	looks []look
	album
}

func newJudges() (judges, error) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		err = fmt.Errorf("%w; run npm ci in e2e, as make e2e does", err)
	}
	return judges{axe: string(axe) + ";true", looks: judged, album: newAlbum()}, err
}

// look judges the page that is shown in all looks, or only what a selector names: what
// is below an open menu is covered. It fits the screen, and axe-core finds nothing.
func (j judges) look(b *browser, name, selector string) {
	b.t.Helper()
	if get[bool](b, `typeof axe === "undefined"`) {
		b.do(j.axe)
	}
	var shots [][]byte
	seen := map[string]bool{}
	for _, l := range j.looks {
		b.use(l)
		what := fmt.Sprintf("%s (%s) on a %s in %s mode", name, b.path(), l.screen, l.light)
		if get[bool](b, `document.documentElement.scrollWidth > document.documentElement.clientWidth`) {
			b.t.Errorf("%s is wider than the screen", what)
		}
		// Colours alone differ between light and dark.
		for _, found := range b.findings(selector, seen[l.screen]) {
			b.t.Errorf("%s: %s", what, found)
		}
		seen[l.screen] = true
		shots = append(shots, j.draw(b))
	}
	j.keep(b, name, shots)
}

// finding is what axe-core reports about a page.
type finding struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// findings are the violations, and the contrasts that axe-core cannot compute: text of
// the colour of its ground is among those.
func (b *browser) findings(selector string, coloursOnly bool) []string {
	b.t.Helper()
	options := `{resultTypes: ["violations", "incomplete"], preload: false, rules: {"target-size": {enabled: true}}`
	if coloursOnly {
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

		// contrast computes it again without what is below a menu or a dialog; where a row of tabs is cut
		// off, with the tab in sight; and for other texts without blanks that hang out of their lines.
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
			const again = await axe.run(text, {runOnly: ["color-contrast"], preload: false});
			document.body.style.visibility = text.style.whiteSpace = "";
			if (over !== null) over.style.visibility = "";
			if (row !== null) row.scrollLeft = scrolled;
			return [...again.violations, ...again.incomplete].flatMap(rule => rule.nodes);
		}
	})()`, selector, options)
	var all []finding
	if err := json.Unmarshal([]byte(get[string](b, script, chromedp.EvalAwaitPromise)), &all); err != nil {
		b.t.Fatal(err)
	}
	var texts []string
	for _, f := range all {
		for _, node := range f.Nodes {
			texts = append(texts, fmt.Sprintf("%s: %s\n\t%s\n\t%s", f.ID, f.Help, node.HTML, node.Summary))
		}
	}
	return texts
}
