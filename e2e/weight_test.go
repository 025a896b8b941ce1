package e2e

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// A first visit takes 60 KB at most, with all styles, scripts and the avatars in sight, and
// nothing moves while the page and its pictures are loaded: in the long run, by a phone with a slow
// processor.
func TestFirstVisit(t *testing.T) {
	t.Parallel()
	const most, moves = 60_000, 0.01
	site := serve(t, "--demo")
	b := newBrowser(t, site,
		command(network.Enable, network.EnableParams{}),
		command(network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}))
	for _, path := range []string{"/", "/timeline", "/explore/people", "/u/vera_holm", "/home", "/notifications"} {
		b.run(chromedp.EmulateViewport(1280, 900))
		if path == "/home" {
			b.enter("demo", "demo-demo")
		}
		b.open(path)
		b.seen()
		weight := get[float64](b, `(() => {
			const seen = new Set([...document.images].
				filter((one) => one.matches(".avatar") && one.getBoundingClientRect().top < innerHeight).
				map((one) => one.currentSrc));
			return performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource")).
				filter((one) => one.initiatorType !== "img" || seen.has(one.name)).
				reduce((sum, one) => sum + one.transferSize, 0);
		})()`)
		if weight < 10_000 || weight > most {
			t.Errorf("%s weighs %.0f bytes, want at most %d", path, weight, most)
		}
		for i, l := range looks[1:3] {
			b.run(
				chromedp.EmulateViewport(l.width, l.height, l.options...),
				command(emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 1 + float64(i)*(slowness-1)}))
			b.open(path)
			b.seen()
			shift := get[float64](b, `(() => {
				const observer = new PerformanceObserver(() => {});
				observer.observe({type: "layout-shift", buffered: true});
				return observer.takeRecords().reduce((sum, one) => sum + one.value, 0);
			})()`)
			if shift > moves {
				t.Errorf("%s moves by %.3f on a %s", path, shift, l.screen)
			}
		}
		b.run(command(emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 1}))
		t.Logf("%s: %.0f bytes", path, weight)
	}
}

// seen waits for the pictures that are in sight.
func (b *browser) seen() {
	b.t.Helper()
	b.until("the pictures are loaded", func() bool {
		return get[bool](b, `[...document.images].every((one) =>
			one.complete || !one.checkVisibility() || one.getBoundingClientRect().top > innerHeight)`)
	})
}
