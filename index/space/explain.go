package space

import (
	"context"
	"slices"
	"sort"
	"strings"

	"retwis/index"
	"retwis/index/internal/ranged"
)

// Explanation reports what a query of a box reads.
type Explanation struct {
	Ranges   []RangeRead // in curve order
	Read     int64       // number of points read in the ranges, without points skipped by a skip scan
	Returned int64       // number of these points in the box
}

// RangeRead is a range of the curve, with the number of points read in it.
type RangeRead struct {
	Low, High string // inclusive ends, as bit strings
	Read      int64
	Returned  int64
}

// Explain runs a query as Select does, and reports what it reads.
func (x *Index) Explain(ctx context.Context, box Box) (*Explanation, error) {
	p := x.reader.points
	blocks, err := p.blocksOf(box)
	if err != nil {
		return nil, x.reader.wrap(err)
	}
	e := &Explanation{}
	if len(blocks) == 0 {
		return e, nil
	}
	r := p.regionOf(blocks)
	keep := p.keep(&r)
	log := &readLog{}
	for m, err := range x.reader.read(ctx, &r, index.Page{}, log) {
		if err != nil {
			return nil, err
		}
		inRange := log.rangeOf(m)
		inRange.read++
		e.Read++
		if keep(m) {
			inRange.returned++
			e.Returned++
		}
	}
	for _, r := range log.joined() {
		e.Ranges = append(e.Ranges, RangeRead{Low: p.bitsOf(r.Min), High: p.bitsOf(r.Max), Read: r.read, Returned: r.returned})
	}
	return e, nil
}

// bitsOf returns the number at an end of a range as a bit string.
func (x *points) bitsOf(end string) string {
	z := make([]uint64, x.layout.words)
	if end == "+" {
		return strings.Repeat("1", len(x.layout.bits))
	}
	x.layout.read(z, end[1:])
	if end[0] == '(' && len(end) == 1+x.layout.bytes { // exclusive: the first number after the range
		for i := len(z) - 1; i >= 0; i-- {
			if z[i]--; z[i] != ^uint64(0) {
				break
			}
		}
	}
	return x.layout.text(z)
}

// rangeRead is a range that a query has read, with the number of points read and returned.
type rangeRead struct {
	ranged.Range
	read, returned int64
}

// readLog records what a query reads, in order: first the beginnings of ranges, then the rest
// of some ranges in finer ranges. A nil log records nothing.
type readLog struct{ first, finer []rangeRead }

// addChunks records the parts of ranges that were read first.
func (l *readLog) addChunks(ranges []ranged.Range, chunks []chunk) {
	if l == nil {
		return
	}
	for i, r := range ranges {
		if rest := chunks[i].rest; rest != nil { // Explain never reads in reverse
			r.Max = "[" + rest.Min[1:]
		}
		l.first = append(l.first, rangeRead{Range: r})
	}
}

// addFiner records finer ranges.
func (l *readLog) addFiner(ranges []ranged.Range) {
	if l == nil {
		return
	}
	for _, r := range ranges {
		l.finer = append(l.finer, rangeRead{Range: r})
	}
}

// rangeOf returns the range in which a member was read. A piece of a skip scan may extend
// slightly beyond its range.
func (l *readLog) rangeOf(member string) *rangeRead {
	first := rangeAt(l.first, member)
	if len(l.finer) == 0 || member > first.Min[1:] && (first.Max == "+" || member <= first.Max[1:]) {
		return first
	}
	return rangeAt(l.finer, member)
}

// rangeAt returns the first range that does not end before a member, or the last range.
func rangeAt(ranges []rangeRead, member string) *rangeRead {
	i := sort.Search(len(ranges)-1, func(i int) bool {
		end := ranges[i].Max
		return end == "+" || member < end[1:] || member == end[1:] && end[0] == '['
	})
	return &ranges[i]
}

// joined returns all ranges in order, with adjacent ranges merged.
func (l *readLog) joined() []rangeRead {
	ranges := slices.Concat(l.first, l.finer)
	slices.SortStableFunc(ranges, func(a, b rangeRead) int { return strings.Compare(a.Min[1:], b.Min[1:]) })
	var all []rangeRead
	for _, r := range ranges {
		if n := len(all); n > 0 && all[n-1].Max[1:] == r.Min[1:] {
			last := &all[n-1]
			last.Max, last.read, last.returned = r.Max, last.read+r.read, last.returned+r.returned
			continue
		}
		all = append(all, r)
	}
	return all
}
