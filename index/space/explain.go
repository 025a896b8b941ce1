package space

import (
	"context"
	"iter"
	"slices"
	"sort"

	"github.com/redis/rueidis"

	"retwis/index"
)

// Explanation is what a query of a box reads.
type Explanation struct {
	Ranges   []RangeRead // in the order of the curve
	Squares  int         // number of aligned cells of the space in the ranges, without what is skipped
	Skips    int         // number of gaps in the ranges that the server skips
	Read     int64       // number of points in the ranges
	Returned int64       // number of them in the box
	// Expected is the share of the points read that would be outside of the box if
	// points were spread evenly. FalsePositives is what it was.
	Expected float64

	x        *Index
	blocks   []block
	pieces   []span  // that are read
	in, over []point // that were read
	rest     []point // a sample of all points
}

// RangeRead is a range of the curve, and what it holds.
type RangeRead struct {
	Low, High string // its ends, both included: bits as zeros and ones
	Squares   int    // number of its cells, without what is skipped
	Skips     int    // number of gaps in it that the server skips
	Read      int64
	Returned  int64
}

// FalsePositives returns the share of the points read that are outside of the box.
func (e *Explanation) FalsePositives() float64 {
	if e.Read == 0 {
		return 0
	}
	return float64(e.Read-e.Returned) / float64(e.Read)
}

// The numbers of points that an Explanation keeps for a picture.
const (
	keepRead   = 10_000
	sampleSize = 4_000
)

// Explain runs a query as Select does, and reports what it reads. It also samples
// points of the whole index for a picture: see Plane.
func (x *Index) Explain(ctx context.Context, box Box) (*Explanation, error) {
	blocks, err := x.reader.points.blocksOf(box)
	if err != nil {
		return nil, x.reader.named(err)
	}
	if err := x.reader.set.Check(ctx); err != nil {
		return nil, x.reader.named(err)
	}
	e := &Explanation{x: x, blocks: blocks}
	if len(blocks) > 0 {
		if err := e.read(ctx); err != nil {
			return nil, err
		}
	}
	return e, e.sample(ctx)
}

// read runs the query, and notes what it reads.
func (e *Explanation) read(ctx context.Context) error {
	x := e.x
	r := x.reader.points.regionOf(e.blocks)
	keep := x.reader.points.keep(&r)
	var log readLog
	z := make([]uint64, x.reader.points.layout.words)
	for m, err := range x.reader.read(ctx, &r, index.Page{}, &log) {
		if err != nil {
			return err
		}
		if len(m) < x.reader.points.head {
			continue
		}
		x.reader.points.layout.read(z, m)
		within := log.of(z)
		within.read++
		e.Read++
		points := &e.over
		if keep(m) {
			within.returned++
			e.Returned++
			points = &e.in
		}
		if len(*points) < keepRead {
			*points = append(*points, x.reader.points.point(z))
		}
	}
	e.describe(&log)
	return nil
}

// describe makes the ranges of the explanation from what was read.
func (e *Explanation) describe(log *readLog) {
	x := e.x
	ranges := x.reader.points.joined(slices.Concat(log.begun, log.finer))
	for _, r := range ranges {
		e.Ranges = append(e.Ranges, RangeRead{Low: x.reader.points.layout.text(r.low), High: x.reader.points.layout.text(r.high), Skips: -1, Read: r.read, Returned: r.returned})
	}
	length, volume := 0.0, 0.0
	for _, b := range e.blocks {
		volume += volumeOf(b.low, x.reader.points.open(&b))
	}
	for _, p := range x.reader.points.joined(log.pieces) {
		within := &e.Ranges[rangeOf(ranges, p.low)]
		for range x.reader.points.layout.squares(p.low, p.high) {
			within.Squares++
			e.Squares++
		}
		within.Skips++
		length += p.length
		e.pieces = append(e.pieces, p.span)
	}
	e.Skips = len(e.pieces) - len(e.Ranges)
	e.Expected = max(0, 1-volume/length)
}

// rangeRead is a range that a query has read, and how many points of it.
type rangeRead struct {
	span
	read, returned int64
}

// rangeOf returns which of some ranges in order has a number.
func rangeOf(ranges []rangeRead, z []uint64) int {
	return sort.Search(len(ranges)-1, func(i int) bool { return slices.Compare(ranges[i].high, z) >= 0 })
}

// readLog is what a query reads: the beginnings of ranges, then finer ranges, each in
// order, and the pieces of both. A nil log takes no notes.
type readLog struct{ begun, finer, pieces []rangeRead }

func (l *readLog) addChunks(x *reader, ranges []index.Range, chunks []chunk) {
	if l == nil {
		return
	}
	for i, r := range ranges {
		if rest := chunks[i].rest; rest != nil { // an explanation never reads in reverse
			r.Max = "[" + rest.Min[1:]
		}
		l.begun = append(l.begun, rangeRead{span: x.points.conversion().spanOf(r)})
	}
	l.pieces = slices.Clone(l.begun)
}

func (l *readLog) addFiner(x *reader, ranges, pieces []index.Range) {
	if l == nil {
		return
	}
	for _, r := range ranges {
		l.finer = append(l.finer, rangeRead{span: x.points.conversion().spanOf(r)})
	}
	for _, r := range pieces {
		l.pieces = append(l.pieces, rangeRead{span: x.points.conversion().spanOf(r)})
	}
}

// of returns the range that has a number.
func (l *readLog) of(z []uint64) *rangeRead {
	if r := &l.begun[rangeOf(l.begun, z)]; len(l.finer) == 0 || slices.Compare(r.low, z) <= 0 && slices.Compare(z, r.high) <= 0 {
		return r
	}
	return &l.finer[rangeOf(l.finer, z)]
}

// joined returns ranges in order, those that continue each other as one.
func (x *points) joined(ranges []rangeRead) []rangeRead {
	slices.SortStableFunc(ranges, func(a, b rangeRead) int { return slices.Compare(a.low, b.low) })
	var all []rangeRead
	for _, r := range ranges {
		if n := len(all); n > 0 && slices.Compare(r.low, following(all[n-1].high)) <= 0 {
			last := &all[n-1]
			last.high = r.high
			last.length = x.layout.length(last.low, last.high)
			last.read, last.returned = last.read+r.read, last.returned+r.returned
			continue
		}
		all = append(all, r)
	}
	return all
}

// following returns the number after one.
func following(z []uint64) []uint64 {
	next := slices.Clone(z)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			break
		}
	}
	return next
}

// sample reads random points.
func (e *Explanation) sample(ctx context.Context) error {
	x := e.x
	client := x.reader.set.Client
	var commands rueidis.Commands
	for i := range x.reader.set.Keys {
		commands = append(commands, client.B().Zrandmember().Key(x.reader.set.Keys[i].Index).Count(int64(max(1, sampleSize/len(x.reader.set.Keys)))).Build())
	}
	z := make([]uint64, x.reader.points.layout.words)
	for _, reply := range client.DoMulti(ctx, commands...) {
		members, err := reply.AsStrSlice()
		if err != nil {
			return x.reader.named(x.reader.set.Error(ctx, err))
		}
		for _, m := range members {
			if len(m) > x.reader.points.head {
				x.reader.points.layout.read(z, m)
				e.rest = append(e.rest, x.reader.points.point(z))
			}
		}
	}
	return nil
}

// point is a point as the codes of its dimensions.
type point []uint64

func (x *points) point(z []uint64) point {
	p := make(point, len(x.axes))
	x.layout.deinterleave(p, z)
	return p
}

// squares yields the largest aligned cells of which a range consists: the first number
// of each, and how many of its last bits are free. The number is valid until the next.
func (l *layout) squares(low, high []uint64) iter.Seq2[[]uint64, int] {
	return func(yield func(first []uint64, free int) bool) {
		at, last := slices.Clone(low), make([]uint64, l.words)
		for {
			free := min(trailingZeros(at), len(l.bits))
			for ; ; free-- {
				copy(last, at)
				for i := range last {
					last[i] |= lowBits(free - 64*(l.words-1-i))
				}
				if slices.Compare(last, high) <= 0 {
					break
				}
			}
			if !yield(at, free) || slices.Equal(last, high) {
				return
			}
			copy(at, last)
			for i := len(at) - 1; i >= 0; i-- {
				if at[i]++; at[i] != 0 {
					break
				}
			}
		}
	}
}
