package main

import (
	"fmt"
	"image/color"
	"os"
	"runtime"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// report has the results of the site.
type report struct {
	opt   options
	site  *site
	pages []pageResult
	fan   fanResult
}

func (r report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, `## Pages

The server writes an append-only file with fsync every second.
%d users, %d follows and %d posts. %d keep-alive connections, each
requesting a page when it has received the one before; for /home each is logged in as
a different user. For comparison, a net/http handler that serves the same bytes from
memory. Medians of %d rounds of %v for each side.

| | bytes | requests/s | mean | p50 | p99 | from memory | ratio |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`, r.opt.users, 20*r.opt.users, 10*r.opt.users, connections, r.opt.rounds, r.opt.length)
	for _, p := range r.pages {
		bytes, memory, ratio := "", "", ""
		if p.compare {
			bytes, memory, ratio = thousands(p.bytes), thousands(int(p.memory.perSecond)), fmt.Sprintf("**%.2f**", p.ratio)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", p.name, bytes, thousands(int(p.retwis.perSecond)),
			milliseconds(p.retwis.mean), milliseconds(p.retwis.p50), milliseconds(p.retwis.p99), memory, ratio)
	}
	fmt.Fprintf(&b, `
![Requests per second, by Retwis and from memory](benchmarks.svg)

## A post to %s followers

| | |
| --- | ---: |
| server time for each follower | %.2f µs |
| until every follower has it | %s |
| p99 of other requests without a fan-out | %s |
| p99 of other requests during fan-outs | %s |
| ratio, median of %d rounds | **%.2f** |

The other requests read the second page of /home, which queries the server each time,
500 times per second.
`, thousands(r.opt.followers), r.fan.perFollower, r.fan.elapsed.Round(time.Millisecond),
		milliseconds(r.fan.idle.p99), milliseconds(r.fan.busy.p99), r.opt.rounds, r.fan.ratio)
	return b.String()
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// cpu returns the name of the processor if the system has it.
func cpu() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return runtime.GOARCH
}

// draw plots the pages next to the same bytes from memory.
func (r report) draw(path string) error {
	p := plot.New()
	p.Title.Text = "Requests per second"
	p.Y.Min = 0
	var retwis, memory plotter.Values
	var names []string
	for _, page := range r.pages {
		if page.compare {
			retwis = append(retwis, page.retwis.perSecond)
			memory = append(memory, page.memory.perSecond)
			name, _, _ := strings.Cut(page.name, ",")
			names = append(names, name)
		}
	}
	width := vg.Points(46)
	for i, side := range []struct {
		name   string
		values plotter.Values
		color  color.Color
	}{
		{"Retwis", retwis, color.RGBA{15, 107, 92, 255}},
		{"the same bytes from memory", memory, color.RGBA{200, 205, 204, 255}},
	} {
		bars, err := plotter.NewBarChart(side.values, width)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = side.color, 0
		bars.Offset = width * vg.Length(i*2-1) / 2
		p.Add(bars)
		p.Legend.Add(side.name, bars)
	}
	p.Legend.Top = true
	p.NominalX(names...)
	p.Y.Max *= 1.25
	return p.Save(6*vg.Inch, 3.5*vg.Inch, path)
}
