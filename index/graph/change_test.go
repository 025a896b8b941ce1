package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"retwis/index"
	"retwis/index/graph/internal/syntax"
	"retwis/internal/redistest"
	"retwis/maintain"
)

// setOnce replaces objects in a graph and in its model.
func setOnce(t *rapid.T, g *Graph, model map[Triple]bool, like Triple) {
	objects := rapid.SliceOfN(names(), 0, 5).Draw(t, "objects")
	before := 0
	for one := range model {
		if one.S == like.S && one.P == like.P && !slices.Contains(objects, one.O) {
			before++
			delete(model, one)
		}
	}
	new := 0
	for _, o := range objects {
		if one := (Triple{like.S, like.P, o}); !model[one] {
			new++
			model[one] = true
		}
	}
	added, removed, err := g.Set(context.Background(), like.S, like.P, objects...)
	if err != nil || added != new || removed != before {
		t.Fatalf("%q set to %q: %d are new, want %d, and %d are removed, want %d (%v)", like, objects, added, new, removed, before, err)
	}
}

// removeWhereOnce removes triples by a pattern from a graph and from its model.
func removeWhereOnce(t *rapid.T, g *Graph, model map[Triple]bool, like Triple) {
	var p Pattern
	for i, term := range [3]*Term{&p.S, &p.P, &p.O} {
		switch rapid.IntRange(0, 2).Draw(t, "term") {
		case 0:
			*term = Name(like.part("spo"[i]))
		case 1:
			*term = Var(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "variable"))
		}
	}
	if p.P.kind == syntax.Name && rapid.Bool().Draw(t, "inverse") {
		p = Pattern{S: p.O, P: Inverse(p.P), O: p.S}
	}
	q := Query{Where: []Pattern{p}}
	if vars := q.Vars(); len(vars) > 0 && rapid.Bool().Draw(t, "filter") {
		q.Filters = append(q.Filters, Compare(Var(vars[0]), ">=", Name("a")))
	}
	want := 0
	for one := range model {
		row := map[string]string{}
		if p := p.simple(); !fit(row, p.S, one.S) || !fit(row, p.P, one.P) || !fit(row, p.O, one.O) {
			continue
		}
		vars := q.Vars()
		if b := (Binding{vars: vars, names: namesIn(row, vars)}); len(q.Filters) == 0 || q.Filters[0].keep(b) {
			want++
			delete(model, one)
		}
	}
	if n, err := g.RemoveWhere(context.Background(), q, maintain.Options{}); err != nil || n != want {
		t.Fatalf("%v removes %d, want %d (%v)", q.Where, n, want, err)
	}
}

// Every reader finds the objects of one Set, while others set others.
func TestSetIsAtomic(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := redistest.DB(t)
	for i, opt := range []Options{{}, {Compact: true, Partitions: 3}} {
		key := "g" + strconv.Itoa(i)
		g := newGraph(t, db.Client(t), key, opt)
		put(t, g, Triple{"lamp", "state", "other"}, Triple{"lamp", "state;", "on"}, Triple{"lamp", "stat", "on"})
		var writers sync.WaitGroup
		var mutex sync.Mutex
		total := 0
		for w := range 4 {
			own := newGraph(t, db.Client(t), key, opt)
			writers.Go(func() {
				for k := range 50 {
					objects := make([]string, 1+(w+k)%5)
					for o := range objects {
						objects[o] = fmt.Sprintf("%d:%d of %d", w, o, len(objects))
					}
					added, removed, err := own.Set(ctx, "lamp", "state", objects...)
					if err != nil {
						t.Error(err)
						return
					}
					mutex.Lock()
					total += added - removed
					mutex.Unlock()
				}
			})
		}
		check := func() (n int) {
			found := all(t, g.Select(ctx, Pattern{S: Name("lamp"), P: Name("state")}, index.Page{}))
			if found[0].O == "other" {
				return len(found)
			}
			_, of, _ := strings.Cut(found[0].O, " of ")
			writer, _, _ := strings.Cut(found[0].O, ":")
			for _, one := range found {
				if !strings.HasPrefix(one.O, writer+":") || !strings.HasSuffix(one.O, " of "+of) || of != strconv.Itoa(len(found)) {
					t.Errorf("of several Sets there are %v", found)
				}
			}
			return len(found)
		}
		for range 100 {
			check()
		}
		writers.Wait()
		if n := check(); n != total+1 {
			t.Errorf("there are %d objects, and the replies add up to %d", n, total+1)
		}
		clean(t, g)
		if n, err := g.Count(ctx, Pattern{S: Name("lamp"), O: Name("on")}); err != nil || n != 2 {
			t.Errorf("predicates like it have %d triples, want 2 (%v)", n, err)
		}
	}
}

// A Set that would remove too much changes nothing.
func TestSetLimits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	numbers := func(n int, suffix string) []string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("%03d%s", i, suffix)
		}
		return names
	}
	var triples []Triple
	for _, o := range numbers(250, "") {
		triples = append(triples, Triple{"a", "tag", o})
	}
	put(t, g, triples...)
	if _, _, err := g.Set(ctx, "a", "tag", "new"); !errors.Is(err, ErrTooMany) {
		t.Errorf("250 to remove: %v", err)
	}
	if _, _, err := g.Set(ctx, "a", "tag"); !errors.Is(err, ErrTooMany) {
		t.Errorf("all to remove: %v", err)
	}
	sameState(t, g, triples)
	if _, err := g.RemoveWhere(ctx, Query{Where: []Pattern{{S: Name("a"), P: Name("tag"), O: Var("n")}}, Filters: []Filter{Compare(Var("n"), ">=", Name("101"))}}, maintain.Options{}); err != nil {
		t.Fatal(err)
	}
	// 101 stay: 1 is kept, 100 are replaced by 100.
	added, removed, err := g.Set(ctx, "a", "tag", append(numbers(99, " new"), "000")...)
	if err != nil || added != 99 || removed != 100 {
		t.Errorf("%d are new and %d removed, want 99 and 100 (%v)", added, removed, err)
	}
	if added, removed, err := g.Set(ctx, "a", "tag"); err != nil || added != 0 || removed != 100 {
		t.Errorf("none: %d are new and %d removed, want 100 (%v)", added, removed, err)
	}
	sameState(t, g, nil)

	// Long names.
	long := strings.Repeat(":", MaxName)
	if added, removed, err := g.Set(ctx, long, long, long, long); err != nil || added != 1 || removed != 0 {
		t.Errorf("a long triple: %d are new and %d removed (%v)", added, removed, err)
	}
	if added, removed, err := g.Set(ctx, long, long, "short"); err != nil || added != 1 || removed != 1 {
		t.Errorf("a short object: %d are new and %d removed (%v)", added, removed, err)
	}
	put(t, g, Triple{long, long, "1"}, Triple{long, long, "2"})
	if _, _, err := g.Set(ctx, long, long, "new"); !errors.Is(err, ErrTooMany) {
		t.Errorf("three long triples: %v", err)
	}

	for name, words := range map[string][]string{
		"no subject": {"", "p", "o"}, "no predicate": {"s", ""}, "an empty object": {"s", "p", "o", ""}, "a long name": {"s", "p", long + ":"},
		"many objects": append([]string{"s", "p"}, numbers(101, "")...), "many bytes": {long, "p", "1", "2", "3", "4", "5"},
	} {
		if _, _, err := g.Set(ctx, words[0], words[1], words[2:]...); !errors.Is(err, index.ErrValue) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := newGraph(t, g.store.Set.Client, "g", Options{Compact: true})
	if _, _, err := other.Set(ctx, "a", "b", "c"); !errors.Is(err, index.ErrDeclared) {
		t.Errorf("another declaration: %v", err)
	}
}

// Set and RemoveWhere during a Rebuild win over its source.
func TestChangesDuringRebuild(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, opt := range []Options{{}, {Partitions: 3, Compact: true}} {
		g := newGraph(t, redistest.DB(t).Client(t), "g", opt)
		base := []Triple{{"a", "is", "old"}, {"a", "is", "older"}, {"b", "is", "old"}, {"c", "has", "old"}}
		put(t, g, base...)
		_, err := g.Rebuild(ctx, func(yield func(Triple, error) bool) {
			if _, _, err := g.Set(ctx, "a", "is", "new"); err != nil {
				t.Error(err)
			}
			for _, one := range base {
				if !yield(one, nil) {
					return
				}
			}
			if n, err := g.RemoveWhere(ctx, Query{Where: []Pattern{{P: Name("has")}}}, maintain.Options{}); n != 1 || err != nil {
				t.Errorf("%d are removed, want 1 (%v)", n, err)
			}
		}, maintain.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sameState(t, g, []Triple{{"a", "is", "new"}, {"b", "is", "old"}})
		noTraces(t, g)
	}
}

// An interrupted RemoveWhere has removed whole triples, and can be repeated.
func TestRemoveWhereInSteps(t *testing.T) {
	t.Parallel()
	for _, opt := range []Options{{}, {Compact: true, Partitions: 3}} {
		g := newGraph(t, redistest.DB(t).Client(t), "g", opt)
		const n = 3000
		put(t, g, network(n)...)
		where := Query{Where: []Pattern{{S: Var("x"), P: Name("knows"), O: Var("y")}}, Filters: []Filter{Compare(Var("x"), "<", Name("person02000"))}}
		ctx, stop := context.WithCancel(context.Background())
		steps := 0
		removed, err := g.RemoveWhere(ctx, where, maintain.Options{Progress: func(p maintain.Progress) {
			if steps++; p.Total != 3*n || p.Checked != int64(500*steps) {
				t.Errorf("step %d reports %+v", steps, p)
			}
			if steps == 3 {
				stop()
			}
		}})
		if !errors.Is(err, context.Canceled) || removed == 0 || removed > 1500 {
			t.Errorf("%d triples are removed before the end (%v)", removed, err)
		}
		clean(t, g)
		again, err := g.RemoveWhere(context.Background(), where, maintain.Options{})
		if err != nil || removed+again != 2000*3 {
			t.Errorf("%d and %d triples are removed, want %d (%v)", removed, again, 2000*3, err)
		}
		clean(t, g)
		if got, err := g.Len(context.Background()); err != nil || got != 4*n-2000*3 {
			t.Errorf("%d triples are left, want %d (%v)", got, 4*n-2000*3, err)
		}
		all := Query{Where: []Pattern{{}}}
		if got, err := g.RemoveWhere(context.Background(), all, maintain.Options{}); err != nil || got != 4*n-2000*3 {
			t.Errorf("%d are removed (%v)", got, err)
		}
		sameState(t, g, nil)
	}
}

func TestRemoveWhereRefusals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	x := Pattern{S: Var("x"), P: Name("p"), O: Name("o")}
	for name, q := range map[string]Query{
		"no pattern":    {},
		"two patterns":  {Where: []Pattern{x, x}},
		"a path":        {Where: []Pattern{{S: Var("x"), P: Path("p", 1, 2), O: Name("o")}}},
		"a limit":       {Where: []Pattern{x}, Limit: 1},
		"an order":      {Where: []Pattern{x}, OrderBy: []SortKey{Asc("x")}},
		"a selection":   {Where: []Pattern{x}, Select: []string{"x"}},
		"a zero filter": {Where: []Pattern{x}, Filters: []Filter{{}}},
	} {
		if _, err := g.RemoveWhere(ctx, q, maintain.Options{}); !errors.Is(err, index.ErrValue) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := g.RemoveWhere(ctx, Query{Where: []Pattern{x}}, maintain.Options{}); n != 0 || err != nil {
		t.Errorf("of a graph that does not exist %d are removed (%v)", n, err)
	}
	put(t, g, Triple{"a", "p", "o"})
	other := newGraph(t, g.store.Set.Client, "g", Options{Compact: true})
	if _, err := other.RemoveWhere(ctx, Query{Where: []Pattern{x}}, maintain.Options{}); !errors.Is(err, index.ErrDeclared) {
		t.Errorf("another declaration: %v", err)
	}
	for text, want := range map[string]bool{
		"?x ?p ?y": true, "* * *": true, "?x ?p ?x": false, "?x p ?y": false, "?x ?p ?y . ?y > 3": false, "?x ?p ?y . ?y p ?z": false,
	} {
		if q, err := Parse(text); err != nil || q.MatchesAll() != want {
			t.Errorf("%s matches all: %v (%v)", text, !want, err)
		}
	}
}
