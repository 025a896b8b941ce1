package space

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// compareValues compares values of a dimension, independently of their encoding.
func compareValues(t rapid.TB, d Dim, a, b any) int {
	switch d.Type {
	case Time:
		return a.(time.Time).Compare(b.(time.Time))
	}
	x, okX := new(big.Rat).SetString(fmt.Sprint(a))
	y, okY := new(big.Rat).SetString(fmt.Sprint(b))
	if !okX || !okY {
		t.Fatalf("%v and %v are not both numbers", a, b)
	}
	return x.Cmp(y)
}

// anyValue draws a value of a dimension, including extremes, neighbours and equal values.
func anyValue(t *rapid.T, a *axis) any {
	span := a.span
	code := rapid.OneOf(rapid.Uint64Range(0, span), rapid.Uint64Range(0, min(span, 20)), rapid.Uint64Range(span/2-min(span/2, 3), span/2),
		rapid.Just(uint64(0)), rapid.Just(span)).Draw(t, "code")
	return a.value(code)
}

// anySide draws a side of a box: between values, open, beyond the range, or with more digits.
func anySide(t *rapid.T, a *axis) Side {
	low, high := anyValue(t, a), anyValue(t, a)
	if compareValues(t, a.Dim, low, high) > 0 {
		low, high = high, low
	}
	s := Side{low, high}
	switch rapid.IntRange(0, 9).Draw(t, "side") {
	case 0:
		s.Min = nil
	case 1:
		s.Max = nil
	case 2:
		s = Side{}
	case 3:
		s.Max = low // a single value
	case 4:
		switch a.Type { // beyond the range
		case Int, Decimal:
			s.Min, s.Max = "-99999999999999999999", "99999999999999999999"
		case Time:
			s.Min, s.Max = a.from.AddDate(-900, 0, 0), a.to.AddDate(900, 0, 0)
		}
	case 5:
		if a.Type == Int || a.Type == Decimal { // between two values
			text := fmt.Sprint(s.Min)
			if !strings.Contains(text, ".") {
				text += "."
			}
			s.Min = text + strings.Repeat("0", 20) + "1"
			if compareValues(t, a.Dim, s.Min, s.Max) > 0 {
				s.Max = s.Min
			}
		}
	}
	return s
}

func inBox(t rapid.TB, dims []Dim, values []any, box Box) bool {
	for d, v := range values {
		if box[d].Min != nil && compareValues(t, dims[d], v, box[d].Min) < 0 ||
			box[d].Max != nil && compareValues(t, dims[d], v, box[d].Max) > 0 {
			return false
		}
	}
	return true
}

// After random writes with random declarations, Select returns exactly the points in a box, in a
// consistent order and also in pages. Count and Explain agree with Select.
func TestQueryAgainstBruteForce(t *testing.T) {
	t.Parallel()
	c := redistest.DB(t).Client(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		n++
		dims := anyDims(rapid.SampledFrom([]int{2, 3, 16}).Draw(t, "max")).Draw(t, "dims")
		x := newIndex(t, c, fmt.Sprint("brute", n), "", Options{
			Dims: dims, Partitions: rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "partitions"),
			MaxRanges: rapid.SampledFrom([]int{0, 1, 5, 100}).Draw(t, "ranges"),
		})
		dims = x.Dims()
		if rapid.Bool().Draw(t, "skip") {
			x.reader.minWaste, x.reader.minGap = 0, rapid.SampledFrom([]float64{0.5, 3}).Draw(t, "gap")
		}
		x.reader.firstRead = rapid.SampledFrom([]int{1, 3, firstRead}).Draw(t, "first")
		anyID := rapid.OneOf(rapid.StringN(1, 3, 8), rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOfN(rapid.Byte(), 1, 3).Draw(t, "bytes"))
		}), rapid.SampledFrom([]string{"\x00", "\xff\xff", "[", "a", "b"}))
		model := map[string][]any{}
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			batch := map[string][]any{}
			for range rapid.IntRange(0, 120).Draw(t, "points") {
				values := make([]any, len(dims))
				for d := range values {
					values[d] = anyValue(t, &x.reader.points.axes[d])
				}
				id := anyID.Draw(t, "id")
				batch[id], model[id] = values, values
			}
			require.OK(t)(x.PutMany(ctx, pointsOf(batch)))
			for range rapid.IntRange(0, 5).Draw(t, "removals") {
				id := anyID.Draw(t, "gone")
				delete(model, id)
				require.OK(t)(x.Remove(ctx, id))
			}
		}
		for range 3 {
			box := make(Box, len(dims))
			for d := range box {
				box[d] = anySide(t, &x.reader.points.axes[d])
			}
			checkBox(t, x, model, box)
		}
		if report, err := x.Verify(ctx, nil, maintain.Options{}); err != nil || report.Problems() != 0 {
			t.Fatalf("Verify: %+v, %v, want no problems", report, err)
		}
	})
}

// pointsRead returns the number of points that were read in ranges.
func pointsRead(ranges []RangeRead) (n int64) {
	for _, r := range ranges {
		n += r.Read
	}
	return n
}

// checkBox compares Select, Count and Explain with the model.
func checkBox(t *rapid.T, x *Index, model map[string][]any, box Box) {
	ctx := t.Context()
	var want []string
	for id, values := range model {
		if inBox(t, x.Dims(), values, box) {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	all := list(t, x.Select(ctx, box, index.Page{}))
	if got := sortedIDs(all); !slices.Equal(got, want) {
		t.Fatalf("%v: got %q, want %q", box, got, want)
	}
	for i, e := range all {
		for d, v := range e.Values {
			if compareValues(t, x.Dims()[d], v, model[e.ID][d]) != 0 {
				t.Fatalf("%q has values %v, want %v", e.ID, e.Values, model[e.ID])
			}
		}
		if i > 0 && all[i-1].member >= e.member {
			t.Fatalf("member %q comes before %q", all[i-1].member, e.member)
		}
	}
	if n, err := x.Count(ctx, box); err != nil || n != int64(len(want)) {
		t.Fatalf("Count(%v) = %d, %v, want %d", box, n, err, len(want))
	}
	if e, err := x.Explain(ctx, box); err != nil || e.Returned != int64(len(want)) || len(e.Ranges) > x.reader.points.maxRanges+min(x.reader.points.maxRanges, coarseRanges) || e.Read != pointsRead(e.Ranges) {
		t.Fatalf("Explain(%v): %+v, %v, want %d returned", box, e, err, len(want))
	}
	// Read pages in both directions.
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	for _, order := range [][]Entry{all, reversed} {
		page := index.Page{Reverse: len(order) > 0 && &order[0] == &reversed[0], Limit: rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(101, 150)).Draw(t, "limit")}
		var paged []Entry
		for {
			part := list(t, x.Select(ctx, box, page))
			if len(part) > page.Limit {
				t.Fatalf("a page with Limit %d has %d entries", page.Limit, len(part))
			}
			paged = append(paged, part...)
			if len(part) < page.Limit {
				break
			}
			page.After = part[len(part)-1].Cursor()
		}
		if !slices.EqualFunc(paged, order, func(a, b Entry) bool { return a.member == b.member }) {
			t.Fatalf("%v: %d entries in pages of %d, want %d", box, len(paged), page.Limit, len(order))
		}
		page.After, page.Offset = "", rapid.IntRange(0, len(order)+1).Draw(t, "offset")
		want := order[min(page.Offset, len(order)):]
		want = want[:min(page.Limit, len(want))]
		if got := list(t, x.Select(ctx, box, page)); !slices.EqualFunc(got, want, func(a, b Entry) bool { return a.member == b.member }) {
			t.Fatalf("%v: %d entries at offset %d, want %d", box, len(got), page.Offset, len(want))
		}
	}
}
