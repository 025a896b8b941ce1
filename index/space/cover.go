package space

import (
	"cmp"
	"math"
	"slices"
)

// Limits of covering a box with ranges.
const (
	defaultRanges = 32
	maxRanges     = 4096
	// cutsPerRange limits the work: a cut takes about 0.3 µs in two dimensions.
	cutsPerRange = 16
	// maxCuts limits the work of fineCover.
	maxCuts = 1 << 13
	// minShare is the smallest gap worth a separate range, as a share of the numbers read.
	minShare = 1.0 / 4096
)

// cell is a part of a box that the curve enters at its lowest corner and leaves at its highest
// corner. Cells are in curve order.
type cell struct {
	low, high []uint64 // numbers of the corners
	min, max  []uint64 // codes of the corners
	length    float64  // count of numbers from low to high
	volume    float64  // count of these numbers in the box
	gap       float64  // count of numbers between the previous cell and this cell
	next      int      // index of the next cell; -1: none
}

// waste returns the approximate count of numbers of a cell outside of the box.
func (c *cell) waste() float64 {
	if w := c.length - c.volume; w > 1e-9*c.length {
		return w
	}
	return 0
}

// full reports whether the curve fills a cell without leaving it: all bits from the first bit
// in which the corners differ are free.
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

// span is a range of the curve, with the volume of the box in it.
type span struct {
	low, high      []uint64
	length, volume float64
}

// cover returns at most n disjoint ranges, in order, that cover a box. Of all such
// ranges, they read the fewest points outside of the box if points are evenly distributed.
//
// The curve runs through a box in pieces. Outside of the box, n ranges must read all gaps
// between pieces except the n-1 widest. Gaps are found by cutting the box where the curve
// halves the box; no gap of a cell is wider than the waste of the cell. So the cell with the
// most waste is cut first, until n-1 gaps are wider than the waste of any cell.
func (l *layout) cover(low, high []uint64, n int) []span {
	t := newCutting(l, low, high, func(c *cell) float64 { return c.waste() })
	var widest ranked // the n-1 widest gaps, narrowest first
	for cuts := 0; len(t.queue) > 0 && cuts < n*cutsPerRange && n > 1; cuts++ {
		top := t.queue[0]
		if len(widest) == n-1 && -widest[0].rank >= top.rank || top.rank < minShare*t.volume {
			break
		}
		gap := t.cut()
		if len(widest) < n-1 {
			widest.push(rankedCell{rank: -gap})
		} else if gap > -widest[0].rank {
			widest[0].rank = -gap
			widest.sink()
		}
	}
	return t.group(n)
}

// cutting is a box that is cut into cells.
type cutting struct {
	*layout
	cells []cell // cells[0] is the first on the curve
	queue ranked // cells worth cutting
	rank  func(*cell) float64

	volume float64 // of the box
	slab   []uint64
}

// copyOf copies words into memory allocated in large blocks.
func (t *cutting) copyOf(words []uint64) []uint64 {
	if len(t.slab) < len(words) {
		t.slab = make([]uint64, max(1024, len(words)))
	}
	c := t.slab[:len(words):len(words)]
	t.slab = t.slab[len(words):]
	copy(c, words)
	return c
}

// newCutting returns a cutting of a box whose only cell is the whole box.
func newCutting(l *layout, low, high []uint64, rank func(*cell) float64) *cutting {
	t := &cutting{layout: l, rank: rank}
	c := cell{low: l.interleave(low), high: l.interleave(high), min: low, max: high, next: -1}
	c.length, c.volume = l.length(c.low, c.high), volumeOf(low, high)
	t.volume, t.cells = c.volume, append(make([]cell, 0, 256), c)
	t.add(0)
	return t
}

// volumeOf returns the count of numbers in a box, in units.
func volumeOf(low, high []uint64) float64 {
	v := unit
	for d := range low {
		v *= float64(high[d]-low[d]) + 1
	}
	return v
}

// add queues a cell if it is worth cutting.
func (t *cutting) add(i int) {
	if r := t.rank(&t.cells[i]); r > 0 {
		t.queue.push(rankedCell{r, i})
	}
}

// cut halves the first cell of the queue and returns the gap between the halves.
func (t *cutting) cut() float64 {
	i := t.queue.pop().cell
	c := &t.cells[i]
	p := t.differs(c.low, c.high)
	b := t.bits[len(t.bits)-1-p]
	middle := c.max[b.dim] >> b.shift << b.shift

	right := cell{low: t.copyOf(c.low), high: c.high, min: t.copyOf(c.min), max: c.max, next: c.next}
	t.layout.cut(right.low, b.dim, p, true)
	right.min[b.dim] = middle
	left := cell{low: c.low, high: t.copyOf(c.high), min: c.min, max: t.copyOf(c.max), next: len(t.cells), gap: c.gap}
	t.layout.cut(left.high, b.dim, p, false)
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

// between returns the count of numbers between two numbers.
func (t *cutting) between(before, after []uint64) float64 {
	var words [16]uint64
	next := words[:copy(words[:], before)]
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			break
		}
	}
	if slices.Equal(next, after) {
		return 0
	}
	return max(t.length(next, after)-unit, unit)
}

// group merges cells into at most n ranges, which leave out the widest gaps.
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
	gaps = gaps[:min(n-1, len(gaps))]
	for len(gaps) > 0 && gaps[len(gaps)-1] < minShare*total {
		gaps = gaps[:len(gaps)-1]
	}
	if len(gaps) == 0 {
		return t.join(math.Inf(1), 0)
	}
	least := gaps[len(gaps)-1]
	return t.join(least, len(gaps)-slices.Index(gaps, least))
}

// join merges cells into ranges. The ranges leave out the gaps wider than least, and the first
// ties gaps that are as wide as least.
func (t *cutting) join(least float64, ties int) []span {
	var spans []span
	for i := 0; i >= 0; i = t.cells[i].next {
		c := &t.cells[i]
		separate := c.gap > least
		if c.gap == least && ties > 0 {
			separate, ties = true, ties-1
		}
		if len(spans) == 0 || separate {
			spans = append(spans, span{low: c.low, high: c.high, length: c.length, volume: c.volume})
			continue
		}
		s := &spans[len(spans)-1]
		s.high, s.volume = c.high, s.volume+c.volume
	}
	for i := range spans {
		spans[i].length = t.length(spans[i].low, spans[i].high)
	}
	return spans
}

// fineCover returns the ranges between all gaps of at least a width, or between most of these
// gaps if there are very many.
func (l *layout) fineCover(low, high []uint64, width float64) []span {
	t := newCutting(l, low, high, func(c *cell) float64 { return c.waste() })
	for cuts := 0; len(t.queue) > 0 && cuts < maxCuts && t.queue[0].rank >= width; cuts++ {
		t.cut()
	}
	return t.join(width, len(t.cells))
}

// rankedCell is a cell worth cutting.
type rankedCell struct {
	rank float64
	cell int
}

// ranked is a heap with the highest rank first. container/heap would allocate per element.
type ranked []rankedCell

func (r *ranked) push(c rankedCell) {
	*r = append(*r, c)
	h := *r
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if h[parent].rank >= h[i].rank {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (r *ranked) pop() rankedCell {
	h := *r
	first := h[0]
	h[0] = h[len(h)-1]
	*r = h[:len(h)-1]
	r.sink()
	return first
}

// sink restores the heap order after a change of the first element.
func (r *ranked) sink() {
	h := *r
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].rank > h[child].rank {
			child++
		}
		if h[i].rank >= h[child].rank {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
