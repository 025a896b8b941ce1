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
	block    block
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
	b, some, err := x.blockOf(box)
	if err != nil {
		return nil, x.named(err)
	}
	if err := x.set.Check(ctx); err != nil {
		return nil, x.named(err)
	}
	e := &Explanation{x: x, block: b}
	if some {
		if err := e.read(ctx); err != nil {
			return nil, err
		}
	}
	return e, e.sample(ctx)
}

// read reads the ranges of the query.
func (e *Explanation) read(ctx context.Context) error {
	x := e.x
	r := x.regionOf([]block{e.block})
	if err := x.cutFinely(ctx, &r); err != nil {
		return err
	}
	for _, s := range r.spans {
		e.Ranges = append(e.Ranges, RangeRead{Low: x.text(s.low), High: x.text(s.high), Skips: -1})
	}
	of := func(z []uint64) *RangeRead {
		return &e.Ranges[sort.Search(len(r.spans)-1, func(i int) bool { return slices.Compare(r.spans[i].high, z) >= 0 })]
	}
	length, volume := 0.0, 0.0
	e.pieces = r.pieces
	if r.pieces == nil {
		e.pieces = r.spans
	}
	for _, s := range e.pieces {
		within := of(s.low)
		for range x.squares(s.low, s.high) {
			within.Squares++
			e.Squares++
		}
		within.Skips++
		length, volume = length+s.length, volume+s.volume
	}
	e.Skips = len(e.pieces) - len(e.Ranges)
	e.Expected = max(0, 1-volume/length)
	keep := x.keep(&r)
	z := make([]uint64, x.words)
	members := x.skipScan(ctx, &r, index.Page{}, func(string) bool { return true })
	if r.pieces == nil {
		members = x.members(ctx, x.ranges(r.spans))
	}
	for m, err := range members {
		if err != nil {
			return err
		}
		if len(m) < x.head {
			continue
		}
		x.layout.read(z, m)
		within := of(z)
		within.Read++
		e.Read++
		points := &e.over
		if keep(m) {
			within.Returned++
			e.Returned++
			points = &e.in
		}
		if len(*points) < keepRead {
			*points = append(*points, x.point(z))
		}
	}
	return nil
}

// members yields the members of ranges.
func (x *reader) members(ctx context.Context, ranges []index.Range) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for m, err := range x.lex.Select(ctx, index.Page{}, ranges...) {
			if !yield(m.Member, err) {
				return
			}
		}
	}
}

// sample reads random points.
func (e *Explanation) sample(ctx context.Context) error {
	x := e.x
	client := x.set.Client
	var commands rueidis.Commands
	for i := range x.set.Keys {
		commands = append(commands, client.B().Zrandmember().Key(x.set.Keys[i].Index).Count(int64(max(1, sampleSize/len(x.set.Keys)))).Build())
	}
	z := make([]uint64, x.words)
	for _, reply := range client.DoMulti(ctx, commands...) {
		members, err := reply.AsStrSlice()
		if err != nil {
			return x.named(x.set.Error(ctx, err))
		}
		for _, m := range members {
			if len(m) > x.head {
				x.layout.read(z, m)
				e.rest = append(e.rest, x.point(z))
			}
		}
	}
	return nil
}

// point is a point as the codes of its dimensions.
type point []uint64

func (x *points) point(z []uint64) point {
	p := make(point, len(x.axes))
	x.deinterleave(p, z)
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
