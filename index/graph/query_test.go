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
)

// Query against a naive join.
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
		if err != nil {
			t.Fatal(err)
		}
		few := rapid.SampledFrom(fewNames)
		predicates := rapid.OneOf(few, rapid.SampledFrom(fewPredicates), rapid.SampledFrom(fewPredicates))
		model := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Triple {
			return Triple{few.Draw(t, "s"), predicates.Draw(t, "p"), few.Draw(t, "o")}
		}), 0, 25, rapid.ID[Triple]).Draw(t, "triples")
		if _, err := g.PutMany(ctx, slices.Values(model)); err != nil {
			t.Fatal(err)
		}
		for range 15 {
			q := queries().Draw(t, "query")
			if !answerable(q.Where) {
				if _, err := collect(g.Query(ctx, q)); !errors.Is(err, index.ErrValue) || !strings.Contains(err.Error(), "matches every name with itself") {
					t.Fatalf("%v: %v", q.Where, err)
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
				t.Fatalf("of %q\n%v %v distinct %v by %v gives\n%v, want\n%v; the plan is\n%s", model, q.Where, q.Select, q.Distinct, q.OrderBy, got, want, plan)
			}
			q.Limit, q.Offset = rapid.IntRange(0, 4).Draw(t, "limit"), rapid.IntRange(0, 4).Draw(t, "offset")
			want = want[min(q.Offset, len(want)):]
			if q.Limit > 0 {
				want = want[:min(q.Limit, len(want))]
			}
			limited := namesOfAll(t, g, q)
			if len(limited) != len(want) || ordered && !slices.EqualFunc(limited, want, slices.Equal) {
				t.Fatalf("of %q\n%v %v distinct %v by %v with limit %d and offset %d gives\n%v, want\n%v", model, q.Where, q.Select, q.Distinct, q.OrderBy, q.Limit, q.Offset, limited, want)
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

// network returns triples in which each of n people knows the next few.
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

// Joins of more rows than a batch, with ranges of more entries than a step.
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
			"?x lives-in city1 . ?y lives-in city1 . ?y knows ?x . person00001 knows ?z": 0, // there is no such pair
			"?x lives-in city1 . ?y lives-in city2 . ?x knows ?y":                        n / 10,
			"?x lives-in ?c":                          n,
			"person00000 knows* ?x":                   n,
			"?x knows+ person00000 . ?x lives-in ?c":  n,
			"person00000 knows*2..2 ?x":               6,
			"?x knows*2 ?y . ?x lives-in city3":       n / 10 * 6,
			"person00000 knows+ ?x . ?x ~ 5$":         n / 10,
			"?x knows person00001 . person00001 ?p ?": -1,
		} {
			q, err := Parse(text)
			if want < 0 {
				if err == nil {
					t.Errorf("%s is read", text)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := all(t, g.Query(ctx, q)); len(got) != want {
				t.Errorf("%+v: %s has %d answers, want %d", opt, text, len(got), want)
			}
		}
	}
}

// A query fails if and only if it needs more memory than its limit.
func TestQueryMemory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	put(t, g, network(2000)...)
	for text, fails := range map[string]bool{
		"person00000 knows+ ?x":           true,
		"person00000 knows*1..2 ?x":       false,
		"?x knows*1..2 ?y":                false, // one start after the other
		"?x knows*20..20 person00000":     true,
		"person00000 knows*900..900 ?x":   true,
		"?x knows * . ?x lives-in city1":  false, // no distinct
		"?x knows ?y . ?y lives-in city1": false,
	} {
		q, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		q.Memory = 12_000
		if _, err := collect(g.Query(ctx, q)); errors.Is(err, ErrMemory) != fails || err != nil && !fails {
			t.Errorf("%s: %v", text, err)
		}
	}
	q := Query{Where: []Pattern{{S: Var("x"), P: Name("knows"), O: Var("y")}}, Select: []string{"x"}, Distinct: true, Memory: 12_000}
	if _, err := collect(g.Query(ctx, q)); !errors.Is(err, ErrMemory) {
		t.Errorf("distinct: %v", err)
	}
	q.Memory = 0
	if got, err := collect(g.Query(ctx, q)); err != nil || len(got) != 2000 {
		t.Errorf("%d distinct answers, want 2000 (%v)", len(got), err)
	}
	// The first answers of an order need memory for as many only.
	q = Query{Where: []Pattern{{S: Var("x"), P: Name("knows"), O: Var("y")}}, OrderBy: []SortKey{Desc("y"), Asc("x")}, Memory: 12_000}
	if _, err := collect(g.Query(ctx, q)); !errors.Is(err, ErrMemory) {
		t.Errorf("all in order: %v", err)
	}
	q.Limit, q.Offset, q.Distinct = 2, 10, true
	if got, err := collect(g.Query(ctx, q)); err != nil || len(got) != 2 || got[0].Get("y") != "person01996" || got[0].Get("x") != "person01992" {
		t.Errorf("two in order: %v (%v)", got, err)
	}
	q = Query{Where: []Pattern{{S: Var("x"), P: Name("knows"), O: Var("y")}}, Select: []string{"x"}, Distinct: true, Memory: 12_000}
	// After an early stop there are no further errors.
	q.Memory = 12_000
	for _, err := range g.Query(ctx, q) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
}

// The answers of a path without a known end count towards the limit, also those of the last
// batch of ends.
func TestQueryMemoryOfEnds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const n = batchRows * 3 / 2
	var triples []Triple
	for i := range n {
		x, y, z := fmt.Sprintf("x%05d", i), fmt.Sprintf("y%05d", i), fmt.Sprintf("z%05d", i)
		triples = append(triples, Triple{x, "knows", y}, Triple{y, "likes", z})
	}
	for _, opt := range []Options{{}, {Compact: true}} {
		g := newGraph(t, redistest.DB(t).Client(t), "g", opt)
		put(t, g, triples...)
		for text, answers := range map[string]int64{
			"?x knows/likes ?end":        n,
			"?x knows*0..1/likes ?end":   n,
			"?start knows/likes ?z":      n,
			"?x knows/likes*0..1 ?end":   2 * n,
			"?end ^likes/^knows ?x":      n,
			"?x (knows/likes)*1..9 ?end": n,
		} {
			q, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			v := "end"
			if strings.Contains(text, "start") {
				v = "start"
			}
			q.Select, q.Distinct, q.OrderBy = []string{v}, true, []SortKey{Asc(v)}
			need := answers * 4 * memoryOf("x00000")
			q.Memory = need * 9 / 10
			if got, err := collect(g.Query(ctx, q)); !errors.Is(err, ErrMemory) {
				t.Errorf("%+v: %s: %d answers in too little memory, %v", opt, text, len(got), err)
			}
			q.Memory = need * 2
			if got, err := collect(g.Query(ctx, q)); err != nil || int64(len(got)) != answers {
				t.Errorf("%+v: %s: %d answers, %v", opt, text, len(got), err)
			}
		}
	}
}

// A plan starts with the rarest pattern, follows shared variables, and recognizes an empty
// answer.
func TestExplain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	put(t, g, network(100)...)
	put(t, g, Triple{"person00007", "likes", "beer"})
	order := func(text string) (steps []string, empty bool) {
		q, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := g.Explain(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range plan.Steps {
			steps = append(steps, s.Pattern.String())
		}
		if !strings.Contains(plan.String(), steps[0]) {
			t.Errorf("the plan does not say %q:\n%s", steps[0], plan)
		}
		return steps, plan.Empty
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
		{"?x knows*1..2 ?y", []string{"?x knows*1..2 ?y", "?x knows*1..2 ?y"}},
	} {
		if got, empty := order(test.text); !slices.Equal(got, test.want) || empty {
			t.Errorf("%s is planned as %q, want %q", test.text, got, test.want)
		}
	}
	if _, empty := order("?x knows ?y . ?x likes wine"); !empty {
		t.Error("the plan does not recognize an empty answer")
	}
}

// A type and all its supertypes: a path of zero or more steps from a variable that another
// pattern binds.
func TestPathFromBoundVariable(t *testing.T) {
	t.Parallel()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	put(t, g, Triple{"rex", "a", "dog"}, Triple{"tom", "a", "cat"}, Triple{"dog", "sub", "mammal"}, Triple{"cat", "sub", "mammal"},
		Triple{"mammal", "sub", "animal"}, Triple{"rex", "age", "10"}, Triple{"tom", "age", "9"})
	for text, want := range map[string]string{
		"?x a ?c . ?c sub* ?d":                     "rex dog dog, rex dog mammal, rex dog animal, tom cat cat, tom cat mammal, tom cat animal",
		"?c sub* ?d . ?x a ?c":                     "dog dog rex, dog mammal rex, dog animal rex, cat cat tom, cat mammal tom, cat animal tom",
		"?x a ?c . ?d ^sub*0..1 ?c":                "rex dog dog, rex dog mammal, tom cat cat, tom cat mammal",
		"?x sub* ?x . rex a ?x":                    "dog",
		"?x age ?n . ?n < 10":                      "tom 9",
		"?x age ?n . ?y age ?m . ?n < ?m":          "tom 9 rex 10",
		"?x age ?n . ?x a ?c . ?n >= 9 . ?x = rex": "rex 10 dog",
	} {
		q, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for b, err := range g.Query(context.Background(), q) {
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			got = append(got, strings.Join(b.names, " "))
		}
		expected := strings.Split(want, ", ")
		slices.Sort(got)
		slices.Sort(expected)
		if !slices.Equal(got, expected) {
			t.Errorf("%s gives %q, expected %q", text, got, expected)
		}
	}
}

func TestQueryRefusals(t *testing.T) {
	t.Parallel()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	x := Pattern{S: Var("x"), P: Name("p"), O: Name("o")}
	for name, q := range map[string]Query{
		"no pattern":         {},
		"many patterns":      {Where: slices.Repeat([]Pattern{x}, 65)},
		"limit":              {Where: []Pattern{x}, Limit: -1},
		"memory":             {Where: []Pattern{x}, Memory: -1},
		"offset":             {Where: []Pattern{x}, Offset: -1},
		"sort key":           {Where: []Pattern{x}, OrderBy: []SortKey{Asc("y")}},
		"sort key twice":     {Where: []Pattern{x}, OrderBy: []SortKey{Asc("x"), Desc("x")}},
		"not selected":       {Where: []Pattern{{S: Var("x"), O: Var("y")}}, OrderBy: []SortKey{Asc("y")}, Select: []string{"x"}, Distinct: true},
		"path of a variable": {Where: []Pattern{{S: Var("x"), P: Inverse(Var("p")), O: Name("o")}}},
		"path of a star":     {Where: []Pattern{{S: Var("x"), P: Sequence(Name("p"), Term{}), O: Name("o")}}},
		"path of no steps":   {Where: []Pattern{{S: Var("x"), P: Sequence(), O: Name("o")}}},
		"bad in a sequence":  {Where: []Pattern{{S: Var("x"), P: Sequence(Name("q"), Path("p", 3, 2)), O: Name("o")}}},
		"many steps":         {Where: []Pattern{{S: Var("x"), P: Repeat(Sequence(Name("q"), Path("p", 1, 500)), 0, 2), O: Name("o")}}},
		"many predicates":    {Where: []Pattern{{S: Var("x"), P: Sequence(slices.Repeat([]Term{Name("p")}, 65)...), O: Name("o")}}},
		"select":             {Where: []Pattern{x}, Select: []string{"y"}},
		"selected twice":     {Where: []Pattern{x}, Select: []string{"x", "x"}},
		"filter":             {Where: []Pattern{x}, Filters: []Filter{Compare(Var("y"), "!=", Name("a"))}},
		"zero filter":        {Where: []Pattern{x}, Filters: []Filter{{}}},
		"filter of nothing":  {Where: []Pattern{x}, Filters: []Filter{Compare(Var("x"), "!=", Term{})}},
		"operator":           {Where: []Pattern{x}, Filters: []Filter{Compare(Var("x"), "==", Name("a"))}},
		"compare paths":      {Where: []Pattern{x}, Filters: []Filter{Compare(Var("x"), "<", Path("p", 1, 1))}},
		"unbound path":       {Where: []Pattern{x, {S: Var("y"), P: Path("p", 0, 1), O: Var("z")}}},
		"no expression":      {Where: []Pattern{x}, Filters: []Filter{Matches("x", nil)}},
		"path as subject":    {Where: []Pattern{{S: Path("p", 1, 2)}}},
		"path backwards":     {Where: []Pattern{{S: Name("s"), P: Path("p", 3, 2)}}},
		"long path":          {Where: []Pattern{{S: Name("s"), P: Path("p", 1, 2000)}}},
		"path of nothing":    {Where: []Pattern{{P: Path("p", 0, 1)}}},
		"no variable":        {Where: []Pattern{{S: Var("")}}},
	} {
		if _, err := collect(g.Query(context.Background(), q)); !errors.Is(err, index.ErrValue) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTraversal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	put(t, g, Triple{"a", "friend", "b"}, Triple{"b", "friend", "c"}, Triple{"c", "friend", "a"},
		Triple{"b", "likes", "beer"}, Triple{"c", "likes", "beer"}, Triple{"d", "likes", "beer"}, Triple{"d", "lives-in", "palermo"})
	for name, test := range map[string]struct {
		traversal Traversal
		want      []string
	}{
		"nowhere":    {g.From("a"), []string{"a"}},
		"out":        {g.From("a").Out("friend"), []string{"b"}},
		"in":         {g.From("beer").In("likes"), []string{"b", "c", "d"}},
		"out and in": {g.From("a").Out("friend").Out("likes").In("likes"), []string{"b", "c", "d"}},
		"has":        {g.From("beer").In("likes").Has("lives-in", "palermo"), []string{"d"}},
		"not":        {g.From("beer").In("likes").Not("b"), []string{"c", "d"}},
		"path":       {g.From("a").OutPath("friend", 1, 0).Not("a"), []string{"b", "c"}},
		"path back":  {g.From("a").InPath("friend", 2, 2), []string{"b"}},
		"it has":     {g.From("d").Has("likes", "beer"), []string{"d"}},
		"it has not": {g.From("a").Has("likes", "beer"), nil},
	} {
		got := all(t, test.traversal.All(ctx))
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s leads to %v, want %v", name, got, test.want)
		}
	}
	if got := all(t, g.From("beer").In("likes").Limit(2).All(ctx)); len(got) != 2 {
		t.Errorf("limit 2 leads to %v", got)
	}
	base := g.From("a").Out("friend")
	one, two := base.Has("likes", "beer"), base.Has("likes", "wine")
	if len(all(t, one.All(ctx))) != 1 || len(all(t, two.All(ctx))) != 0 {
		t.Error("two traversals from one affect each other")
	}
}
