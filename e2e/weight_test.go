package e2e

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// TestFirstVisit checks that a first visit loads at most 60 KB, including styles, scripts and visible
// avatars, and that the layout does not shift while the page loads. With the build tag long, the
// phone has a slow CPU.
func TestFirstVisit(t *testing.T) {
	t.Parallel()
	const maxBytes, maxShift = 60_000, 0.01
	site := serve(t, "--demo")
	b := newBrowser(t, site,
		command(network.Enable, network.EnableParams{}),
		command(network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}))
	for _, path := range []string{"/", "/timeline", "/explore/people", "/u/vera_holm", "/home", "/notifications"} {
		b.run(chromedp.EmulateViewport(1280, 900))
		if path == "/home" {
			b.logIn("demo", "demo-demo")
		}
		b.open(path)
		b.waitForImages()
		weight := get[float64](b, `(() => {
			const seen = new Set([...document.images].
				filter((image) => image.matches(".avatar") && image.getBoundingClientRect().top < innerHeight).
				map((image) => image.currentSrc));
			return performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource")).
				filter((entry) => entry.initiatorType !== "img" || seen.has(entry.name)).
				reduce((sum, entry) => sum + entry.transferSize, 0);
		})()`)
		if weight < 10_000 || weight > maxBytes {
			t.Errorf("%s loads %.0f bytes, want 10,000 to %d", path, weight, maxBytes)
		}
		for i, l := range looks[1:3] {
			b.run(
				chromedp.EmulateViewport(l.width, l.height, l.options...),
				command(emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 1 + float64(i)*(cpuSlowdown-1)}))
			b.open(path)
			b.waitForImages()
			shift := get[float64](b, `(() => {
				const observer = new PerformanceObserver(() => {});
				observer.observe({type: "layout-shift", buffered: true});
				return observer.takeRecords().reduce((sum, entry) => sum + entry.value, 0);
			})()`)
			if shift > maxShift {
				t.Errorf("%s has a layout shift of %.3f on a %s, want at most %v", path, shift, l.screen, maxShift)
			}
		}
		b.run(command(emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 1}))
		t.Logf("%s: %.0f bytes", path, weight)
	}
}

// waitForImages waits until all visible images are loaded.
func (b *browser) waitForImages() {
	b.t.Helper()
	b.until("the pictures are loaded", func() bool {
		return get[bool](b, `[...document.images].every((image) =>
			image.complete || !image.checkVisibility() || image.getBoundingClientRect().top > innerHeight)`)
	})
}
