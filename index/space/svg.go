package space

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// The picture, in pixels.
const (
	plot    = 480 // the longer side of what is shown
	left    = 64
	right   = 24
	top     = 24
	bottom  = 84
	minCell = 0.25 // smaller cells are not seen
)

// SVG draws the first two dimensions: the box, the squares that a query of it
// visits, the points that it returns, those that it reads and passes over, and a
// sample of the others. Where the box is less than a twentieth of the range in
// both dimensions, the picture shows its neighbourhood only. It suits light and
// dark pages. The first dimension goes across, but for GeoDims: a map has its
// latitude upwards.
func (e *Explanation) SVG(w io.Writer) error {
	if len(e.x.axes) < 2 {
		return errors.New("space: a picture needs two dimensions")
	}
	d := drawing{e: e, w: bufio.NewWriter(w), dims: [2]int{0, 1}}
	if _, err := e.x.Geo(); err == nil {
		d.dims = [2]int{1, 0}
	}
	d.frame()
	d.head()
	d.squares()
	d.box()
	d.dots("rest", e.rest)
	d.dots("over", e.over)
	d.dots("in", e.in)
	d.axes()
	d.legend()
	d.printf("</svg>\n")
	return d.w.Flush()
}

// drawing is a picture under way.
type drawing struct {
	e             *Explanation
	w             *bufio.Writer
	dims          [2]int     // which goes across, and which up
	low, high     [2]float64 // codes that are shown, across and up
	width, height float64
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d.w, format, args...) }

// frame decides what is shown.
func (d *drawing) frame() {
	near := true
	b := &d.e.block
	for i, dim := range d.dims {
		d.high[i] = float64(d.e.x.axes[dim].span)
		near = near && float64(b.high[dim])-float64(b.low[dim]) < d.high[i]/20
	}
	d.width, d.height = plot, plot
	if !near {
		return
	}
	for i, dim := range d.dims {
		low, high := float64(b.low[dim]), float64(b.high[dim])
		margin := max(0, 1.5*(high-low+1))
		d.low[i], d.high[i] = max(0, low-margin), min(d.high[i], high+margin)
	}
}

// at is where a code is drawn: across, or with i = 1 up.
func (d *drawing) at(i int, code float64) float64 {
	share := (code - d.low[i]) / (d.high[i] + 1 - d.low[i])
	share = max(-0.01, min(1.01, share)) // a little beyond is enough, and clipped
	if i == 0 {
		return left + share*d.width
	}
	return top + (1-share)*d.height
}

// A style of its own for each: the colours are told apart in grey too.
const style = `<style>
.page{fill:#fff}.ink{fill:#24302e}.soft{fill:#5c6966}
text{font:13px system-ui,sans-serif;fill:#24302e}.soft{font-size:12px}
.frame{fill:none;stroke:#9aa6a3}.square{fill:#0f6b5c;fill-opacity:.13;stroke:#0f6b5c;stroke-opacity:.35;stroke-width:.6}
.box{fill:none;stroke:#1d4ed8;stroke-width:2}
.rest,.over,.in{fill:none;stroke-linecap:round;stroke-width:3}
.rest{stroke:#aab4b2;stroke-width:2.4}.over{stroke:#d97706;stroke-width:4}.in{stroke:#0b5345;stroke-width:4}
@media (prefers-color-scheme:dark){
.page{fill:#12191a}text{fill:#e3eae8}.soft{fill:#9fb0ac}.frame{stroke:#54625f}
.square{fill:#3fc4a8;fill-opacity:.14;stroke:#3fc4a8;stroke-opacity:.4}
.box{stroke:#7aa2ff}.rest{stroke:#56625f}.over{stroke:#f5a742}.in{stroke:#5fe0c2}}
</style>
`

func (d *drawing) head() {
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`+"\n",
		left+d.width+right, top+d.height+bottom, left+d.width+right, top+d.height+bottom)
	d.printf("<title>%s</title>\n", escaped(d.summary()))
	d.printf("%s", style)
	d.printf(`<clipPath id="plot"><rect x="%d" y="%d" width="%.0f" height="%.0f"/></clipPath>`+"\n", left, top, d.width, d.height)
	d.printf(`<rect class="page" width="100%%" height="100%%"/>` + "\n")
}

func (d *drawing) squares() {
	d.printf(`<path class="square" clip-path="url(#plot)" d="`)
	x := d.e.x
	low, high := make([]uint64, len(x.axes)), make([]uint64, len(x.axes))
	last := make([]uint64, x.words)
	for _, r := range d.e.pieces {
		x.layout.squares(r.low, r.high, func(first []uint64, free int) {
			copy(last, first)
			for i := range last {
				last[i] |= lowBits(free - 64*(x.words-1-i))
			}
			x.unweave(low, first)
			x.unweave(high, last)
			x0, y0, x1, y1 := d.rectangle(low, high)
			if x1-x0 >= minCell && y1-y0 >= minCell {
				d.printf("M%.1f %.1fH%.1fV%.1fH%.1fZ", x0, y0, x1, y1, x0)
			}
		})
	}
	d.printf(`"/>` + "\n")
}

// rectangle is where what lies between two corners is drawn.
func (d *drawing) rectangle(low, high []uint64) (x0, y0, x1, y1 float64) {
	across, up := d.dims[0], d.dims[1]
	return d.at(0, float64(low[across])), d.at(1, float64(high[up])+1), d.at(0, float64(high[across])+1), d.at(1, float64(low[up]))
}

func (d *drawing) box() {
	x0, y0, x1, y1 := d.rectangle(d.e.block.low, d.e.block.high)
	if x0 < x1 && y0 < y1 {
		d.printf(`<rect class="box" clip-path="url(#plot)" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n", x0, y0, max(1, x1-x0), max(1, y1-y0))
	}
}

func (d *drawing) dots(class string, dots []dot) {
	d.printf(`<path class="%s" clip-path="url(#plot)" d="`, class)
	for _, p := range dots {
		if x, y := float64(p[d.dims[0]]), float64(p[d.dims[1]]); x >= d.low[0] && x <= d.high[0] && y >= d.low[1] && y <= d.high[1] {
			d.printf("M%.1f %.1fh0", d.at(0, x+0.5), d.at(1, y+0.5))
		}
	}
	d.printf(`"/>` + "\n")
}

// axes draws the frame, and values at the quarters of each side.
func (d *drawing) axes() {
	d.printf(`<rect class="frame" x="%d" y="%d" width="%.0f" height="%.0f"/>`+"\n", left, top, d.width, d.height)
	for i := range 5 {
		x, y := left+d.width*float64(i)/4, top+d.height*float64(4-i)/4
		d.printf(`<text class="soft" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x, top+d.height+18, escaped(d.tick(0, i)))
		d.printf(`<text class="soft" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-8, y+4, escaped(d.tick(1, i)))
	}
	d.printf(`<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", left+d.width/2, top+d.height+36, escaped(d.e.x.axes[d.dims[0]].Name))
	d.printf(`<text x="%d" y="%d" text-anchor="start">%s</text>`+"\n", left-40, top-8, escaped(d.e.x.axes[d.dims[1]].Name))
}

// tick is the value at a quarter of a side.
func (d *drawing) tick(i, quarter int) string {
	a := &d.e.x.axes[d.dims[i]]
	code := d.low[i] + (d.high[i]-d.low[i])*float64(quarter)/4
	switch a.Type {
	case Float:
		part := code / (1 << floatBits)
		return fmt.Sprintf("%.4g", a.low*(1-part)+a.high*part)
	case Time:
		t := a.value(place{code: whole(code, a.span)}).(time.Time)
		if d.high[i]-d.low[i] < 4*86400e9 {
			return t.Format("15:04:05")
		}
		return t.Format("2006-01-02")
	case Decimal:
		text := a.format(a.value(place{code: whole(code, a.span)}))
		if a.Scale > 0 {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text
	}
	return a.format(a.value(place{code: whole(code, a.span)}))
}

// whole is a code that was calculated with.
func whole(code float64, span uint64) uint64 {
	if code >= float64(span) {
		return span
	}
	return uint64(math.Round(code))
}

// legend says which colour is what, and how much of it there is.
func (d *drawing) legend() {
	y := top + d.height + 66
	x := float64(left)
	for _, item := range []struct{ class, text string }{
		{"in", fmt.Sprintf("in the box: %d", d.e.Returned)},
		{"over", fmt.Sprintf("read, beside it: %d", d.e.Read-d.e.Returned)},
		{"rest", "others"},
	} {
		d.printf(`<path class="%s" style="stroke-width:7" d="M%.1f %.1fh0"/><text class="soft" x="%.1f" y="%.1f">%s</text>`+"\n",
			item.class, x, y-4, x+9, y, escaped(item.text))
		x += 28 + 6.4*float64(len(item.text))
	}
	d.printf(`<rect class="square" x="%.1f" y="%.1f" width="12" height="12"/><text class="soft" x="%.1f" y="%.1f">%s</text>`+"\n",
		x-5, y-10, x+13, y, escaped(d.summary()))
}

func (d *drawing) summary() string {
	ranges := "ranges"
	if len(d.e.Ranges) == 1 {
		ranges = "range"
	}
	return fmt.Sprintf("%d %s, %d squares", len(d.e.Ranges), ranges, d.e.Squares)
}

func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
