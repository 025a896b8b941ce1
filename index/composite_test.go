package index

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/index/decimal"
	"retwis/index/internal/conditions"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

func columns(t testing.TB, text string) []Column {
	t.Helper()
	all, err := ParseColumns(text)
	require.OK(t)(err)
	return all
}

func composite(t testing.TB, c rueidis.Client, key string, opt Options) *Composite {
	t.Helper()
	x, err := NewComposite(c, key, opt)
	require.OK(t)(err)
	return x
}

// readable returns an index in the tutorial's text encoding.
func readable(t testing.TB, c rueidis.Client, key string, opt Options) *Composite {
	t.Helper()
	x, err := newComposite(c, key, opt, true)
	require.OK(t)(err)
	return x
}

// list returns the results of a query as a slice.
func list[E any](t require.T, entries iter.Seq2[E, error]) []E {
	var all []E
	for e, err := range entries {
		require.OK(t)(err)
		all = append(all, e)
	}
	return all
}

// ids returns the IDs of entries, separated by spaces.
func ids(entries []Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.ID)
	}
	return strings.Join(all, " ")
}

// healthy fails the test if Verify finds a problem.
func healthy(t testing.TB, verify func(context.Context, *Source[[]any], maintain.Options) (maintain.Report, error)) {
	t.Helper()
	report, err := verify(t.Context(), nil, maintain.Options{})
	if err != nil || report.Problems() != 0 {
		t.Fatalf("Verify: %+v, %v, want no problems", report, err)
	}
}

// The tutorial's index of rooms and prices, with the data of the tutorial.
func TestRooms(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	rooms := readable(t, c, "rooms", Options{Columns: columns(t, "room:int(4),price:decimal(6,2)")})
	for id, values := range map[string][]any{"90": {56, "28.44"}, "91": {56, "9.99"}, "92": {56, "30.00"}, "93": {57, "12"}, "94": {56, "10"}} {
		require.OK(t)(rooms.Put(ctx, id, values...))
	}
	got := list(t, rooms.Select(ctx, Page{}, Eq("room", 56), Between("price", 10, 30)))
	if ids(got) != "94 90 92" {
		t.Fatalf("room 56 with prices from 10 to 30: %q, want %q", ids(got), "94 90 92")
	}
	if e := got[1]; e.Values[0] != int64(56) || e.Values[1] != decimal.New(2844, 2) {
		t.Fatalf("entry 90 has values %v, want 56 and 28.44", e.Values)
	}
	members, err := c.Do(ctx, c.B().Zrange().Key("rooms").Min("[0056:0010.00").Max("[0056:0030.00:\xff").Bylex().Build()).AsStrSlice()
	if err != nil || strings.Join(members, " ") != "0056:0010.00:94 0056:0028.44:90 0056:0030.00:92" {
		t.Fatalf("ZRANGE BYLEX: %q, %v", members, err)
	}
	if content, err := c.Do(ctx, c.B().Hget().Key("rooms.content").Field("90").Build()).ToString(); err != nil || content != "0056:0028.44:90" {
		t.Fatalf("the reverse index has %q, %v", content, err)
	}
	// Put moves an existing entry; Remove needs only the ID.
	require.OK(t)(rooms.Put(ctx, "90", 56, "31"))
	if got := list(t, rooms.Select(ctx, Page{}, Eq("room", 56))); ids(got) != "91 94 92 90" {
		t.Fatalf("after Put of a new price: %q, want %q", ids(got), "91 94 92 90")
	}
	if n, err := rooms.Remove(ctx, "90", "91", "none"); err != nil || n != 2 {
		t.Fatalf("Remove() = %d, %v, want 2", n, err)
	}
	if n, err := rooms.Len(ctx); err != nil || n != 3 {
		t.Fatalf("Len() = %d, %v, want 3", n, err)
	}
	healthy(t, rooms.Verify)
}

// Long ranges are read in steps, filtered or not.
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
			t.Fatalf("PutMany() = %d, %v, want %d", put, err, n)
		}
		for _, reverse := range []bool{false, true} {
			all := list(t, x.Select(ctx, Page{Reverse: reverse}))
			if len(all) != n || !slices.IsSortedFunc(all, func(a, b Entry) int {
				if reverse {
					a, b = b, a
				}
				return cmp.Or(cmp.Compare(a.Values[0].(int64), b.Values[0].(int64)), cmp.Compare(a.Values[1].(int64), b.Values[1].(int64)))
			}) {
				t.Fatalf("Select(reverse %v) returned %d entries, want %d in order", reverse, len(all), n)
			}
			filtered := list(t, x.Select(ctx, Page{Reverse: reverse}, Above("a", -1), Eq("b", 3)))
			if len(filtered) != 715 && len(filtered) != 714 {
				t.Fatalf("Select with conditions returned %d entries, want 714 or 715", len(filtered))
			}
			if count, err := x.Count(ctx, Above("a", -1), Eq("b", 3)); err != nil || count != int64(len(filtered)) {
				t.Fatalf("Count() = %d, %v, want %d", count, err, len(filtered))
			}
			if page := list(t, x.Select(ctx, Page{Reverse: reverse, Offset: 700, Limit: 5}, Above("a", -1), Eq("b", 3))); ids(page) != ids(filtered[700:705]) {
				t.Fatalf("page at offset 700: %s, want %s", ids(page), ids(filtered[700:705]))
			}
		}
	}
}

// In matches exactly its values, for any number of values on any column.
func TestManyValues(t *testing.T) {
	t.Parallel()
	x, ctx := composite(t, client(t), "values", Options{Columns: columns(t, "a:int,b:int")}), t.Context()
	if _, err := x.PutMany(ctx, func(yield func(Entry) bool) {
		for i := range 3000 {
			if !yield(Entry{ID: fmt.Sprint(i), Values: []any{i, i % 3000 / 2}}) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{3, conditions.MaxRanges, conditions.MaxRanges + 1, 1400} {
		var even []any
		for i := range n {
			even = append(even, 2*i)
		}
		for want, where := range map[int][]Condition{
			n:              {In("a", even...)},
			min(2*n, 1500): {In("b", even...)}, // 0, 1, 4, 5, …
			(2*n + 3) / 4:  {In("a", even...), In("b", even...)},
		} {
			all := list(t, x.Select(ctx, Page{}, where...))
			for _, e := range all {
				for i, c := range where {
					column := 0
					if c.condition.Column == "b" {
						column = 1
					}
					if v := e.Values[column].(int64); v%2 != 0 || v >= int64(2*n) {
						t.Fatalf("%d values, condition %d: %v", n, i, e.Values)
					}
				}
			}
			if count, err := x.Count(ctx, where...); err != nil || int(count) != len(all) || len(all) != want {
				t.Fatalf("%d values: Select returned %d entries, Count %d, want %d; error %v", n, len(all), count, want, err)
			}
		}
	}
}

// An index keeps its declaration.
func TestDeclaredOnce(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	for i, partitions := range []int{1, 3} {
		key := fmt.Sprint("declared", i)
		if _, err := OpenComposite(ctx, c, key); !isErr(err, ErrNotFound) {
			t.Fatalf("open before the first Put: %v, want ErrNotFound", err)
		}
		x := composite(t, c, key, Options{Columns: columns(t, "a:int,b:string desc"), Partitions: partitions})
		if _, err := x.Get(ctx, "1"); !isErr(err, ErrNotFound) {
			t.Fatalf("get before the first Put: %v, want ErrNotFound", err)
		}
		require.OK(t)(x.Put(ctx, "1", 5, "five"))
		opened, err := OpenComposite(ctx, c, key)
		require.OK(t)(err)
		if e, err := opened.Get(ctx, "1"); err != nil || e.Values[1] != "five" {
			t.Fatalf("%+v, %v", e, err)
		}
		for _, wrong := range []Options{
			{Columns: columns(t, "a:int,b:string"), Partitions: partitions},
			{Columns: columns(t, "a:int,b:string desc"), Partitions: partitions + 1},
		} {
			y := composite(t, c, key, wrong)
			if err := y.Put(ctx, "2", 5, "five"); !isErr(err, ErrDeclared) || !strings.Contains(err.Error(), "b:string desc") {
				t.Fatalf("put: %v, want ErrDeclared", err)
			}
			for _, err := range y.Select(ctx, Page{}) {
				if !isErr(err, ErrDeclared) {
					t.Fatalf("select: %v, want ErrDeclared", err)
				}
			}
		}
		require.Gives(t, 1)(x.Len(ctx))
	}
}

// A key that holds other data is not changed, and no other key is written.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	require.OK(t)(c.Do(ctx, c.B().Set().Key("foreign").Value("mine").Build()).Error())
	x := composite(t, c, "foreign", Options{Columns: columns(t, "a:int")})
	if err := x.Put(ctx, "1", 1); !isErr(err, ErrForeign) || !strings.Contains(err.Error(), "the key foreign holds a string") {
		t.Fatalf("put: %v", err)
	}
	if _, err := OpenComposite(ctx, c, "foreign"); !isErr(err, ErrNotFound) {
		t.Fatalf("open: %v, want ErrNotFound", err)
	}
	require.Gives(t, 1)(c.Do(ctx, c.B().Dbsize().Build()).AsInt64())
}

func TestWrongQueries(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	x := composite(t, c, "wrong", Options{Columns: columns(t, "a:int,b:string")})
	for want, conditions := range map[string][]Condition{
		`no column "x" in a:int,b:string`:   {Eq("x", 1)},
		`column a: "one" is not an integer`: {Above("a", "one")},
		"only strings and bytes":            {Prefix("a", "1")},
	} {
		if _, err := x.Count(ctx, conditions...); !isErr(err, ErrValue) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want error with %q", err, want)
		}
	}
	for _, err := range x.Select(ctx, Page{After: "?"}) {
		if err == nil || !strings.Contains(err.Error(), "cursor") {
			t.Errorf("invalid cursor: %v", err)
		}
	}
	if err := x.Put(ctx, "", 1, "b"); !isErr(err, ErrValue) {
		t.Errorf("empty ID: %v, want ErrValue", err)
	}
	if err := x.Put(ctx, "1", 1); !isErr(err, ErrValue) || !strings.Contains(err.Error(), "1 values for 2 columns") {
		t.Errorf("one value for two columns: %v", err)
	}
	n, err := x.PutMany(ctx, slices.Values([]Entry{{ID: "1", Values: []any{1, "b"}}, {ID: "2", Values: []any{"two", "b"}}, {ID: "3", Values: []any{3, "b"}}}))
	if n != 1 || !isErr(err, ErrValue) || !strings.Contains(err.Error(), `id "2"`) {
		t.Errorf("an invalid value in the middle: %d, %v", n, err)
	}
}

// isErr reports whether the text of err contains the text of target.
func isErr(err, target error) bool {
	return err != nil && strings.Contains(err.Error(), target.Error())
}

// A Composite works on a Cluster, in one slot and in several.
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
			t.Fatalf("PutMany() = %d, %v, want 3000", n, err)
		}
		all := list(t, x.Select(ctx, Page{}))
		for i, e := range all {
			if e.Values[0] != int64(i) {
				t.Fatalf("%s: entry %d has values %v", key, i, e.Values)
			}
		}
		page := list(t, x.Select(ctx, Page{Limit: 10, Offset: 5, Reverse: true}, Below("a", 1000)))
		if len(page) != 10 || page[0].Values[0] != int64(994) {
			t.Fatalf("%s: page %v, want 10 entries from 994", key, page)
		}
		if n, err := x.Count(ctx, AtLeast("a", 2000), Above("b", 1500)); err != nil || n < 400 || n > 600 {
			t.Fatalf("Count() = %d, %v, want 400 to 600", n, err)
		}
		healthy(t, x.Verify)
	}
}
