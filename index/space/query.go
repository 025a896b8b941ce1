package space

import (
	"context"
	"iter"
	"slices"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/scan"
)

// Query yields exactly the points in a box, its ends included, in the order of
// the curve. All ranges that cover the box are asked in one round trip, for their
// first hundred points each; a range with more of them takes another round trip
// for each 500. With a small Limit the first few ranges are asked first.
//
// Of a long and thin box the ranges hold much that is beside it. That is counted
// first, and if it is more than a thousand points, a script jumps within the ranges
// over all gaps that hold more points than a jump is worth, 512 of them in a round
// trip.
//
// A point that others put, move or remove while it reads is seen or not, and
// never half; one that they move ahead of the reader can be seen twice.
func (x *Index) Query(ctx context.Context, box Box, page index.Page) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		blocks, err := x.blocksOf(box)
		if err != nil {
			yield(Entry{}, x.named(err))
			return
		}
		if len(blocks) > 0 {
			r := x.regionOf(blocks)
			x.yieldRegion(ctx, &r, page, yield)
		}
	}
}

// How many ranges are asked first for a small page.
const (
	fewRanges = 4
	smallPage = 100
)

// yieldRegion yields what is in a region.
func (x *Index) yieldRegion(ctx context.Context, r *region, page index.Page, yield func(Entry, error) bool) {
	ranges := ahead(x.ranges(r.spans), page)
	q := index.LexQuery{Page: page, Keep: x.keep(r)}
	if len(ranges) == 0 && page.After != "" {
		return
	}
	small := page.Limit > 0 && page.Limit+page.Offset <= smallPage
	if !small {
		if err := x.cutFinely(ctx, r); err != nil {
			yield(Entry{}, err)
			return
		}
		if r.pieces != nil {
			x.yieldJumps(ctx, r, q, yield)
			return
		}
	}
	if !small || len(ranges) <= fewRanges {
		q.Ranges = ranges
		x.yieldAll(ctx, q, yield)
		return
	}
	// A page is mostly filled by the first ranges of those left.
	if page.Reverse {
		q.Ranges, ranges = ranges[len(ranges)-fewRanges:], ranges[:len(ranges)-fewRanges]
	} else {
		q.Ranges, ranges = ranges[:fewRanges], ranges[fewRanges:]
	}
	kept := 0
	keep := q.Keep
	q.Keep = func(member string) bool {
		ok := keep(member)
		if ok {
			kept++
		}
		return ok
	}
	yielded, more := 0, true
	count := func(e Entry, err error) bool {
		if err == nil {
			yielded++
		}
		more = yield(e, err) && err == nil
		return more
	}
	if x.yieldAll(ctx, q, count); !more || yielded == page.Limit {
		return
	}
	q.Ranges, q.Limit, q.Offset = ranges, page.Limit-yielded, max(0, page.Offset-kept)
	x.yieldAll(ctx, q, count)
}

// yieldJumps yields what is in a region that is cut into pieces.
func (x *Index) yieldJumps(ctx context.Context, r *region, q index.LexQuery, yield func(Entry, error) bool) {
	for member, err := range x.jump(ctx, r, q.Page, q.Keep) {
		var e Entry
		if err == nil {
			var places [maxDims]place
			if x.readPlaces(places[:len(x.axes)], member) != nil {
				continue // not one that this index writes; Verify tells of it
			}
			e = x.entryAt(index.Member{ID: member[x.head:], Member: member}, places[:len(x.axes)])
		}
		if !yield(e, err) || err != nil {
			return
		}
	}
}

// ahead returns the ranges that are not behind a reader at the cursor of its page.
func ahead(ranges []index.LexRange, page index.Page) []index.LexRange {
	at, err := scan.DecodeCursor(page.After)
	if page.After == "" || err != nil {
		return ranges // a cursor that is none is refused where they are read
	}
	return slices.DeleteFunc(ranges, func(r index.LexRange) bool {
		if page.Reverse {
			return r.Min[1:] > at
		}
		return r.Max != "+" && r.Max[1:] <= at
	})
}

// yieldAll yields what a query of members finds.
func (x *Index) yieldAll(ctx context.Context, q index.LexQuery, yield func(Entry, error) bool) {
	for m, err := range x.lex.Select(ctx, q) {
		var e Entry
		if err == nil {
			if e, err = x.entry(m); err != nil {
				err = x.named(err)
			}
		}
		if !yield(e, err) || err != nil {
			return
		}
	}
}

// All yields all points in the order of the curve.
func (x *Index) All(ctx context.Context, page index.Page) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		x.yieldAll(ctx, index.LexQuery{Page: page}, yield)
	}
}

// countRanges is how many ranges there are to a count for each of a query: what
// is wholly in the box is counted by the server, so that it is worth it.
const countRanges = 8

// Count is how many points are in a box, exactly. What is wholly in the box is
// counted by the server, O(log n) for each range, and only what the curve shares
// with the outside along its sides is read.
func (x *Index) Count(ctx context.Context, box Box) (int64, error) {
	blocks, err := x.blocksOf(box)
	if err != nil {
		return 0, x.named(err)
	}
	var all int64
	for i := range blocks {
		n, err := x.countBlock(ctx, &blocks[i])
		if err != nil {
			return 0, err
		}
		all += n
	}
	return all, nil
}

func (x *Index) countBlock(ctx context.Context, b *block) (n int64, err error) {
	inside, shared := x.countSpans(b)
	if len(inside) > 0 {
		if n, err = x.lex.Count(ctx, index.LexQuery{Ranges: x.ranges(inside)}); err != nil {
			return 0, err
		}
	}
	if len(shared) == 0 {
		return n, nil
	}
	r := region{blocks: []block{*b}, spans: shared}
	for _, err := range x.lex.Select(ctx, index.LexQuery{Ranges: x.ranges(shared), Keep: x.keep(&r)}) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// countSpans cuts a box into ranges that are wholly in it and those that are not,
// so that little is in these.
func (x *Index) countSpans(b *block) (inside, shared []span) {
	t := newCutting(&x.layout, b.low, x.open(b), func(c *cell) float64 {
		if x.full(c) {
			return 0
		}
		return c.length
	})
	for cuts := 0; len(t.queue) > 0 && cuts < x.opt.MaxRanges*countRanges; cuts++ {
		t.cut()
	}
	wasInside := false
	for i := 0; i >= 0; i = t.cells[i].next {
		c := &t.cells[i]
		list := &shared
		if x.surely(b, c) {
			list = &inside
		}
		if n := len(*list); n > 0 && c.gap == 0 && wasInside == (list == &inside) {
			(*list)[n-1].high = c.high
		} else {
			*list = append(*list, span{low: c.low, high: c.high})
		}
		wasInside = list == &inside
	}
	return inside, shared
}

// Estimate is about how many points are in a box: the server counts what is in
// each range that a query would read, and of these so many are in the box as its
// share of the range. It is one round trip, O(log n) for each range, and exact
// where the ranges hold nothing else.
func (x *Index) Estimate(ctx context.Context, box Box) (int64, error) {
	blocks, err := x.blocksOf(box)
	if err != nil {
		return 0, x.named(err)
	}
	if len(blocks) == 0 {
		return 0, nil
	}
	r := x.regionOf(blocks)
	n, err := x.estimate(ctx, &r)
	return int64(n + 0.5), err
}

func (x *Index) estimate(ctx context.Context, r *region) (float64, error) {
	counts, err := x.counts(ctx, x.ranges(r.spans))
	if err != nil {
		return 0, err
	}
	total := 0.0
	for i, s := range r.spans {
		total += float64(counts[i]) * min(1, s.volume/s.length)
	}
	return total, nil
}

// counts is how many points are in each of some ranges: one round trip.
func (x *Index) counts(ctx context.Context, ranges []index.LexRange) ([]int64, error) {
	if err := x.set.Check(ctx); err != nil {
		return nil, x.named(err)
	}
	client := x.set.Client
	var commands rueidis.Commands
	for _, r := range ranges {
		for i := range x.set.Keys {
			commands = append(commands, client.B().Zlexcount().Key(x.set.Keys[i].Index).Min(r.Min).Max(r.Max).Build())
		}
	}
	counts := make([]int64, len(ranges))
	for i, reply := range client.DoMulti(ctx, commands...) {
		n, err := reply.AsInt64()
		if err != nil {
			return nil, x.named(x.set.Error(ctx, err))
		}
		counts[i/len(x.set.Keys)] += n
	}
	return counts, nil
}
