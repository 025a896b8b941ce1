package space

import (
	"fmt"
	"math/bits"
	"slices"

	"retwis/index"
)

// Box is a condition on points: one side for each dimension, in order.
type Box []Side

// Side is the range of a box in one dimension. Both ends are included; nil is open. The
// accepted types are those of the dimension, but an end may be outside of its range or
// have more digits. In an index with GeoDims, a longitude that ends before it begins
// goes across the 180th meridian; elsewhere such a side is refused.
type Side struct{ Min, Max any }

// block is a box as places on the axes.
type block struct {
	low, high []uint64 // codes
	exact     []exactSide
	from, to  []uint64 // the numbers of its least and greatest corner
}

// exactSide is a side of floats, which codes do not distinguish exactly.
type exactSide struct {
	dim       int
	at        int // in a member
	low, high uint64
}

// blockOf returns a box as a block, or false if no point can be in it.
func (x *points) blockOf(box Box) (block, bool, error) {
	if len(box) != len(x.axes) {
		return block{}, false, fmt.Errorf("%w: the box has %d sides for %d dimensions", index.ErrValue, len(box), len(x.axes))
	}
	low, high := make([]place, len(box)), make([]place, len(box))
	empty := false
	for d := range x.axes {
		nothing, err := x.sideOf(d, box[d], &low[d], &high[d])
		if err != nil {
			return block{}, false, fmt.Errorf("%w: dimension %s: %w", index.ErrValue, x.axes[d].Name, err)
		}
		empty = empty || nothing
	}
	return x.block(low, high), !empty, nil
}

// blocksOf returns a box as blocks: none if no point can be in it, and two for a box on
// earth across the 180th meridian.
func (x *points) blocksOf(box Box) ([]block, error) {
	var blocks []block
	for _, b := range x.halves(box) {
		b, some, err := x.blockOf(b)
		if err != nil {
			return nil, err
		}
		if some {
			blocks = append(blocks, b)
		}
	}
	return blocks, nil
}

// halves splits a box on earth across the 180th meridian, whose longitude ends before it
// begins. It returns all other boxes as they are.
func (x *points) halves(box Box) []Box {
	if !x.isGeo() || len(box) != len(x.axes) || box[1].Min == nil || box[1].Max == nil {
		return []Box{box}
	}
	// Both rounded down, so that ends between the same two values are equal.
	west, beyond, err := x.axes[1].bound(box[1].Min, false)
	if err != nil || beyond != 0 {
		return []Box{box}
	}
	east, beyond, err := x.axes[1].bound(box[1].Max, false)
	if err != nil || beyond != 0 || west.code <= east.code {
		return []Box{box}
	}
	return []Box{{box[0], {Min: box[1].Min}}, {box[0], {Max: box[1].Max}}}
}

// sideOf sets the ends of a side, and reports whether no value is between them.
func (x *points) sideOf(d int, s Side, low, high *place) (empty bool, err error) {
	a := &x.axes[d]
	*low, *high = a.least(), a.greatest()
	lowSide, highSide := -1, 1
	if s.Min != nil {
		var p place
		if p, lowSide, err = a.bound(s.Min, true); err != nil {
			return false, err
		}
		if lowSide == 0 {
			*low = p
		}
	}
	if s.Max != nil {
		var p place
		if p, highSide, err = a.bound(s.Max, false); err != nil {
			return false, err
		}
		if highSide == 0 {
			*high = p
		}
	}
	if lowSide > 0 || highSide < 0 {
		return true, nil
	}
	if low.code <= high.code && low.exact <= high.exact {
		return false, nil
	}
	// No value is between two neighbours; but ends in reverse order are a mistake.
	if down, _, err := a.bound(s.Min, false); err != nil || down.code > high.code || a.Type == Float || a.Type == Time {
		return false, fmt.Errorf("%s..%s ends before it begins", a.format(s.Min), a.format(s.Max))
	}
	return true, nil
}

// block returns the box between two corners.
func (x *points) block(low, high []place) block {
	b := block{low: make([]uint64, len(low)), high: make([]uint64, len(low))}
	at := x.layout.bytes
	for d := range x.axes {
		b.low[d], b.high[d] = low[d].code, high[d].code
		if x.axes[d].Type == Float {
			b.exact = append(b.exact, exactSide{d, at, low[d].exact, high[d].exact})
			at += 8
		}
	}
	b.from, b.to = x.layout.interleave(b.low), x.layout.interleave(b.high)
	return b
}

// open returns the greatest codes of a block, for covering it. At the end of the range
// of a dimension it goes up to a power of two: there are no points to leave out.
func (x *points) open(b *block) []uint64 {
	high := slices.Clone(b.high)
	for d := range high {
		if span := x.axes[d].span; high[d] == span {
			high[d] = lowBits(bits.Len64(span))
		}
	}
	return high
}

// holds reports whether a member is in the block, given its number.
func (x *points) holds(b *block, z []uint64, member string) bool {
	if !x.layout.within(z, b.from, b.to) {
		return false
	}
	for i := range b.exact {
		e := &b.exact[i]
		if v := exactAt(member, e.at); v < e.low || v > e.high {
			return false
		}
	}
	return true
}

// surely reports whether all points of a cell are in the block, also floats that their
// codes do not distinguish.
func (x *points) surely(b *block, c *cell) bool {
	if !x.layout.full(c) {
		return false
	}
	for _, e := range b.exact {
		a := &x.axes[e.dim]
		if c.min[e.dim] == b.low[e.dim] && e.low != a.least().exact ||
			c.max[e.dim] >= b.high[e.dim] && e.high != a.greatest().exact {
			return false
		}
	}
	return true
}

// region is what a query reads: disjoint blocks, and the ranges that cover them.
type region struct {
	blocks []block
	coarse []span                   // few ranges
	spans  []span                   // up to MaxRanges of them, once the query needs these
	pieces []span                   // of the spans, for a skip scan; nil: none
	also   func(member string) bool // a further filter; nil: none
}

// regionOf covers blocks with a few ranges.
func (x *points) regionOf(blocks []block) region {
	return region{blocks: blocks, coarse: x.covering(blocks, min(coarseRanges, x.maxRanges))}
}

// covering covers blocks with at most n ranges, or one for each.
func (x *points) covering(blocks []block, n int) []span {
	var spans []span
	for i := range blocks {
		spans = append(spans, x.layout.cover(blocks[i].low, x.open(&blocks[i]), max(1, n/len(blocks)))...)
	}
	if len(blocks) > 1 {
		spans = x.conversion().joinOverlaps(spans)
	}
	return spans
}

// keep returns a filter for the members in the region. It is for one reader at a time.
func (x *points) keep(r *region) func(member string) bool {
	z := make([]uint64, x.layout.words)
	return func(member string) bool {
		if len(member) < x.head {
			return false
		}
		x.layout.read(z, member)
		for i := range r.blocks {
			if x.holds(&r.blocks[i], z, member) {
				return r.also == nil || r.also(member)
			}
		}
		return false
	}
}
