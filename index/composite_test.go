package index

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
)

func columns(t testing.TB, text string) []Column {
	t.Helper()
	all, err := ParseColumns(text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func composite(t testing.TB, c rueidis.Client, key string, opt Options) *Composite {
	t.Helper()
	x, err := NewComposite(c, key, opt)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// list reads all that a query yields.
func list[E any](t interface{ Fatal(...any) }, entries iter.Seq2[E, error]) []E {
	var all []E
	for e, err := range entries {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func ids(entries []Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.ID)
	}
	return strings.Join(all, " ")
}

// healthy fails where Verify finds something.
func healthy(t testing.TB, verify func(context.Context, *Source[[]any], Upkeep) (Report, error)) {
	t.Helper()
	report, err := verify(t.Context(), nil, Upkeep{})
	if err != nil || report.Problems() != 0 {
		t.Fatalf("verify: %+v, %v", report, err)
	}
}

// The tutorial's index of rooms and prices, as it writes it.
func TestRooms(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	rooms := composite(t, c, "rooms", Options{Columns: columns(t, "room:int(4),price:decimal(6,2)"), Readable: true})
	for id, values := range map[string][]any{"90": {56, "28.44"}, "91": {56, "9.99"}, "92": {56, "30.00"}, "93": {57, "12"}, "94": {56, "10"}} {
		if err := rooms.Put(ctx, id, values...); err != nil {
			t.Fatal(err)
		}
	}
	got := list(t, rooms.Select(ctx, Page{}, Equal("room", 56), Between("price", 10, 30)))
	if ids(got) != "94 90 92" {
		t.Fatalf("room 56 between 10 and 30: %s", ids(got))
	}
	if e := got[1]; e.Values[0] != int64(56) || e.Values[1] != "28.44" {
		t.Fatalf("it says %v", e.Values)
	}
	members, err := c.Do(ctx, c.B().Zrange().Key("rooms").Min("[0056:0010.00").Max("[0056:0030.00:\xff").Bylex().Build()).AsStrSlice()
	if err != nil || strings.Join(members, " ") != "0056:0010.00:94 0056:0028.44:90 0056:0030.00:92" {
		t.Fatalf("with redis-cli: %q, %v", members, err)
	}
	if content, err := c.Do(ctx, c.B().Hget().Key("rooms.content").Field("90").Build()).ToString(); err != nil || content != "0056:0028.44:90" {
		t.Fatalf("beside it: %q, %v", content, err)
	}
	// Put again it moves, and to remove it takes the id.
	if err := rooms.Put(ctx, "90", 56, "31"); err != nil {
		t.Fatal(err)
	}
	if got := list(t, rooms.Select(ctx, Page{}, Equal("room", 56))); ids(got) != "91 94 92 90" {
		t.Fatalf("after a move: %s", ids(got))
	}
	if n, err := rooms.Remove(ctx, "90", "91", "none"); err != nil || n != 2 {
		t.Fatalf("removed %d, %v", n, err)
	}
	if n, err := rooms.Len(ctx); err != nil || n != 3 {
		t.Fatalf("%d are left, %v", n, err)
	}
	healthy(t, rooms.Verify)
}

// model is what an index has to be: a list in order.
type model struct {
	columns []Column
	entries map[string][]any
}

func (m *model) sorted() []Entry {
	var all []Entry
	for id, values := range m.entries {
		all = append(all, Entry{ID: id, Values: values})
	}
	slices.SortFunc(all, func(a, b Entry) int {
		for i, c := range m.columns {
			if n := compareValues(c, a.Values[i], b.Values[i]); n != 0 {
				return n
			}
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}

// drawWhere draws a condition and what it means.
func drawWhere(t *rapid.T, columns []Column) (Where, func([]any) bool) {
	i := rapid.IntRange(0, len(columns)-1).Draw(t, "column")
	c := columns[i]
	asc := c
	asc.Desc = false
	v, w := drawValue(t, c), drawValue(t, c)
	order := func(values []any, v any) int { return compareValues(asc, values[i], v) }
	switch n := rapid.IntRange(0, 6).Draw(t, "condition"); {
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
		p := drawBytes(t)
		return StartsWith(c.Name, p), func(x []any) bool { return strings.HasPrefix(fmt.Sprintf("%s", x[i]), p) }
	}
	return Equal(c.Name, v), func(x []any) bool { return order(x, v) == 0 }
}

// A Composite does what a sorted list does, on one server and in partitions.
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
		x, err := NewComposite(c, fmt.Sprint("list", n), Options{Columns: m.columns, Readable: readable, Partitions: rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "partitions")})
		if err != nil {
			t.Fatal(err)
		}
		values := func() []any {
			var all []any
			for _, c := range m.columns {
				all = append(all, drawValue(t, c))
			}
			return all
		}
		id := func() string { return "i" + drawBytes(t) }
		var many []Entry
		for range rapid.IntRange(0, 30).Draw(t, "puts") {
			many = append(many, Entry{ID: id(), Values: values()})
			m.entries[many[len(many)-1].ID] = many[len(many)-1].Values
		}
		if got, err := x.PutMany(ctx, slices.Values(many)); err != nil || got != len(many) {
			t.Fatal(got, err)
		}
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			switch id := id(); rapid.Bool().Draw(t, "put") {
			case true:
				m.entries[id] = values()
				if err := x.Put(ctx, id, m.entries[id]...); err != nil {
					t.Fatal(err)
				}
			default:
				_, was := m.entries[id]
				delete(m.entries, id)
				if n, err := x.Remove(ctx, id); err != nil || n == 1 != was {
					t.Fatal(n, was, err)
				}
			}
		}
		for range rapid.IntRange(1, 4).Draw(t, "queries") {
			compareQuery(t, ctx, x, &m)
		}
		if report, err := x.Verify(ctx, nil, Upkeep{}); err != nil || report.Problems() != 0 || report.Checked != int64(len(m.entries)) {
			t.Fatalf("%+v, %v", report, err)
		}
	})
}

// compareQuery makes up a query and compares the answers.
func compareQuery(t *rapid.T, ctx context.Context, x *Composite, m *model) {
	var conditions []Where
	var hold []func([]any) bool
	for range rapid.IntRange(0, 4).Draw(t, "conditions") {
		w, f := drawWhere(t, m.columns)
		conditions, hold = append(conditions, w), append(hold, f)
	}
	var want []Entry
	for _, e := range m.sorted() {
		if !slices.ContainsFunc(hold, func(f func([]any) bool) bool { return !f(e.Values) }) {
			want = append(want, e)
		}
	}
	if n, err := x.Count(ctx, conditions...); err != nil || n != int64(len(want)) {
		t.Fatalf("%+v: counted %d of %d, %v", conditions, n, len(want), err)
	}
	page := Page{Limit: rapid.IntRange(0, 4).Draw(t, "limit"), Offset: rapid.IntRange(0, 3).Draw(t, "offset"), Reverse: rapid.Bool().Draw(t, "reverse")}
	if page.Reverse {
		slices.Reverse(want)
	}
	// All pages behind each other: with the offset once.
	want = want[min(page.Offset, len(want)):]
	for {
		part := want
		if page.Limit > 0 {
			part = want[:min(page.Limit, len(want))]
		}
		got := list(t, x.Select(ctx, page, conditions...))
		if ids(got) != ids(part) {
			t.Fatalf("%+v %+v: %q, expected %q", page, conditions, ids(got), ids(part))
		}
		for i, e := range got {
			for j, c := range m.columns {
				if compareValues(c, e.Values[j], part[i].Values[j]) != 0 {
					t.Fatalf("%s says %v, expected %v", e.ID, e.Values, part[i].Values)
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

// A long range is read in steps, and one that is sifted as well.
func TestLongRanges(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	for _, partitions := range []int{1, 4} {
		x := composite(t, c, fmt.Sprint("long", partitions), Options{Columns: columns(t, "a:int,b:int,c:string"), Partitions: partitions})
		const n = 5000
		put, err := x.PutMany(ctx, func(yield func(Entry) bool) {
			for i := range n {
				if !yield(Entry{ID: fmt.Sprint(i), Values: []any{i / 2500, i % 7, fmt.Sprint(i)}}) {
					return
				}
			}
		})
		if err != nil || put != n {
			t.Fatal(put, err)
		}
		for _, reverse := range []bool{false, true} {
			all := list(t, x.Select(ctx, Page{Reverse: reverse}))
			if len(all) != n || !slices.IsSortedFunc(all, func(a, b Entry) int {
				if reverse {
					a, b = b, a
				}
				return cmp.Or(cmp.Compare(a.Values[0].(int64), b.Values[0].(int64)), cmp.Compare(a.Values[1].(int64), b.Values[1].(int64)))
			}) {
				t.Fatalf("%d entries, or not in order", len(all))
			}
			sifted := list(t, x.Select(ctx, Page{Reverse: reverse}, Above("a", -1), Equal("b", 3)))
			if len(sifted) != 715 && len(sifted) != 714 {
				t.Fatalf("sifted %d", len(sifted))
			}
			if count, err := x.Count(ctx, Above("a", -1), Equal("b", 3)); err != nil || count != int64(len(sifted)) {
				t.Fatalf("counted %d of %d, %v", count, len(sifted), err)
			}
			if few := list(t, x.Select(ctx, Page{Reverse: reverse, Offset: 700, Limit: 5}, Above("a", -1), Equal("b", 3))); ids(few) != ids(sifted[700:705]) {
				t.Fatalf("%s, expected %s", ids(few), ids(sifted[700:705]))
			}
		}
	}
}

// An index remembers how it was declared.
func TestDeclaredOnce(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	for i, partitions := range []int{1, 3} {
		key := fmt.Sprint("declared", i)
		if _, err := OpenComposite(ctx, c, key); !isErr(err, ErrNotFound) {
			t.Fatalf("open before: %v", err)
		}
		x := composite(t, c, key, Options{Columns: columns(t, "a:int,b:string desc"), Partitions: partitions})
		if _, err := x.Get(ctx, "1"); !isErr(err, ErrNotFound) {
			t.Fatalf("get before: %v", err)
		}
		if err := x.Put(ctx, "1", 5, "five"); err != nil {
			t.Fatal(err)
		}
		opened, err := OpenComposite(ctx, c, key)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := opened.Get(ctx, "1"); err != nil || e.Values[1] != "five" {
			t.Fatalf("%+v, %v", e, err)
		}
		for _, wrong := range []Options{
			{Columns: columns(t, "a:int,b:string"), Partitions: partitions},
			{Columns: columns(t, "a:int,b:string desc"), Partitions: partitions + 1},
		} {
			y := composite(t, c, key, wrong)
			if err := y.Put(ctx, "2", 5, "five"); !isErr(err, ErrDeclared) || !strings.Contains(err.Error(), "b:string desc") {
				t.Fatalf("put: %v", err)
			}
			for _, err := range y.Select(ctx, Page{}) {
				if !isErr(err, ErrDeclared) {
					t.Fatalf("select: %v", err)
				}
			}
		}
		if n, err := x.Len(ctx); err != nil || n != 1 {
			t.Fatal(n, err)
		}
	}
}

// A key that holds something else is left alone, and so is what is beside it.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	if err := c.Do(ctx, c.B().Set().Key("foreign").Value("mine").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	x := composite(t, c, "foreign", Options{Columns: columns(t, "a:int")})
	if err := x.Put(ctx, "1", 1); err == nil || !strings.Contains(err.Error(), "the key holds a string and no index") {
		t.Fatal(err)
	}
	if _, err := OpenComposite(ctx, c, "foreign"); !isErr(err, ErrNotFound) {
		t.Fatal(err)
	}
	if n, err := c.Do(ctx, c.B().Dbsize().Build()).AsInt64(); err != nil || n != 1 {
		t.Fatal(n, err)
	}
}

func TestWrongQueries(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	x := composite(t, c, "wrong", Options{Columns: columns(t, "a:int,b:string")})
	for want, conditions := range map[string][]Where{
		`no column "x" in a:int,b:string`: {Equal("x", 1)},
		"column a: it is string":          {Above("a", "one")},
		"only strings and bytes":          {StartsWith("a", "1")},
	} {
		if _, err := x.Count(ctx, conditions...); !isErr(err, ErrValue) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	for _, err := range x.Select(ctx, Page{After: "?"}) {
		if err == nil || !strings.Contains(err.Error(), "cursor") {
			t.Errorf("a wrong cursor: %v", err)
		}
	}
	if err := x.Put(ctx, "", 1, "b"); !isErr(err, ErrValue) {
		t.Errorf("no id: %v", err)
	}
	if err := x.Put(ctx, "1", 1); !isErr(err, ErrValue) || !strings.Contains(err.Error(), "1 values for 2 columns") {
		t.Errorf("a value too few: %v", err)
	}
	n, err := x.PutMany(ctx, slices.Values([]Entry{{ID: "1", Values: []any{1, "b"}}, {ID: "2", Values: []any{"2", "b"}}, {ID: "3", Values: []any{3, "b"}}}))
	if n != 1 || !isErr(err, ErrValue) || !strings.Contains(err.Error(), `id "2"`) {
		t.Errorf("a wrong value among others: %d, %v", n, err)
	}
}

// Any Limit and Offset is a part of the answer, however great or small.
func TestOddPages(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	for _, partitions := range []int{1, 2} {
		x := composite(t, c, fmt.Sprintf("odd%d", partitions), Options{Columns: columns(t, "a:int"), Partitions: partitions})
		y, err := NewNumeric[int](c, fmt.Sprintf("oddnumbers%d", partitions), NumericOptions{Partitions: partitions})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 9 {
			if err := cmpOr(x.Put(ctx, fmt.Sprint(i), i), y.Put(ctx, fmt.Sprint(i), i)); err != nil {
				t.Fatal(err)
			}
		}
		for want, page := range map[string]Page{
			"0 1 2":             {Limit: 3, Offset: -5},
			"0 1":               {Limit: 2, Offset: math.MinInt},
			"7 8":               {Limit: math.MaxInt, Offset: 7},
			"":                  {Limit: 3, Offset: math.MaxInt},
			"0 1 2 3 4 5 6 7 8": {Limit: math.MinInt},
		} {
			if got := ids(list(t, x.Select(ctx, page))); got != want {
				t.Errorf("%d partitions, %+v: %q, expected %q", partitions, page, got, want)
			}
			if got := numericIDs(list(t, y.Select(ctx, Span[int]{}, page))); got != want {
				t.Errorf("numbers, %d partitions, %+v: %q, expected %q", partitions, page, got, want)
			}
		}
	}
}

// An answer can be read more than once, and by several at a time.
func TestReadAnswerAgain(t *testing.T) {
	t.Parallel()
	x, y := composite(t, client(t), "again", Options{Columns: columns(t, "a:int")}), numeric[int](t, "again", NumericOptions{})
	for i := range 9 {
		if err := cmpOr(x.Put(t.Context(), fmt.Sprint(i), i), y.Put(t.Context(), fmt.Sprint(i), i)); err != nil {
			t.Fatal(err)
		}
	}
	page := Page{Offset: 2, Limit: 3}
	entries, numbers := x.Select(t.Context(), page, AtLeast("a", 1)), y.Select(t.Context(), From(1), page)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for e, err := range entries {
				if err != nil || e.ID < "3" || e.ID > "5" {
					t.Error(e, err)
				}
			}
			for e, err := range numbers {
				if err != nil || e.ID < "3" || e.ID > "5" {
					t.Error(e, err)
				}
			}
		})
	}
	all.Wait()
}

// A range that is none says so, with a cursor or without.
func TestWrongRanges(t *testing.T) {
	t.Parallel()
	x, err := NewLexical(client(t), "ranges", LexicalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []LexRange{{}, {Min: "a", Max: "+"}, {Min: "-", Max: "b"}, {Max: "[c"}} {
		for _, page := range []Page{{}, {After: Member{"b", "b"}.Cursor()}, {After: Member{"b", "b"}.Cursor(), Reverse: true}} {
			q := LexQuery{Page: page, Ranges: []LexRange{r}}
			for _, err := range x.Select(t.Context(), q) {
				if !isErr(err, ErrValue) {
					t.Errorf("%q, %+v: %v", r, page, err)
				}
			}
			if _, err := x.Count(t.Context(), q); !isErr(err, ErrValue) {
				t.Errorf("counting %q: %v", r, err)
			}
		}
	}
}

func isErr(err, target error) bool {
	return err != nil && strings.Contains(err.Error(), target.Error())
}

// Every type of index works on a Cluster: in one slot, and spread.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	c, ctx := cluster.Client(t), t.Context()
	if _, err := NewComposite(c, "rooms", Options{Columns: columns(t, "a:int")}); err == nil || !strings.Contains(err.Error(), `call it "{rooms}"`) {
		t.Fatalf("a key without a hash tag: %v", err)
	}
	for key, partitions := range map[string]int{"{one}": 1, "many": 8, "app:{many}:x": 8} {
		x := composite(t, c, key, Options{Columns: columns(t, "a:int,b:int"), Partitions: partitions})
		n, err := x.PutMany(ctx, func(yield func(Entry) bool) {
			for i := range 3000 {
				if !yield(Entry{ID: fmt.Sprint(i), Values: []any{i * 7919 % 3000, i}}) {
					return
				}
			}
		})
		if err != nil || n != 3000 {
			t.Fatal(n, err)
		}
		all := list(t, x.Select(ctx, Page{}))
		for i, e := range all {
			if e.Values[0] != int64(i) {
				t.Fatalf("%s: place %d has %v", key, i, e.Values)
			}
		}
		page := list(t, x.Select(ctx, Page{Limit: 10, Offset: 5, Reverse: true}, Below("a", 1000)))
		if len(page) != 10 || page[0].Values[0] != int64(994) {
			t.Fatalf("%s: %v", key, page)
		}
		if n, err := x.Count(ctx, AtLeast("a", 2000), Above("b", 1500)); err != nil || n < 400 || n > 600 {
			t.Fatal(n, err)
		}
		healthy(t, x.Verify)
	}
}

// The tutorial's first lexicographic index: members that are their own ids.
func TestWords(t *testing.T) {
	t.Parallel()
	words, err := NewLexical(client(t), "myindex", LexicalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"baaa", "abbb", "aaaa", "bbbb"} {
		if err := words.Put(t.Context(), Member{w, w}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(q LexQuery) string {
		var all []string
		for _, m := range list(t, words.Select(t.Context(), q)) {
			all = append(all, m.ID)
		}
		return strings.Join(all, " ")
	}
	for want, q := range map[string]LexQuery{
		"aaaa abbb baaa bbbb": {},
		"aaaa abbb":           {Ranges: []LexRange{{"[a", "(b"}}},
		"bbbb":                {Ranges: []LexRange{{"[b", "+"}}, Page: Page{Offset: 1}},
		"bbbb baaa":           {Ranges: []LexRange{Prefix("b")}, Page: Page{Reverse: true}},
		"aaaa bbbb":           {Ranges: []LexRange{{"-", "(ab"}, {"[bb", "+"}}},
		"baaa":                {Keep: func(m string) bool { return strings.HasPrefix(m, "b") }, Page: Page{Limit: 1}},
	} {
		if got := read(q); got != want {
			t.Errorf("%+v: %q, expected %q", q, got, want)
		}
	}
	if n, err := words.Count(t.Context(), LexQuery{Ranges: []LexRange{{"[a", "(b"}, {"[bb", "+"}}}); err != nil || n != 3 {
		t.Fatal(n, err)
	}
}
