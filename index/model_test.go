package index

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"retwis/internal/ordered/orderedtest"
	"retwis/internal/require"
	"retwis/maintain"
)

// model holds the expected entries of an index.
type model struct {
	columns []Column
	entries map[string][]any
}

// sorted returns the entries in the order of the index.
func (m *model) sorted() []Entry {
	var all []Entry
	for id, values := range m.entries {
		all = append(all, Entry{ID: id, Values: values})
	}
	slices.SortFunc(all, func(a, b Entry) int {
		for i, c := range m.columns {
			if n := orderedtest.Compare(c.ordered(), a.Values[i], b.Values[i]); n != 0 {
				return n
			}
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}

func drawColumn(t *rapid.T, name string, readable bool) Column {
	o := orderedtest.DrawColumn(t, name, readable)
	return Column{Name: o.Name, Type: Type(o.Type), Digits: o.Digits, Scale: o.Scale, Bits: o.Bits, Desc: o.Desc}
}

// drawCondition draws a condition, and returns it with an equivalent predicate.
func drawCondition(t *rapid.T, columns []Column) (Condition, func([]any) bool) {
	i := rapid.IntRange(0, len(columns)-1).Draw(t, "column")
	c := columns[i]
	asc := c
	asc.Desc = false
	v, w := orderedtest.DrawValue(t, c.ordered()), orderedtest.DrawValue(t, c.ordered())
	order := func(values []any, v any) int { return orderedtest.Compare(asc.ordered(), values[i], v) }
	switch n := rapid.IntRange(0, 8).Draw(t, "condition"); {
	case n >= 7:
		values := []any{v, w, orderedtest.DrawValue(t, c.ordered())}[:rapid.IntRange(0, 3).Draw(t, "values")]
		return In(c.Name, values...), func(x []any) bool {
			return slices.ContainsFunc(values, func(v any) bool { return order(x, v) == 0 })
		}
	case n == 0:
		return Between(c.Name, v, w), func(x []any) bool { return order(x, v) >= 0 && order(x, w) <= 0 }
	case n == 1:
		return AtLeast(c.Name, v), func(x []any) bool { return order(x, v) >= 0 }
	case n == 2:
		return Above(c.Name, v), func(x []any) bool { return order(x, v) > 0 }
	case n == 3:
		return AtMost(c.Name, v), func(x []any) bool { return order(x, v) <= 0 }
	case n == 4:
		return Below(c.Name, v), func(x []any) bool { return order(x, v) < 0 }
	case n == 5 && (c.Type == String || c.Type == Bytes):
		p := orderedtest.DrawText(t)
		return Prefix(c.Name, p), func(x []any) bool { return strings.HasPrefix(fmt.Sprintf("%s", x[i]), p) }
	}
	return Eq(c.Name, v), func(x []any) bool { return order(x, v) == 0 }
}

// A Composite behaves like a sorted list, with one partition or several.
func TestCompositeIsASortedList(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	var n int
	rapid.Check(t, func(t *rapid.T) {
		n++
		readable := rapid.Bool().Draw(t, "readable")
		m := model{entries: map[string][]any{}}
		for i := range rapid.IntRange(1, 3).Draw(t, "columns") {
			m.columns = append(m.columns, drawColumn(t, fmt.Sprint("c", i), readable))
		}
		x, err := newComposite(c, fmt.Sprint("list", n), Options{Columns: m.columns, Partitions: rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "partitions")}, readable)
		require.OK(t)(err)
		values := func() []any {
			var all []any
			for _, c := range m.columns {
				all = append(all, orderedtest.DrawValue(t, c.ordered()))
			}
			return all
		}
		id := func() string { return "i" + orderedtest.DrawText(t) }
		var many []Entry
		for range rapid.IntRange(0, 30).Draw(t, "puts") {
			many = append(many, Entry{ID: id(), Values: values()})
			m.entries[many[len(many)-1].ID] = many[len(many)-1].Values
		}
		require.Gives(t, len(many))(x.PutMany(ctx, slices.Values(many)))
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			switch id := id(); rapid.Bool().Draw(t, "put") {
			case true:
				m.entries[id] = values()
				require.OK(t)(x.Put(ctx, id, m.entries[id]...))
			default:
				_, existed := m.entries[id]
				delete(m.entries, id)
				if n, err := x.Remove(ctx, id); err != nil || n == 1 != existed {
					t.Fatalf("Remove(%q) = %d, %v; the entry existed: %v", id, n, err, existed)
				}
			}
		}
		for range rapid.IntRange(1, 4).Draw(t, "queries") {
			compareQuery(t, ctx, x, &m)
		}
		if report, err := x.Verify(ctx, nil, maintain.Options{}); err != nil || report.Problems() != 0 || report.Checked != int64(len(m.entries)) {
			t.Fatalf("Verify: %+v, %v, want no problems and %d checked", report, err, len(m.entries))
		}
	})
}

// compareQuery draws a query, and compares Count and Select with the model.
func compareQuery(t *rapid.T, ctx context.Context, x *Composite, m *model) {
	var conditions []Condition
	var predicates []func([]any) bool
	for range rapid.IntRange(0, 4).Draw(t, "conditions") {
		w, f := drawCondition(t, m.columns)
		conditions, predicates = append(conditions, w), append(predicates, f)
	}
	var want []Entry
	for _, e := range m.sorted() {
		if !slices.ContainsFunc(predicates, func(f func([]any) bool) bool { return !f(e.Values) }) {
			want = append(want, e)
		}
	}
	if n, err := x.Count(ctx, conditions...); err != nil || n != int64(len(want)) {
		t.Fatalf("Count(%+v) = %d, %v, want %d", conditions, n, err, len(want))
	}
	page := Page{Limit: rapid.IntRange(0, 4).Draw(t, "limit"), Offset: rapid.IntRange(0, 3).Draw(t, "offset"), Reverse: rapid.Bool().Draw(t, "reverse")}
	if page.Reverse {
		slices.Reverse(want)
	}
	// Read all pages in turn. The offset applies to the first page.
	want = want[min(page.Offset, len(want)):]
	for {
		part := want
		if page.Limit > 0 {
			part = want[:min(page.Limit, len(want))]
		}
		got := list(t, x.Select(ctx, page, conditions...))
		if ids(got) != ids(part) {
			t.Fatalf("%+v %+v: %q, want %q", page, conditions, ids(got), ids(part))
		}
		for i, e := range got {
			for j, c := range m.columns {
				if orderedtest.Compare(c.ordered(), e.Values[j], part[i].Values[j]) != 0 {
					t.Fatalf("%s has values %v, want %v", e.ID, e.Values, part[i].Values)
				}
			}
		}
		if len(got) == 0 || page.Limit == 0 {
			return
		}
		want = want[len(part):]
		page.Offset, page.After = 0, got[len(got)-1].Cursor()
	}
}
