package site

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// chart shows pages next to the same bytes from memory.
type chart struct {
	names          []string
	retwis, memory plotter.Values
}

func (c *chart) add(name string, retwis, memory float64) {
	c.names, c.retwis, c.memory = append(c.names, name), append(c.retwis, retwis), append(c.memory, memory)
}

func (c *chart) draw(path string) error {
	p := plot.New()
	p.Title.Text = "Requests per second"
	p.Y.Min = 0
	width := vg.Points(46)
	for i, side := range []struct {
		name   string
		values plotter.Values
		color  color.Color
	}{
		{"Retwis", c.retwis, color.RGBA{15, 107, 92, 255}},
		{"the same bytes from memory", c.memory, color.RGBA{200, 205, 204, 255}},
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
	p.NominalX(c.names...)
	p.Y.Max *= 1.25
	return p.Save(6*vg.Inch, 3.5*vg.Inch, path)
}
