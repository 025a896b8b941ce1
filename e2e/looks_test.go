package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// screens are the viewports to test.
var screens = map[string]action{
	"desktop": chromedp.EmulateViewport(1280, 860),
	"phone":   chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile),
}

func scheme(name string) action {
	return command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
}

// looks are the pages to photograph, by name; the others only have to fit.
var looks = map[string]string{
	"home":          "/home",
	"thread":        "", // the first post that has replies; see find
	"notifications": "/notifications",
	"profile":       "/u/vera_holm",
}

// fits are the pages that have to fit their screen too.
var fits = []string{
	"/timeline", "/bookmarks", "/u/demo", "/u/demo/replies", "/u/demo/likes", "/u/demo/followers",
	"/settings/profile", "/settings/security", "/settings/notifications", "/settings/muted", "/settings/blocked", "/tag/redis",
}

// Each page fits its screen, in light and dark mode. SCREENSHOTS names the
// directory for screenshots: "make screenshots" writes those in docs.
func TestLooks(t *testing.T) {
	t.Parallel()
	site := serve(t, "--demo")
	out := os.Getenv("SCREENSHOTS")
	b := newBrowser(t, site)
	b.open("/")
	for screen, emulate := range screens {
		for _, light := range []string{"light", "dark"} {
			b.run(emulate, scheme(light))
			b.shoot("", "landing-"+screen+"-"+light, "/")
		}
	}
	b.open("/login")
	b.submit("main form", "username", "demo", "password", "demo-demo")
	b.wantPath("/home")
	thread := b.find()
	for screen, emulate := range screens {
		b.run(emulate)
		for _, path := range fits {
			b.shoot("", path+" on a "+screen, path)
		}
		for _, light := range []string{"light", "dark"} {
			b.run(scheme(light))
			for name, path := range looks {
				if name == "thread" {
					path = thread
				}
				b.shoot(out, name+"-"+screen+"-"+light, path)
			}
		}
	}
}

// find returns the address of a post that has replies.
func (b *browser) find() string {
	b.t.Helper()
	b.open("/timeline")
	return get(b, chromedp.Evaluate[string](`(() => {
		const posts = [...document.querySelectorAll(".post")].sort((a, b) => b.dataset.replies - a.dataset.replies);
		return new URL(posts[0].querySelector("a.when").href).pathname;
	})()`))
}

func (b *browser) shoot(out, name, path string) {
	b.t.Helper()
	b.open(path)
	if get(b, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`)) {
		b.t.Errorf("%s is wider than the screen", name)
	}
	if out == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(out, name+".png"), get(b, chromedp.CaptureScreenshot()), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// violation is a finding of axe-core.
type violation struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// axe-core reports no violation on any page, in light and dark mode.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("%v; run npm ci in e2e, as make e2e does", err)
	}
	site := serve(t, "--demo")
	b := newBrowser(t, site)
	for _, light := range []string{"light", "dark"} {
		b.run(scheme(light))
		for _, path := range []string{"/", "/register", "/login", "/timeline", "/u/vera_holm", "/nowhere"} {
			b.inspect(string(axe), path, light)
		}
	}
	b.open("/login")
	b.submit("main form", "username", "demo", "password", "wrong password")
	b.judge(string(axe), "a failed login")
	b.submit("main form", "username", "demo", "password", "demo-demo")
	for _, light := range []string{"light", "dark"} {
		b.run(scheme(light))
		for _, path := range []string{"/home", "/timeline", "/u/demo", "/u/vera_holm", "/u/vera_holm/likes", "/u/demo/followers", "/u/demo/following", "/notifications", "/bookmarks", "/tag/redis", "/settings/profile", "/settings/notifications", "/settings/muted", "/settings/blocked"} {
			b.inspect(string(axe), path, light)
		}
	}
}

func (b *browser) inspect(axe, path, light string) {
	b.t.Helper()
	b.open(path)
	b.judge(axe, path+" in "+light)
}

func (b *browser) judge(axe, what string) {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool](axe+"; true"))
	found := get(b, chromedp.Evaluate[string](`axe.run().then(r => JSON.stringify(r.violations))`, chromedp.EvalAwaitPromise))
	var violations []violation
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range violations {
		for _, node := range v.Nodes {
			b.t.Errorf("%s: %s (%s): %s\n\t%s\n\t%s", what, v.ID, v.Impact, v.Help, node.HTML, node.Summary)
		}
	}
}
