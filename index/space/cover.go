package space

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// How a box is covered with ranges.
const (
	defaultRanges = 32
	maxRanges     = 4096
	// cutsPerRange bounds the work: a cut takes about 0.3 µs in two dimensions.
	cutsPerRange = 16
	// trifle is the share of all that is read which is not worth a range.
	trifle = 1.0 / 4096
)

// cell is a part of a box that the curve enters at its least corner and leaves
// at its greatest. Cells are in the order of the curve.
type cell struct {
	low, high []uint64 // numbers of its corners
	min, max  []uint64 // their codes
	length    float64  // how many numbers there are from low to high, times 2^scale
	volume    float64  // how many of these are in the box
	gap       float64  // how many there are between the cell before and this one
	next      int      // the cell behind it; -1: none
}

// waste is how much of what is read of a cell is not in the box, about.
func (c *cell) waste() float64 {
	if w := c.length - c.volume; w > 1e-9*c.length {
		return w
	}
	return 0
}

// full tells whether a cell is one of those that the curve runs through from end
// to end, exactly: all bits below the first in which its corners differ are free.
func (l *layout) full(c *cell) bool {
	free := l.differs(c.low, c.high) + 1
	for i := range c.low {
		below := lowBits(free - 64*(l.words-1-i))
		if c.low[i]&below != 0 || c.high[i]&below != below {
			return false
		}
	}
	return true
}

// span is a range of the curve and what it holds of a box.
type span struct {
	low, high      []uint64
	length, volume float64
}

// cover returns at most n ranges, in order and apart from each other, that hold a
// box: of all choices of n the one that reads the least beside the box, if points
// are everywhere alike.
//
// The curve runs through a box in pieces, and what n ranges must read beside it
// is all gaps between pieces but the n-1 widest. A gap is found by cutting the
// box where the curve halves it; a cell has no gap wider than its waste. So the
// cell that wastes most is cut first, and it is over when n-1 gaps are wider than
// what any cell wastes.
func (l *layout) cover(low, high []uint64, n int) []span {
	t := newCutting(l, low, high, func(c *cell) float64 { return c.waste() })
	var widest floats // the n-1 widest gaps, least first
	for cuts := 0; len(t.queue) > 0 && cuts < n*cutsPerRange && n > 1; cuts++ {
		top := t.queue[0]
		if len(widest) == n-1 && widest[0] >= top.rank || top.rank < trifle*t.volume {
			break
		}
		gap := t.cut()
		if len(widest) < n-1 {
			heap.Push(&widest, gap)
		} else if gap > widest[0] {
			widest[0] = gap
			heap.Fix(&widest, 0)
		}
	}
	return t.group(n)
}

// cutting is a box that is cut into cells.
type cutting struct {
	*layout
	cells []cell // the first is the first of the curve
	queue ranked // those that are worth a cut
	rank  func(*cell) float64

	volume float64 // of the box
}

func newCutting(l *layout, low, high []uint64, rank func(*cell) float64) *cutting {
	t := &cutting{layout: l, rank: rank}
	c := cell{low: l.weave(low), high: l.weave(high), min: low, max: high, next: -1}
	c.length, c.volume = l.length(c.low, c.high), volumeOf(low, high)
	t.volume, t.cells = c.volume, append(t.cells, c)
	t.add(0)
	return t
}

func volumeOf(low, high []uint64) float64 {
	v := math.Ldexp(1, scale)
	for d := range low {
		v *= float64(high[d]-low[d]) + 1
	}
	return v
}

// add queues a cell, if it is worth a cut.
func (t *cutting) add(i int) {
	if r := t.rank(&t.cells[i]); r > 0 {
		heap.Push(&t.queue, rankedCell{r, i})
	}
}

// cut halves the first cell of the queue and returns the gap that opens there.
func (t *cutting) cut() float64 {
	i := heap.Pop(&t.queue).(rankedCell).cell
	c := &t.cells[i]
	p := t.differs(c.low, c.high)
	b := t.bits[len(t.bits)-1-p]
	middle := c.max[b.dim] >> b.shift << b.shift

	right := cell{low: t.layout.cut(c.low, b.dim, p, true), high: c.high, min: slices.Clone(c.min), max: c.max, next: c.next}
	right.min[b.dim] = middle
	left := cell{low: c.low, high: t.layout.cut(c.high, b.dim, p, false), min: c.min, max: slices.Clone(c.max), next: len(t.cells), gap: c.gap}
	left.max[b.dim] = middle - 1
	for _, half := range []*cell{&left, &right} {
		half.length, half.volume = t.length(half.low, half.high), volumeOf(half.min, half.max)
	}
	right.gap = t.between(left.high, right.low)
	t.cells[i] = left
	t.cells = append(t.cells, right)
	t.add(i)
	t.add(len(t.cells) - 1)
	return right.gap
}

// between is how many numbers there are between two of them, times 2^scale.
func (t *cutting) between(before, behind []uint64) float64 {
	next := slices.Clone(before)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			break
		}
	}
	if slices.Equal(next, behind) {
		return 0
	}
	return max(t.length(next, behind)-math.Ldexp(1, scale), math.Ldexp(1, scale))
}

// group joins cells to n ranges, leaving out the widest gaps between them.
func (t *cutting) group(n int) []span {
	var gaps []float64
	total := 0.0
	for i := 0; i >= 0; i = t.cells[i].next {
		total += t.cells[i].length
		if g := t.cells[i].gap; g > 0 {
			gaps = append(gaps, g)
		}
	}
	slices.SortFunc(gaps, func(a, b float64) int { return cmp.Compare(b, a) })
	least, ties := math.Inf(1), 0 // the least gap that is left out, and how many of exactly that
	if n > 1 && len(gaps) > 0 {
		gaps = gaps[:min(n-1, len(gaps))]
		for len(gaps) > 0 && gaps[len(gaps)-1] < trifle*total {
			gaps = gaps[:len(gaps)-1]
		}
		if len(gaps) > 0 {
			least = gaps[len(gaps)-1]
			ties = len(gaps) - slices.Index(gaps, least)
		}
	}
	var spans []span
	for i := 0; i >= 0; i = t.cells[i].next {
		c := &t.cells[i]
		apart := c.gap > least
		if c.gap == least && ties > 0 {
			apart, ties = true, ties-1
		}
		if len(spans) == 0 || apart {
			spans = append(spans, span{low: c.low, high: c.high, length: c.length, volume: c.volume})
			continue
		}
		s := &spans[len(spans)-1]
		s.high, s.volume = c.high, s.volume+c.volume
		s.length = t.length(s.low, s.high)
	}
	return spans
}

// rankedCell is a cell that is worth a cut; those of the highest rank come first.
type rankedCell struct {
	rank float64
	cell int
}

type ranked []rankedCell

func (r ranked) Len() int           { return len(r) }
func (r ranked) Less(i, j int) bool { return r[i].rank > r[j].rank }
func (r ranked) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranked) Push(v any)        { *r = append(*r, v.(rankedCell)) }
func (r *ranked) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

type floats []float64

func (f floats) Len() int           { return len(f) }
func (f floats) Less(i, j int) bool { return f[i] < f[j] }
func (f floats) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *floats) Push(v any)        { *f = append(*f, v.(float64)) }
func (f *floats) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}
