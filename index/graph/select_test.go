package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"retwis/index"
	"retwis/index/graph/internal/syntax"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// names generates short names that triples are likely to share, including bytes that entries
// escape.
func names() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"a", "b", "a:", ":", "::", ";", ";;", ";:", "a;", "a:b", "a;b", "spo", "spo:a:b", "ab", "a b", "a-b", "9", "\x00", "\xff", "\xff\xff", "é", "?x", "*", "\n",
		}),
		rapid.StringOfN(rapid.RuneFrom([]rune("a:;9\x00")), 1, 3, -1),
	)
}

func triples() *rapid.Generator[Triple] {
	return rapid.Custom(func(t *rapid.T) Triple {
		return Triple{names().Draw(t, "s"), names().Draw(t, "p"), names().Draw(t, "o")}
	})
}

// comparableName converts a name so that plain byte order is the order of entries, in which the
// end of a name sorts between '9' and ':'.
func comparableName(name string) string {
	var out strings.Builder
	for i := range len(name) {
		if c := name[i]; c < ':' {
			out.WriteByte(c)
		} else {
			out.WriteString(string([]byte{';', c}))
		}
	}
	return out.String() + ":"
}

// compareIn returns a function that compares triples by their entries in an order.
func compareIn(order tripleOrder) func(a, b Triple) int {
	return func(a, b Triple) int {
		for i := range 3 {
			x, y := a.part(order[i]), b.part(order[i])
			if i == 2 { // the last part ends the entry: plain byte order
				return strings.Compare(x, y)
			}
			if c := strings.Compare(comparableName(x), comparableName(y)); c != 0 {
				return c
			}
		}
		return 0
	}
}

// Entries sort like the names of their triples, and parse to the same triples.
func TestEntries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := triples().Draw(t, "a"), triples().Draw(t, "b")
		for _, order := range ordersOf(false) {
			x, y := order.entry(a.escaped()), order.entry(b.escaped())
			if got, want := strings.Compare(x, y), compareIn(order)(a, b); got != want {
				t.Fatalf("%q and %q compare as %d, their triples %q and %q as %d", x, y, got, a, b, want)
			}
			if o, parsed, ok := parseEntry(x); !ok || o != order || parsed != a {
				t.Fatalf("parseEntry(%q) = %q, %q, %v, want %q, %q", x, o, parsed, ok, order, a)
			}
		}
	})
	for _, bad := range []string{"", "spo", "spo:", "spo:a:b", "spo:a:b:c:d", "spo:a:b:;", "spo:a:b:c;x", "xyz:a:b:c", "spo::b:c", "spo:a::c", "spo:a:b:", "SPO:a:b:c"} {
		if order, got, ok := parseEntry(bad); ok {
			t.Errorf("parseEntry(%q) = %q, %q, want failure", bad, order, got)
		}
	}
}

// Select agrees with a linear search, for all options of a page.
func TestSelectAgainstModel(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	ctx := context.Background()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		opt := Options{Compact: rapid.Bool().Draw(t, "compact"), Partitions: rapid.SampledFrom([]int{1, 3}).Draw(t, "partitions")}
		g, err := New(client, fmt.Sprintf("m%d", run), opt)
		require.OK(t)(err)
		model := map[Triple]bool{}
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			batch := rapid.SliceOfN(triples(), 0, 40).Draw(t, "triples")
			before := len(model)
			if rapid.IntRange(0, 2).Draw(t, "what") == 0 {
				for _, triple := range batch {
					delete(model, triple)
				}
				n, err := g.RemoveMany(ctx, slices.Values(batch))
				if err != nil || int(n) != before-len(model) {
					t.Fatalf("RemoveMany() = %d, want %d (%v)", n, before-len(model), err)
				}
				continue
			}
			for _, triple := range batch {
				model[triple] = true
			}
			n, err := g.PutMany(ctx, slices.Values(batch))
			if err != nil || int(n) != len(model)-before {
				t.Fatalf("PutMany() = %d, want %d (%v)", n, len(model)-before, err)
			}
		}
		for range 6 {
			compareSelect(t, g, model)
		}
	})
}

// compareSelect draws a pattern and a page, and compares Count and Select with the model.
func compareSelect(t *rapid.T, g *Graph, model map[Triple]bool) {
	ctx := context.Background()
	p := Pattern{}
	fixed := triples().Draw(t, "fixed")
	if len(model) > 0 && rapid.IntRange(0, 3).Draw(t, "of the graph") > 0 {
		var known []Triple
		for triple := range model {
			known = append(known, triple)
		}
		slices.SortFunc(known, compareIn(spo))
		fixed = rapid.SampledFrom(known).Draw(t, "known")
	}
	named := rapid.IntRange(0, 7).Draw(t, "which are named")
	for i, term := range [3]*Term{&p.S, &p.P, &p.O} {
		if named&(1<<i) != 0 {
			*term = Name(fixed.part("spo"[i]))
		}
	}
	var orders []tripleOrder
	for _, order := range ordersOf(g.store.compact) {
		if p.leads(order, strings.Count(fmt.Sprintf("%03b", named), "1")) {
			orders = append(orders, order)
		}
	}
	order := orders[0]
	if rapid.Bool().Draw(t, "choose the order") {
		order = rapid.SampledFrom(orders).Draw(t, "order")
		p.Order = string(order)
	}
	var want []Triple
	for triple := range model {
		if fits(p.S, triple.S) && fits(p.P, triple.P) && fits(p.O, triple.O) {
			want = append(want, triple)
		}
	}
	slices.SortFunc(want, compareIn(order))
	if n, err := g.Count(ctx, p); err != nil || int(n) != len(want) {
		t.Fatalf("Count(%s) = %d, want %d (%v)", p, n, len(want), err)
	}
	page := index.Page{
		Limit: rapid.IntRange(0, 5).Draw(t, "limit"), Offset: rapid.IntRange(0, 4).Draw(t, "offset"), Reverse: rapid.Bool().Draw(t, "reverse"),
	}
	if page.Reverse {
		slices.Reverse(want)
	}
	if len(want) > 0 && rapid.Bool().Draw(t, "after a cursor") {
		at := rapid.IntRange(0, len(want)-1).Draw(t, "at")
		page.After, want = want[at].Cursor(), want[at+1:]
	}
	want = want[min(page.Offset, len(want)):]
	if page.Limit > 0 {
		want = want[:min(page.Limit, len(want))]
	}
	got, err := collect(g.Select(ctx, p, page))
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("Select(%s, %+v) returned %q, want %q (%v)", p, page, got, want, err)
	}
}

// fits reports whether a name matches a term without variables.
func fits(t Term, name string) bool { return t.term.Kind != syntax.Name || t.term.Text == name }

// Pages that are read during writes contain each unchanged triple exactly once.
func TestSelectPagesWhileWriting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, partitions := range []int{1, 4} {
		g := newGraph(t, redistest.DB(t).Client(t), "g", Options{Partitions: partitions})
		var unchanged []Triple
		for i := range 1200 {
			unchanged = append(unchanged, Triple{fmt.Sprintf("s%04d", i), "p", "o"})
		}
		put(t, g, unchanged...)
		for offset, want := range map[int]int{0: 1200, 600: 600, 1199: 1, 1200: 0} {
			if found := all(t, g.Select(ctx, Pattern{}, index.Page{Offset: offset})); len(found) != want || want > 0 && found[0] != unchanged[offset] {
				t.Errorf("%d triples after an offset of %d, want %d", len(found), offset, want)
			}
		}
		stop, done := make(chan struct{}), make(chan error)
		go func() {
			var err error
			for i := 0; err == nil; i++ {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				other := Triple{fmt.Sprintf("s%04dx", i*37%1200), "p", "o"}
				if _, err = g.Put(ctx, other); err == nil && i%2 == 0 {
					_, err = g.Remove(ctx, other)
				}
			}
			done <- err
		}()
		for _, reverse := range []bool{false, true} {
			seen := map[Triple]int{}
			page := index.Page{Limit: 70, Reverse: reverse}
			for {
				found := all(t, g.Select(ctx, Pattern{P: Name("p")}, page))
				if len(found) == 0 {
					break
				}
				for _, triple := range found {
					seen[triple]++
				}
				page.After = found[len(found)-1].Cursor()
			}
			for _, triple := range unchanged {
				if seen[triple] != 1 {
					t.Errorf("%v is seen %d times, want 1", triple, seen[triple])
				}
				delete(seen, triple)
			}
			for triple, n := range seen {
				if n > 1 {
					t.Errorf("%v is seen %d times, want at most 1", triple, n)
				}
			}
		}
		close(stop)
		require.OK(t)(<-done)
	}
}

// Invalid arguments, other declarations, missing graphs and damaged entries return errors.
func TestRefusals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := redistest.DB(t).Client(t)
	g := newGraph(t, client, "g", Options{})
	for _, bad := range []Triple{{"", "p", "o"}, {"s", "", "o"}, {"s", "p", ""}, {"s", "p", strings.Repeat("x", MaxName+1)}} {
		if _, err := g.Put(ctx, bad); !errors.Is(err, index.ErrValue) {
			t.Errorf("put %.10q: %v, want ErrValue", bad, err)
		}
	}
	longest := Triple{strings.Repeat(":", MaxName), strings.Repeat(";", MaxName), strings.Repeat("\xff", MaxName)}
	put(t, g, longest)
	if has, err := g.Has(ctx, longest); !has || err != nil {
		t.Errorf("Has of the longest names = %v, %v", has, err)
	}
	if found := all(t, g.Select(ctx, Pattern{S: Name(longest.S)}, index.Page{})); len(found) != 1 || found[0] != longest {
		t.Errorf("the longest names are found %d times, want 1", len(found))
	}
	for name, page := range map[string]index.Page{
		"limit": {Limit: -1}, "offset": {Offset: -1}, "cursor": {After: "!"}, "no triple": {After: "YQ"},
		"another pattern": {After: Triple{"other", "p", "o"}.Cursor()},
	} {
		if _, err := collect(g.Select(ctx, Pattern{S: Name("s")}, page)); !errors.Is(err, index.ErrValue) {
			t.Errorf("%s: %v, want ErrValue", name, err)
		}
	}
	for _, p := range []Pattern{{S: Var("x")}, {P: Path("p", 1, 2)}, {S: Name("s"), Order: "pos"}, {Order: "abc"}} {
		if _, err := collect(g.Select(ctx, p, index.Page{})); !errors.Is(err, index.ErrValue) {
			t.Errorf("%s: %v, want ErrValue", p, err)
		}
	}
	for _, opt := range []Options{{Compact: true}, {Partitions: 2}} {
		other := newGraph(t, client, "g", opt)
		if _, err := other.Put(ctx, Triple{"s", "p", "o"}); !errors.Is(err, index.ErrDeclared) {
			t.Errorf("put with other options %+v: %v, want ErrDeclared", opt, err)
		}
		if _, err := other.Len(ctx); !errors.Is(err, index.ErrDeclared) {
			t.Errorf("count with other options %+v: %v, want ErrDeclared", opt, err)
		}
	}
	if _, err := Open(ctx, client, "nothing"); !errors.Is(err, index.ErrNotFound) {
		t.Errorf("open a missing graph: %v, want ErrNotFound", err)
	}
	if _, err := New(client, "", Options{}); err == nil {
		t.Error("New accepted an empty key")
	}
	for _, opt := range []Options{{Compact: true, Partitions: 1}, {Partitions: 5}} {
		key := fmt.Sprint(opt)
		put(t, newGraph(t, client, "g"+key, opt), Triple{"s", "p", "o"})
		opened, err := Open(ctx, client, "g"+key)
		if err != nil || opened.Options() != opt {
			t.Errorf("opened as %+v, want %+v (%v)", opened.Options(), opt, err)
		}
	}
	require.OK(t)(client.Do(ctx, client.B().Zadd().Key("g").ScoreMember().ScoreMember(0, "spo:a:b").Build()).Error())
	if _, err := collect(g.Select(ctx, Pattern{}, index.Page{})); !errors.Is(err, index.ErrCorrupt) {
		t.Errorf("select a damaged entry: %v, want ErrCorrupt", err)
	}
}

func TestOpenWithoutAClient(t *testing.T) {
	if _, err := Open(t.Context(), nil, "g"); err == nil {
		t.Error("Open with a nil client returned no error")
	}
}
