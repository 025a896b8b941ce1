package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
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

// more are looks of a contact sheet.
var more = []look{
	{"tablet", "light", 820, 1180, nil},
	{"tablet", "dark", 820, 1180, nil},
	{"wide screen", "light", 1680, 1050, nil},
	{"wide screen", "dark", 1680, 1050, nil},
}

func (l look) name() string { return l.screen + "-" + l.light }

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

// resize waits until the page has the size, and returns the height of what is in it. A
// page that is too wide never has it.
func (b *browser) resize(l look, height int64) int64 {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(l.width, height, l.options...))
	return get(b, chromedp.Evaluate[int64](fmt.Sprintf(`new Promise((done) => {
		let tries = 100;
		(function look() {
			if (innerWidth === %d && innerHeight === %d || --tries === 0) done(document.documentElement.scrollHeight);
			else setTimeout(look, 5);
		})();
	})`, l.width, height), chromedp.EvalAwaitPromise))
}

// judges looks at pages with axe-core.
type judges struct {
	axe   string
	looks []look
	// pictures is the directory for a contact sheet of each page, and screenshots that
	// for the screenshots in docs; empty for none.
	pictures, screenshots string
}

func newJudges() (judges, error) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		err = fmt.Errorf("%w; run npm ci in e2e, as make e2e does", err)
	}
	j := judges{axe: string(axe), looks: looks, pictures: os.Getenv("PICTURES"), screenshots: os.Getenv("SCREENSHOTS")}
	if j.pictures != "" {
		j.looks = append(slices.Clone(looks), more...)
	}
	return j, err
}

// look judges the page that is shown in all looks, or only what a selector names: what
// is below an open menu is covered. It fits the screen, and axe-core finds nothing.
func (j judges) look(b *browser, name, selector string) {
	b.t.Helper()
	if get(b, chromedp.Evaluate[string](`typeof axe`)) == "undefined" {
		get(b, chromedp.Evaluate[bool](j.axe+"; true"))
	}
	var shots [][]byte
	for _, l := range j.looks {
		b.use(l)
		what := fmt.Sprintf("%s (%s) on a %s in %s mode", name, b.path(), l.screen, l.light)
		if get(b, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`)) {
			b.t.Errorf("%s is wider than the screen", what)
		}
		for _, found := range b.findings(selector, l) {
			b.t.Errorf("%s: %s", what, found)
		}
		if j.pictures != "" {
			shots = append(shots, b.picture(0.5))
		}
	}
	if j.pictures != "" {
		if err := writeSheet(filepath.Join(j.pictures, strings.ReplaceAll(name, " ", "-")+".png"), shots); err != nil {
			b.t.Fatal(err)
		}
	}
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
// the colour of its ground is among those. Colours alone differ between light and dark.
func (b *browser) findings(selector string, l look) []string {
	b.t.Helper()
	options := `{resultTypes: ["violations", "incomplete"], preload: false, rules: {"target-size": {enabled: true}}`
	if l.light == "dark" {
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

		// contrast computes it again where a row of tabs is cut off, with the tab in sight.
		async function contrast(node) {
			const tab = document.querySelector(node.target[0]), row = tab.closest(".tabs");
			if (row === null) return [node];
			const before = row.scrollLeft;
			tab.scrollIntoView({inline: "center", block: "nearest", behavior: "instant"});
			const again = await axe.run(tab, {runOnly: ["color-contrast"], preload: false});
			row.scrollLeft = before;
			return [...again.violations, ...again.incomplete].flatMap(rule => rule.nodes);
		}
	})()`, selector, options)
	var all []finding
	if err := json.Unmarshal([]byte(get(b, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))), &all); err != nil {
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

// picture is a picture of the viewport, at a scale.
func (b *browser) picture(scale float64) []byte {
	b.t.Helper()
	return get(b, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		size, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](`[innerWidth, innerHeight]`))
		if err != nil {
			return nil, err
		}
		shot, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{
			Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: scale},
		})
		return shot.Data, err
	})
}

// writeSheet puts pictures side by side.
func writeSheet(path string, shots [][]byte) error {
	var parts []image.Image
	var size image.Point
	for _, shot := range shots {
		part, err := png.Decode(bytes.NewReader(shot))
		if err != nil {
			return err
		}
		parts = append(parts, part)
		size = image.Pt(size.X+part.Bounds().Dx()+8, max(size.Y, part.Bounds().Dy()))
	}
	sheet := image.NewRGBA(image.Rectangle{Max: size})
	at := 0
	for _, part := range parts {
		draw.Draw(sheet, part.Bounds().Add(image.Pt(at, 0)), part, part.Bounds().Min, draw.Src)
		at += part.Bounds().Dx() + 8
	}
	var to bytes.Buffer
	if err := png.Encode(&to, sheet); err != nil {
		return err
	}
	return os.WriteFile(path, to.Bytes(), 0o600)
}

// inDocs are the pages whose screenshots are in docs/.
var inDocs = []string{"home", "notifications", "profile", "thread"}

// shoot takes the screenshots of a page in docs.
func (j judges) shoot(b *browser, name string) {
	b.t.Helper()
	if j.screenshots == "" || !slices.Contains(inDocs, name) {
		return
	}
	for _, l := range looks {
		options := l.options
		if l.screen == "phone" {
			options = append(options, chromedp.EmulateScale(2))
		}
		b.run(chromedp.EmulateViewport(l.width, l.height, options...), scheme(l.light))
		path := filepath.Join(j.screenshots, name+"-"+l.name()+".png")
		if err := os.WriteFile(path, get(b, chromedp.CaptureScreenshot()), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}
