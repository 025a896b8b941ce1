package space

import (
	"fmt"
	"math/bits"
	"slices"

	"retwis/index"
)

// Box is a condition on points: one side per dimension, in order.
type Box []Side

// Side is the range of a box in one dimension. Both ends are inclusive; nil means open. The
// accepted types are those of the dimension, but an end may be outside of the range of the
// dimension or have more digits. In an index with GeoDims, a longitude side whose Min is
// greater than its Max crosses the 180th meridian; any other such side is refused.
type Side struct{ Min, Max any }

// block is a box in codes of the axes.
type block struct {
	low, high []uint64
	from, to  []uint64 // the interleaved numbers of the corners low and high
}

// blockOf converts a box to a block, or returns false if no point can be in it.
func (x *points) blockOf(box Box) (block, bool, error) {
	if len(box) != len(x.axes) {
		return block{}, false, fmt.Errorf("%w: the box has %d sides for %d dimensions", index.ErrValue, len(box), len(x.axes))
	}
	low, high := make([]uint64, len(box)), make([]uint64, len(box))
	empty := false
	for d := range x.axes {
		sideEmpty, err := x.axes[d].ends(box[d], &low[d], &high[d])
		if err != nil {
			return block{}, false, fmt.Errorf("%w: dimension %s: %w", index.ErrValue, x.axes[d].Name, err)
		}
		empty = empty || sideEmpty
	}
	return x.block(low, high), !empty, nil
}

// blocksOf converts a box to blocks: none if no point can be in the box, two if the box is on
// earth and crosses or touches the 180th meridian.
func (x *points) blocksOf(box Box) ([]block, error) {
	var blocks []block
	for _, b := range x.halves(box) {
		b, ok, err := x.blockOf(b)
		if err != nil {
			return nil, err
		}
		if ok {
			blocks = append(blocks, b)
		}
	}
	return blocks, nil
}

// halves splits a box on earth that crosses the 180th meridian, so that the longitude ends
// before it begins, or that touches the meridian: the longitudes 180 and -180 are the same.
// Other boxes are returned unchanged.
func (x *points) halves(box Box) []Box {
	if !x.geo || len(box) != len(x.axes) {
		return []Box{box}
	}
	lon, lat, side := &x.axes[1], box[0], box[1]
	var west, east uint64
	if empty, err := lon.ends(Side{Min: side.Min}, &west, new(uint64)); empty || err != nil {
		return []Box{box}
	}
	if empty, err := lon.ends(Side{Max: side.Max}, new(uint64), &east); empty || err != nil {
		return []Box{box}
	}
	crosses := false // a side without any value between its ends does not cross
	if side.Min != nil && side.Max != nil {
		floor, _, _ := lon.bound(side.Min, false) // the error was returned above
		crosses = floor > east
	}
	switch {
	case crosses:
		return []Box{{lat, {Min: side.Min}}, {lat, {Max: side.Max}}}
	case east == lon.span && west > 0:
		return []Box{box, {lat, {lon.Min, lon.Min}}}
	case west == 0 && east < lon.span:
		return []Box{box, {lat, {lon.Max, lon.Max}}}
	}
	return []Box{box}
}

// ends sets low and high to the codes of the ends of a side. empty reports whether there is no
// value between the ends.
func (a *axis) ends(s Side, low, high *uint64) (empty bool, err error) {
	*low, *high = 0, a.span
	lowSide, highSide := -1, 1
	if s.Min != nil {
		var code uint64
		if code, lowSide, err = a.bound(s.Min, true); err != nil {
			return false, err
		}
		if lowSide == 0 {
			*low = code
		}
	}
	if s.Max != nil {
		var code uint64
		if code, highSide, err = a.bound(s.Max, false); err != nil {
			return false, err
		}
		if highSide == 0 {
			*high = code
		}
	}
	if lowSide > 0 || highSide < 0 {
		return true, nil
	}
	if *low <= *high {
		return false, nil
	}
	// An empty range between two neighbouring values is valid; ends in reverse order are an
	// error.
	if floor, _, err := a.bound(s.Min, false); err != nil || floor > *high || a.Type == Time {
		return false, fmt.Errorf("%s..%s ends before it begins", a.format(s.Min), a.format(s.Max))
	}
	return true, nil
}

// block returns the block between two corners.
func (x *points) block(low, high []uint64) block {
	return block{low, high, x.layout.interleave(low), x.layout.interleave(high)}
}

// coverHigh returns the high codes with which to cover a block. A code at the end of a
// dimension is rounded up to a power of two minus 1, since there are no points beyond it.
func (x *points) coverHigh(b *block) []uint64 {
	high := slices.Clone(b.high)
	for d := range high {
		if span := x.axes[d].span; high[d] == span {
			high[d] = lowBits(bits.Len64(span))
		}
	}
	return high
}

// region describes what a query reads: disjoint blocks, and the ranges that cover them.
type region struct {
	blocks []block
	coarse []span                   // few ranges
	spans  []span                   // up to MaxRanges ranges; nil until the query needs them
	pieces []span                   // pieces of the spans for a skip scan; nil: no skip scan
	filter func(member string) bool // an additional filter; nil: none
}

// regionOf covers blocks with a few ranges.
func (x *points) regionOf(blocks []block) region {
	return region{blocks: blocks, coarse: x.covering(blocks, min(coarseRanges, x.maxRanges))}
}

// covering covers blocks with at most n ranges, but at least one per block.
func (x *points) covering(blocks []block, n int) []span {
	var spans []span
	for i := range blocks {
		spans = append(spans, x.layout.cover(blocks[i].low, x.coverHigh(&blocks[i]), max(1, n/len(blocks)))...)
	}
	if len(blocks) > 1 {
		spans = x.joinOverlaps(spans)
	}
	return spans
}

// keep returns a filter that accepts the members in the region. It is not safe for concurrent
// use.
func (x *points) keep(r *region) func(member string) bool {
	z := make([]uint64, x.layout.words)
	return func(member string) bool {
		if len(member) < x.head {
			return false
		}
		x.layout.read(z, member)
		for i := range r.blocks {
			if x.layout.within(z, r.blocks[i].from, r.blocks[i].to) {
				return r.filter == nil || r.filter(member)
			}
		}
		return false
	}
}
