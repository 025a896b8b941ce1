//go:build long

package e2e

import (
	"bytes"
	"context"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// checkedLooks are the looks in which pages are checked.
var checkedLooks = append(slices.Clone(looks),
	look{"tablet", "light", 820, 1180, nil},
	look{"tablet", "dark", 820, 1180, nil},
	look{"wide screen", "light", 1680, 1050, nil},
	look{"wide screen", "dark", 1680, 1050, nil},
)

// cpuSlowdown is the CPU throttling rate of the simulated phone.
const cpuSlowdown = 4.0

// album takes pictures of pages. pictures is the directory for a contact sheet of each page, and
// screenshots is the directory for the screenshots in docs. No pictures are taken for an empty
// directory.
type album struct {
	pictures, screenshots string
}

// newAlbum returns an album with the directories PICTURES and SCREENSHOTS of the environment.
func newAlbum() album {
	return album{pictures: os.Getenv("PICTURES"), screenshots: os.Getenv("SCREENSHOTS")}
}

// capture takes a picture of the viewport.
func (a album) capture(b *browser) []byte {
	b.t.Helper()
	if a.pictures == "" {
		return nil
	}
	picture, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		size, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](`[innerWidth, innerHeight]`))
		if err != nil {
			return nil, err
		}
		shot, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{
			Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: 0.5},
		})
		return shot.Data, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return picture
}

// save writes the contact sheet of a page.
func (a album) save(b *browser, name string, shots [][]byte) {
	b.t.Helper()
	if a.pictures == "" {
		return
	}
	if err := writeSheet(filepath.Join(a.pictures, strings.ReplaceAll(name, " ", "-")+".png"), shots); err != nil {
		b.t.Fatal(err)
	}
}

// writeSheet writes a picture with the shots side by side.
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
	x := 0
	for _, part := range parts {
		draw.Draw(sheet, part.Bounds().Add(image.Pt(x, 0)), part, part.Bounds().Min, draw.Src)
		x += part.Bounds().Dx() + 8
	}
	var out bytes.Buffer
	if err := png.Encode(&out, sheet); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o600)
}

// pagesInDocs are the pages whose screenshots are in docs.
var pagesInDocs = []string{"home", "notifications", "profile", "thread"}

// screenshot takes the screenshots of a page for docs, if docs has screenshots of the page.
func (a album) screenshot(b *browser, name string) {
	b.t.Helper()
	if a.screenshots == "" || !slices.Contains(pagesInDocs, name) {
		return
	}
	for _, l := range looks {
		options := l.options
		if l.screen == "phone" {
			options = append(options, chromedp.EmulateScale(2))
		}
		b.run(chromedp.EmulateViewport(l.width, l.height, options...), colorScheme(l.scheme))
		shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(filepath.Join(a.screenshots, name+"-"+l.screen+"-"+l.scheme+".png"), shot, 0o600)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}
