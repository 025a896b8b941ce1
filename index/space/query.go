package space

import (
	"context"
	"iter"

	"retwis/index"
	"retwis/index/internal/ranged"
)

// Select yields exactly the points in a box, ends included, in curve order. Eight ranges cover
// the box, and one round trip reads up to a hundred points of each range, which is all of a
// small box. If a range has more points, the rest is read in up to Options.MaxRanges finer
// ranges: one more round trip, and another for each 500 points of a range. With a small Limit
// the first two ranges are read first.
//
// The finer ranges of a long and thin box can still contain many points outside of the box.
// Select estimates their number. If there are more than a thousand, a script skips the gaps
// within the ranges that have more points than a skip costs (a skip scan), 128 pieces per round
// trip.
//
// A point that is put, moved or removed during the query may or may not be yielded, but never
// partially; a point that is moved forward may be yielded twice.
func (x *Index) Select(ctx context.Context, box Box, page index.Page) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		blocks, err := x.reader.points.blocksOf(box)
		if err != nil {
			yield(Entry{}, x.reader.wrap(err))
			return
		}
		if len(blocks) > 0 {
			r := x.reader.points.regionOf(blocks)
			x.reader.yieldRegion(ctx, &r, page, yield)
		}
	}
}

// All yields all points in curve order.
func (x *Index) All(ctx context.Context, page index.Page) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		q := ranged.Query{Limit: page.Limit, Offset: page.Offset, Reverse: page.Reverse, After: page.After}
		for item, err := range x.reader.entries.Select(ctx, q) {
			var e Entry
			if err == nil {
				e, err = x.reader.points.entry(item.ID, item.Member)
				err = x.reader.entries.Wrap(ctx, err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// yieldRegion yields the points of a page of a region.
func (x *reader) yieldRegion(ctx context.Context, r *region, page index.Page, yield func(Entry, error) bool) {
	keep := x.points.keep(r)
	var buffer [maxDims]uint64
	codes := buffer[:len(x.points.axes)]
	skip, n := page.Offset, 0
	for member, err := range x.read(ctx, r, page, nil) {
		if err != nil {
			yield(Entry{}, err)
			return
		}
		if !keep(member) || x.points.readCodes(codes, member) != nil {
			continue // if not written by this index, Verify reports it
		}
		if skip > 0 {
			skip--
			continue
		}
		if n++; !yield(x.points.entryAt(member, codes), nil) || n == page.Limit {
			return
		}
	}
}

// countRanges is the factor by which Count uses more ranges than a query: the server counts the
// points of a range inside the box without reading the points.
const countRanges = 8

// Count returns the exact number of points in a box. The server counts the ranges inside the
// box, O(log n) each; only the ranges across its sides are read.
func (x *Index) Count(ctx context.Context, box Box) (int64, error) {
	blocks, err := x.reader.points.blocksOf(box)
	if err != nil {
		return 0, x.reader.wrap(err)
	}
	var total int64
	for i := range blocks {
		n, err := x.reader.countBlock(ctx, &blocks[i])
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// countBlock returns the number of points in a block.
func (x *reader) countBlock(ctx context.Context, b *block) (n int64, err error) {
	inside, crossing := x.points.countSpans(b)
	if len(inside) > 0 {
		if n, err = x.entries.Count(ctx, ranged.Query{Ranges: x.points.ranges(inside)}); err != nil {
			return 0, err
		}
	}
	if len(crossing) == 0 {
		return n, nil
	}
	r := region{blocks: []block{*b}}
	keep := x.points.keep(&r)
	for m, err := range x.entries.Select(ctx, ranged.Query{Ranges: x.points.ranges(crossing)}) {
		if err != nil {
			return 0, err
		}
		if keep(m.Member) {
			n++
		}
	}
	return n, nil
}

// countSpans cuts a box into ranges inside of it, and ranges across its sides, which are as
// small as possible.
func (x *points) countSpans(b *block) (inside, crossing []span) {
	t := newCutting(&x.layout, b.low, x.coverHigh(b), func(c *cell) float64 {
		if x.layout.full(c) {
			return 0
		}
		return c.length
	})
	for cuts := 0; len(t.queue) > 0 && cuts < x.maxRanges*countRanges; cuts++ {
		t.cut()
	}
	wasInside := false
	for i := 0; i >= 0; i = t.cells[i].next {
		c := &t.cells[i]
		list := &crossing
		if x.layout.full(c) {
			list = &inside
		}
		if n := len(*list); n > 0 && c.gap == 0 && wasInside == (list == &inside) {
			(*list)[n-1].high = c.high
		} else {
			*list = append(*list, span{low: c.low, high: c.high})
		}
		wasInside = list == &inside
	}
	return inside, crossing
}

// estimate returns approximately how many points of ranges are in the box, assuming that
// points are evenly distributed in each range: one round trip.
func (x *reader) estimate(ctx context.Context, spans []span) (float64, error) {
	counts, err := x.counts(ctx, x.points.ranges(spans))
	if err != nil {
		return 0, err
	}
	total := 0.0
	for i, s := range spans {
		total += float64(counts[i]) * min(1, s.volume/s.length)
	}
	return total, nil
}
