package space

import (
	"context"
	"iter"
	"math/bits"
	"slices"
	"sort"

	"github.com/redis/rueidis"

	"retwis/index"
)

// Explanation is what a query of a box reads.
type Explanation struct {
	Ranges   []RangeRead // in the order of the curve
	Squares  int         // of how many aligned cells of the space they consist
	Jumps    int         // how many gaps in them the server jumps over
	Read     int64       // how many points the ranges have
	Returned int64       // how many of these are in the box
	// Expected is the share of what is read that would not be in the box if points
	// were everywhere alike; see FalsePositives for what it really was.
	Expected float64

	x        *Index
	block    block
	pieces   []span // that are read
	in, over []dot  // points that were read
	rest     []dot  // some of all points
}

// RangeRead is a range of the curve, and what is in it.
type RangeRead struct {
	Low, High string // its ends, both included: bits as zeros and ones
	Squares   int    // of which it consists, without what is jumped over
	Jumps     int    // how many gaps in it the server jumps over
	Read      int64
	Returned  int64
}

// FalsePositives is the share of the points that were read which are not in the
// box.
func (e *Explanation) FalsePositives() float64 {
	if e.Read == 0 {
		return 0
	}
	return float64(e.Read-e.Returned) / float64(e.Read)
}

// How many points a picture shows.
const (
	drawRead = 10_000
	drawRest = 4_000
)

// Explain reads a box as Query does and tells what that takes. Beside the box it
// samples points for a picture of it; see SVG.
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

// read reads the ranges.
func (e *Explanation) read(ctx context.Context) error {
	x := e.x
	r := x.regionOf([]block{e.block})
	if err := x.cutFinely(ctx, &r); err != nil {
		return err
	}
	for _, s := range r.spans {
		e.Ranges = append(e.Ranges, RangeRead{Low: x.text(s.low), High: x.text(s.high), Jumps: -1})
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
		x.squares(s.low, s.high, func([]uint64, int) { within.Squares++; e.Squares++ })
		within.Jumps++
		length, volume = length+s.length, volume+s.volume
	}
	e.Jumps = len(e.pieces) - len(e.Ranges)
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
		dots := &e.over
		if keep(m) {
			within.Returned++
			e.Returned++
			dots = &e.in
		}
		if len(*dots) < drawRead {
			*dots = append(*dots, x.dot(z))
		}
	}
	return nil
}

// members yields the members of ranges.
func (x *Index) members(ctx context.Context, ranges []index.Range) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for m, err := range x.lex.Select(ctx, index.Page{}, ranges...) {
			if !yield(m.Member, err) {
				return
			}
		}
	}
}

// sample reads some of all points, for a picture.
func (e *Explanation) sample(ctx context.Context) error {
	x := e.x
	client := x.set.Client
	var commands rueidis.Commands
	for i := range x.set.Keys {
		commands = append(commands, client.B().Zrandmember().Key(x.set.Keys[i].Index).Count(int64(max(1, drawRest/len(x.set.Keys)))).Build())
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
				e.rest = append(e.rest, x.dot(z))
			}
		}
	}
	return nil
}

// dot is where a point stands in the first two dimensions, as codes.
type dot [2]uint64

func (x *Index) dot(z []uint64) dot {
	codes := make([]uint64, len(x.axes))
	x.unweave(codes, z)
	var d dot
	copy(d[:], codes)
	return d
}

// squares calls f with the first number of each cell that a range consists of,
// and how many of its last bits are free: the greatest cells that there are.
func (l *layout) squares(low, high []uint64, f func(first []uint64, free int)) {
	at := slices.Clone(low)
	last := make([]uint64, l.words)
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
		f(at, free)
		if slices.Equal(last, high) {
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

// lowBits is a word with so many of its last bits set.
func lowBits(n int) uint64 {
	switch {
	case n <= 0:
		return 0
	case n >= 64:
		return ^uint64(0)
	}
	return 1<<n - 1
}

func trailingZeros(z []uint64) int {
	n := 0
	for i := len(z) - 1; i >= 0; i-- {
		if z[i] != 0 {
			return n + bits.TrailingZeros64(z[i])
		}
		n += 64
	}
	return n
}
