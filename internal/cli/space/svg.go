package space

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"retwis/index/decimal"
	"retwis/index/space"
)

// The picture, in pixels.
const (
	plot    = 480 // the longer side of what is shown
	left    = 64
	right   = 24
	top     = 24
	bottom  = 84
	minCell = 0.25 // smaller cells are invisible
)

// drawSVG draws the first two dimensions of a query: the box, the squares that it
// reads, the points that it returns, those that it reads and skips, and a sample of the
// others. If the box is less than a twentieth of the range in both dimensions, the
// picture shows its neighbourhood only. It suits light and dark pages. The first
// dimension goes across, except on maps, which have the latitude upwards.
func drawSVG(w io.Writer, x *space.Index, e *space.Explanation) error {
	across, up := 0, 1
	if _, err := x.Geo(); err == nil {
		across, up = 1, 0
	}
	plane, err := e.Plane(across, up)
	if err != nil {
		return err
	}
	d := drawing{e: e, plane: plane, w: bufio.NewWriter(w)}
	d.frame()
	d.head()
	d.squares()
	d.box()
	d.dots("rest", plane.Sample)
	d.dots("over", plane.Outside)
	d.dots("in", plane.Inside)
	d.axes()
	d.legend()
	d.printf("</svg>\n")
	return d.w.Flush()
}

// drawing is a picture in progress.
type drawing struct {
	e             *space.Explanation
	plane         *space.Plane
	w             *bufio.Writer
	low, high     [2]float64 // the positions that are shown, across and up
	width, height float64
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d.w, format, args...) }

// axis returns the axis across or, with i = 1, up.
func (d *drawing) axis(i int) space.Axis { return [2]space.Axis{d.plane.Across, d.plane.Up}[i] }

// frame decides what is shown.
func (d *drawing) frame() {
	d.width, d.height = plot, plot
	for i := range d.high {
		d.high[i] = d.axis(i).Size - 1
	}
	if len(d.plane.Boxes) != 1 {
		return
	}
	only := d.plane.Boxes[0]
	box := [2][2]float64{{only.Left, only.Right}, {only.Bottom, only.Top}}
	near := true
	for i, side := range box {
		near = near && side[1]-1-side[0] < d.high[i]/20
	}
	if !near {
		return
	}
	for i, side := range box {
		margin := max(0, 1.5*(side[1]-side[0]))
		d.low[i], d.high[i] = max(0, side[0]-margin), min(d.high[i], side[1]-1+margin)
	}
}

// at returns where a position is drawn: across or, with i = 1, up.
func (d *drawing) at(i int, position float64) float64 {
	share := (position - d.low[i]) / (d.high[i] + 1 - d.low[i])
	share = max(-0.01, min(1.01, share)) // a little outside is enough, and clipped
	if i == 0 {
		return left + share*d.width
	}
	return top + (1-share)*d.height
}

// The colours differ in grey, too.
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
	for r := range d.plane.Squares() {
		x0, y0, x1, y1 := d.rectangle(r)
		if x1-x0 >= minCell && y1-y0 >= minCell {
			d.printf("M%.1f %.1fH%.1fV%.1fH%.1fZ", x0, y0, x1, y1, x0)
		}
	}
	d.printf(`"/>` + "\n")
}

// rectangle returns where a rectangle is drawn.
func (d *drawing) rectangle(r space.Rectangle) (x0, y0, x1, y1 float64) {
	return d.at(0, r.Left), d.at(1, r.Top), d.at(0, r.Right), d.at(1, r.Bottom)
}

func (d *drawing) box() {
	for _, box := range d.plane.Boxes {
		x0, y0, x1, y1 := d.rectangle(box)
		d.printf(`<rect class="box" clip-path="url(#plot)" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n", x0, y0, max(1, x1-x0), max(1, y1-y0))
	}
}

func (d *drawing) dots(class string, points []space.Position) {
	d.printf(`<path class="%s" clip-path="url(#plot)" d="`, class)
	for _, p := range points {
		if x, y := p.Across-0.5, p.Up-0.5; x >= d.low[0] && x <= d.high[0] && y >= d.low[1] && y <= d.high[1] {
			d.printf("M%.1f %.1fh0", d.at(0, p.Across), d.at(1, p.Up))
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
	d.printf(`<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", left+d.width/2, top+d.height+36, escaped(d.plane.Across.Name))
	d.printf(`<text x="%d" y="%d" text-anchor="start">%s</text>`+"\n", left-40, top-8, escaped(d.plane.Up.Name))
}

// tick formats the value at a quarter of a side.
func (d *drawing) tick(i, quarter int) string {
	switch v := d.axis(i).Value(d.low[i] + (d.high[i]-d.low[i])*float64(quarter)/4).(type) {
	case float64:
		return fmt.Sprintf("%.4g", v)
	case time.Time:
		if d.high[i]-d.low[i] < 4*86400e9 {
			return v.Format("15:04:05")
		}
		return v.Format("2006-01-02")
	case decimal.Decimal:
		text := v.String()
		if v.Scale() > 0 {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text
	default:
		return fmt.Sprint(v)
	}
}

// legend explains the colours, with numbers of points.
func (d *drawing) legend() {
	y := top + d.height + 66
	x := float64(left)
	for _, item := range []struct{ class, text string }{
		{"in", fmt.Sprintf("in the box: %d", d.e.Returned)},
		{"over", fmt.Sprintf("read, outside: %d", d.e.Read-d.e.Returned)},
		{"rest", "not read"},
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
