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
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// Query agrees with a naive join.
func TestQueryAgainstModel(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	ctx := context.Background()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		g, err := New(client, fmt.Sprintf("q%d", run), Options{
			Compact: rapid.Bool().Draw(t, "compact"), Partitions: rapid.SampledFrom([]int{1, 3}).Draw(t, "partitions"),
		})
		require.OK(t)(err)
		names := rapid.SampledFrom(fewNames)
		predicates := rapid.OneOf(names, rapid.SampledFrom(fewPredicates), rapid.SampledFrom(fewPredicates))
		model := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Triple {
			return Triple{names.Draw(t, "s"), predicates.Draw(t, "p"), names.Draw(t, "o")}
		}), 0, 25, rapid.ID[Triple]).Draw(t, "triples")
		require.OK(t)(g.PutMany(ctx, slices.Values(model)))
		for range 15 {
			q := queries().Draw(t, "query")
			if !answerable(q.Where) {
				if _, err := collect(g.Query(ctx, q)); !errors.Is(err, index.ErrValue) || !strings.Contains(err.Error(), "has no known end") {
					t.Fatalf("%v: %v, want ErrValue", q.Where, err)
				}
				continue
			}
			want := naive(model, q)
			got := namesOfAll(t, g, q)
			ordered := len(q.OrderBy) > 0
			if !ordered {
				slices.SortFunc(got, slices.Compare)
			}
			if !slices.EqualFunc(got, want, slices.Equal) {
				plan, _ := g.Explain(ctx, q)
				t.Fatalf("triples %q\nwhere %v select %v distinct %v order by %v\nreturned %v\nwant %v\nplan\n%s", model, q.Where, q.Select, q.Distinct, q.OrderBy, got, want, plan)
			}
			q.Limit, q.Offset = rapid.IntRange(0, 4).Draw(t, "limit"), rapid.IntRange(0, 4).Draw(t, "offset")
			want = want[min(q.Offset, len(want)):]
			if q.Limit > 0 {
				want = want[:min(q.Limit, len(want))]
			}
			limited := namesOfAll(t, g, q)
			if len(limited) != len(want) || ordered && !slices.EqualFunc(limited, want, slices.Equal) {
				t.Fatalf("triples %q\nwhere %v select %v distinct %v order by %v limit %d offset %d\nreturned %v\nwant %v", model, q.Where, q.Select, q.Distinct, q.OrderBy, q.Limit, q.Offset, limited, want)
			}
		}
	})
}

// namesOfAll returns the names in each answer to a query.
func namesOfAll(t *rapid.T, g *Graph, q Query) (found [][]string) {
	for b, err := range g.Query(context.Background(), q) {
		if err != nil {
			t.Fatalf("%v: %v", q.Where, err)
		}
		found = append(found, b.names)
	}
	return found
}

// network returns triples of n people: each knows three others and lives in one of ten cities.
func network(n int) []Triple {
	var triples []Triple
	person := func(i int) string { return fmt.Sprintf("person%05d", i%n) }
	for i := range n {
		for k := 1; k <= 3; k++ {
			triples = append(triples, Triple{person(i), "knows", person(i + k*k)})
		}
		triples = append(triples, Triple{person(i), "lives-in", fmt.Sprintf("city%d", i%10)})
	}
	return triples
}

// Query joins more rows than a batch, and reads ranges with more entries than a step.
func TestQueryOfManyRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, opt := range []Options{{}, {Compact: true, Partitions: 4}} {
		g := newGraph(t, redistest.DB(t).Client(t), "g", opt)
		const n = 6000
		put(t, g, network(n)...)
		for text, want := range map[string]int{
			"?x lives-in city1 . ?x knows ?y":                                            n / 10 * 3,
			"?x lives-in city1 . ?x knows ?y . ?y lives-in ?c":                           n / 10 * 3,
			"?x lives-in city1 . ?y lives-in city1 . ?y knows ?x . person00001 knows ?z": 0, // no such pair exists
			"?x lives-in city1 . ?y lives-in city2 . ?x knows ?y":                        n / 10,
			"?x lives-in ?c":                          n,
			"person00000 knows* ?x":                   n,
			"?x knows+ person00000 . ?x lives-in ?c":  n,
			"person00000 knows*2..2 ?x":               6,
			"?x knows*2 ?y . ?x lives-in city3":       n / 10 * 6,
			"?y knows*2 ?x . ?x lives-in city3":       n / 10 * 6,
			"person00000 knows+ ?x . ?x ~ 5$":         n / 10,
			"?x knows person00001 . person00001 ?p ?": -1, // does not parse
		} {
			q, err := Parse(text)
			if want < 0 {
				if err == nil {
					t.Errorf("Parse(%q) returned no error", text)
				}
				continue
			}
			require.OK(t)(err)
			if got := all(t, g.Query(ctx, q)); len(got) != want {
				t.Errorf("%+v: %s has %d answers, want %d", opt, text, len(got), want)
			}
		}
	}
}

// A query returns ErrMemory if and only if it needs more memory than its limit.
func TestQueryMemory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	put(t, g, network(2000)...)
	for text, wantErr := range map[string]bool{
		"person00000 knows+ ?x":                true,
		"person00000 knows*1..2 ?x":            false,
		"?x knows*1..2 ?y . ?x lives-in city1": false, // searches from one start at a time
		"?x knows*20..20 person00000":          true,
		"person00000 knows*900..900 ?x":        true,
		"?x knows * . ?x lives-in city1":       false, // without Distinct
		"?x knows ?y . ?y lives-in city1":      false,
	} {
		q, err := Parse(text)
		require.OK(t)(err)
		q.Memory = 12_000
		if _, err := collect(g.Query(ctx, q)); errors.Is(err, ErrMemory) != wantErr || err != nil && !wantErr {
			t.Errorf("%s: %v, want ErrMemory: %v", text, err, wantErr)
		}
	}
	q := Query{Where: []Pattern{{S: Var("x"), P: Name("knows"), O: Var("y")}}, Select: []string{"x"}, Distinct: true, Memory: 12_000}
	if _, err := collect(g.Query(ctx, q)); !errors.Is(err, ErrMemory) {
		t.Errorf("distinct: %v, want ErrMemory", err)
	}
	q.Memory = 0
	if got, err := collect(g.Query(ctx, q)); err != nil || len(got) != 2000 {
		t.Errorf("%d distinct answers, want 2000 (%v)", len(got), err)
	}
	// With a Limit, sorting needs memory for the first Offset+Limit answers only.
	q = Query{Where: []Pattern{{S: Var("x"), P: Name("knows"), O: Var("y")}}, OrderBy: []SortKey{Desc("y"), Asc("x")}, Memory: 12_000}
	if _, err := collect(g.Query(ctx, q)); !errors.Is(err, ErrMemory) {
		t.Errorf("sorted without a limit: %v, want ErrMemory", err)
	}
	q.Limit, q.Offset, q.Distinct = 2, 10, true
	if got, err := collect(g.Query(ctx, q)); err != nil || len(got) != 2 || got[0].Get("y") != "person01996" || got[0].Get("x") != "person01992" {
		t.Errorf("sorted with a limit: %v (%v)", got, err)
	}
	q = Query{Where: []Pattern{{S: Var("x"), P: Name("knows"), O: Var("y")}}, Select: []string{"x"}, Distinct: true, Memory: 12_000}
	// A query that stops early returns no error.
	for _, err := range g.Query(ctx, q) {
		require.OK(t)(err)
		break
	}
}

// A plan starts with the rarest pattern, follows shared variables, and detects an empty answer.
func TestExplain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	put(t, g, network(100)...)
	put(t, g, Triple{"person00007", "likes", "beer"})
	planOf := func(text string) (steps []string, empty bool) {
		q, err := Parse(text)
		require.OK(t)(err)
		plan, err := g.Explain(ctx, q)
		require.OK(t)(err)
		for _, s := range plan.Steps {
			steps = append(steps, s.Pattern.String())
		}
		if !strings.Contains(plan.String(), steps[0]) {
			t.Errorf("the plan does not contain %q:\n%s", steps[0], plan)
		}
		return steps, plan.empty
	}
	for _, test := range []struct {
		text string
		want []string
	}{
		{"?x knows ?y . ?y lives-in ?c . ?x likes beer", []string{"?x likes beer", "?x knows ?y", "?y lives-in ?c"}},
		{
			"?a likes ?b . ?x knows ?y . ?y lives-in city1 . ?z likes beer",
			[]string{"?a likes ?b", "?z likes beer", "?y lives-in city1", "?x knows ?y"},
		},
		{"?x knows+ ?y . ?y likes beer", []string{"?y likes beer", "?x knows+ ?y"}},
		{"?x knows* ?y . ?y lives-in ?c . ?z knows* ?x", []string{"?y lives-in ?c", "?x knows*0.. ?y", "?z knows*0.. ?x"}},
		{"?x knows*1..2 ?y . ?y lives-in city1", []string{"?y lives-in city1", "?x knows*1..2 ?y"}},
	} {
		if got, empty := planOf(test.text); !slices.Equal(got, test.want) || empty {
			t.Errorf("%s is planned as %q, want %q", test.text, got, test.want)
		}
	}
	if _, empty := planOf("?x knows ?y . ?x likes wine"); !empty {
		t.Error("the plan does not detect an empty answer")
	}
}
