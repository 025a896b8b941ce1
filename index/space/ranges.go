package space

import (
	"context"
	"slices"
	"sort"

	"retwis/index"
	"retwis/index/internal/ranged"
	"retwis/internal/redis/scan"
)

// lexRange returns the range of the members whose numbers are from low to high.
func (x *points) lexRange(low, high []uint64) ranged.Range {
	r := ranged.Range{Min: "[" + string(x.layout.append(nil, low)), Max: "+"}
	end := x.layout.append(nil, high)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			r.Max = "(" + string(end)
			break
		}
	}
	return r
}

// ranges converts spans to ranges of members.
func (x *points) ranges(spans []span) []ranged.Range {
	all := make([]ranged.Range, len(spans))
	for i, s := range spans {
		all[i] = x.lexRange(s.low, s.high)
	}
	return all
}

// joinOverlaps sorts ranges and merges overlapping ranges.
func (x *points) joinOverlaps(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return slices.Compare(a.low, b.low) })
	joined := spans[:0]
	for _, s := range spans {
		if n := len(joined); n > 0 && slices.Compare(s.low, joined[n-1].high) <= 0 {
			last := &joined[n-1]
			if slices.Compare(s.high, last.high) > 0 {
				last.high = s.high
			}
			last.volume += s.volume
			last.length = x.layout.length(last.low, last.high)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// intersect returns the intersection of two lists of ranges. The ranges of each list
// are disjoint and in ascending order.
func intersect(ranges, others []ranged.Range) []ranged.Range {
	var all []ranged.Range
	for _, o := range others {
		first := sort.Search(len(ranges), func(i int) bool { return ranges[i].Max == "+" || ranges[i].Max[1:] > o.Min[1:] })
		for _, r := range ranges[first:] {
			if o.Max != "+" && r.Min[1:] >= o.Max[1:] {
				break
			}
			if o.Min[1:] > r.Min[1:] || o.Min[1:] == r.Min[1:] && o.Min[0] == '(' {
				r.Min = o.Min
			}
			if r.Max == "+" || o.Max != "+" && (o.Max[1:] < r.Max[1:] || o.Max[1:] == r.Max[1:] && o.Max[0] == '(') {
				r.Max = o.Max
			}
			all = append(all, r)
		}
	}
	return all
}

// clip returns ranges in the reading order of a page, starting at its cursor.
func clip(ranges []ranged.Range, page index.Page) ([]ranged.Range, error) {
	cursor, err := scan.DecodeCursor(page.After)
	if err != nil {
		return nil, err
	}
	if page.After != "" {
		remaining := ranged.Range{Min: "(" + cursor, Max: "+"}
		if page.Reverse {
			remaining = ranged.Range{Min: "[", Max: "(" + cursor}
		}
		ranges = intersect(ranges, []ranged.Range{remaining})
	}
	if page.Reverse {
		slices.Reverse(ranges)
	}
	return ranges, nil
}

// counts returns the number of points in each range: one round trip per 64 ranges.
func (x *reader) counts(ctx context.Context, ranges []ranged.Range) ([]int64, error) {
	counts, err := x.entries.Reader().Counts(ctx, ranges)
	return counts, x.entries.Wrap(ctx, err)
}
