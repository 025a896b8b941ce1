package space

import (
	"fmt"
	"iter"
	"math"

	"retwis/index"
)

// Plane is an Explanation seen in two dimensions, for a picture of it. Positions count
// the values of an Axis from 0 on, at its Min.
type Plane struct {
	Across, Up Axis
	// Boxes are what the query asked for: two if the box goes across the 180th meridian,
	// none if no point can be in it.
	Boxes []Rectangle
	// Inside are points that were read and returned, Outside those that were read and
	// skipped, 10,000 each at most. Sample are random points of the index.
	Inside, Outside, Sample []Position

	e    *Explanation
	dims [2]int
}

// Axis is a dimension of a Plane.
type Axis struct {
	Dim
	Size float64 // number of positions
	axis *axis
}

// Value returns the value at a position, which is rounded for all but floats.
func (a Axis) Value(at float64) any {
	if a.Type == Float {
		part := at / (1 << floatBits)
		return a.axis.low*(1-part) + a.axis.high*part
	}
	code := a.axis.span
	if at < float64(code) {
		code = uint64(math.Round(max(0, at)))
	}
	return a.axis.value(place{code: code})
}

// Position is a position on both axes.
type Position struct{ Across, Up float64 }

// Rectangle is a part of a Plane.
type Rectangle struct{ Left, Right, Bottom, Top float64 }

// Plane returns the explanation as seen in two of the dimensions, by their numbers.
func (e *Explanation) Plane(across, up int) (*Plane, error) {
	n := len(e.x.reader.points.axes)
	if across < 0 || up < 0 || across >= n || up >= n || across == up {
		return nil, e.x.reader.named(fmt.Errorf("%w: a plane needs two of the %d dimensions, not %d and %d", index.ErrValue, n, across, up))
	}
	p := &Plane{e: e, dims: [2]int{across, up}}
	p.Across, p.Up = e.x.reader.points.visible(across), e.x.reader.points.visible(up)
	for _, b := range e.blocks {
		p.Boxes = append(p.Boxes, p.rectangle(b.low, b.high))
	}
	p.Inside, p.Outside, p.Sample = p.positions(e.in), p.positions(e.over), p.positions(e.rest)
	return p, nil
}

func (x *points) visible(d int) Axis {
	a := &x.axes[d]
	return Axis{Dim: a.Dim, Size: float64(a.span) + 1, axis: a}
}

// rectangle returns the part of the plane between two corners, both included.
func (p *Plane) rectangle(low, high []uint64) Rectangle {
	across, up := p.dims[0], p.dims[1]
	return Rectangle{
		Left: float64(low[across]), Right: float64(high[across]) + 1,
		Bottom: float64(low[up]), Top: float64(high[up]) + 1,
	}
}

// positions returns the middles of the cells of points.
func (p *Plane) positions(points []point) []Position {
	all := make([]Position, len(points))
	for i, c := range points {
		all[i] = Position{float64(c[p.dims[0]]) + 0.5, float64(c[p.dims[1]]) + 0.5}
	}
	return all
}

// Squares yields the cells that the query reads.
func (p *Plane) Squares() iter.Seq[Rectangle] {
	return func(yield func(Rectangle) bool) {
		x := p.e.x
		low, high := make([]uint64, len(x.reader.points.axes)), make([]uint64, len(x.reader.points.axes))
		last := make([]uint64, x.reader.points.layout.words)
		for _, r := range p.e.pieces {
			for first, free := range x.reader.points.layout.squares(r.low, r.high) {
				copy(last, first)
				for i := range last {
					last[i] |= lowBits(free - 64*(x.reader.points.layout.words-1-i))
				}
				x.reader.points.layout.deinterleave(low, first)
				x.reader.points.layout.deinterleave(high, last)
				if !yield(p.rectangle(low, high)) {
					return
				}
			}
		}
	}
}
