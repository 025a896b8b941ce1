package graph

import (
	"context"
	"errors"
	"slices"
	"testing"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// The examples of the tutorial on secondary indexes, with the names that the tutorial uses.
func TestTutorial(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := redistest.DB(t).Client(t)
	g := newGraph(t, client, "myindex", Options{})
	put(t, g, Triple{"matteojcollina", "is-friend-of", "antirez"})
	entries, err := client.Do(ctx, client.B().Zrange().Key("myindex").Min("0").Max("-1").Build()).AsStrSlice()
	require.OK(t)(err)
	want := []string{
		"ops:antirez:is-friend-of:matteojcollina",
		"osp:antirez:matteojcollina:is-friend-of",
		"pos:is-friend-of:antirez:matteojcollina",
		"pso:is-friend-of:matteojcollina:antirez",
		"sop:matteojcollina:antirez:is-friend-of",
		"spo:matteojcollina:is-friend-of:antirez",
	}
	if !slices.Equal(entries, want) {
		t.Errorf("the entries are\n%q, want\n%q", entries, want)
	}

	put(
		t, g,
		Triple{"matteojcollina", "is-friend-of", "antirez"},
		Triple{"matteojcollina", "is-friend-of", "mcollina"},
		Triple{"matteojcollina", "is-friend-of", "beppe"},
		Triple{"matteojcollina", "likes", "antirez"},
		Triple{"antirez", "is-friend-of", "beppe"},
	)
	// Who are the friends of matteojcollina?
	friends := all(t, g.Select(ctx, Pattern{S: Name("matteojcollina"), P: Name("is-friend-of")}, index.Page{}))
	if want := []Triple{
		{"matteojcollina", "is-friend-of", "antirez"},
		{"matteojcollina", "is-friend-of", "beppe"},
		{"matteojcollina", "is-friend-of", "mcollina"},
	}; !slices.Equal(friends, want) {
		t.Errorf("friends are %v, want %v", friends, want)
	}
	// What are all the relations from matteojcollina to antirez?
	relations := all(t, g.Select(ctx, Pattern{S: Name("matteojcollina"), O: Name("antirez")}, index.Page{}))
	if want := []Triple{
		{"matteojcollina", "is-friend-of", "antirez"},
		{"matteojcollina", "likes", "antirez"},
	}; !slices.Equal(relations, want) {
		t.Errorf("relations are %v, want %v", relations, want)
	}
}

// Among the friends of matteo, who likes beer and lives in barcelona?
func TestTutorialQuestion(t *testing.T) {
	t.Parallel()
	for _, opt := range []Options{{}, {Compact: true}, {Partitions: 3}} {
		g := newGraph(t, redistest.DB(t).Client(t), "people", opt)
		put(
			t, g,
			Triple{"matteo", "friend-of", "lucio"}, Triple{"matteo", "friend-of", "maria"}, Triple{"matteo", "friend-of", "davide"},
			Triple{"lucio", "likes", "beer"}, Triple{"maria", "likes", "beer"}, Triple{"greta", "likes", "beer"}, Triple{"davide", "likes", "wine"},
			Triple{"lucio", "lives-in", "barcelona"}, Triple{"maria", "lives-in", "palermo"},
			Triple{"greta", "lives-in", "barcelona"}, Triple{"davide", "lives-in", "barcelona"},
		)
		got := answers(t, g, `?x likes beer . ?x lives-in barcelona . matteo friend-of ?x`)
		if want := []string{`{"x":"lucio"}`}; !slices.Equal(got, want) {
			t.Errorf("%+v: the answer is %v, want %v", opt, got, want)
		}
	}
}

// Adopt accepts a sorted set created by hand, as in the tutorial, without changing it.
func TestAdopt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := redistest.DB(t).Client(t)
	g := newGraph(t, client, "byhand", Options{})
	if _, err := g.Adopt(ctx, maintain.Options{}); !errors.Is(err, index.ErrNotFound) {
		t.Errorf("Adopt of a missing key: %v, want ErrNotFound", err)
	}
	zadd := func(key string, entries ...string) {
		t.Helper()
		for _, entry := range entries {
			require.OK(t)(client.Do(ctx, client.B().Zadd().Key(key).ScoreMember().ScoreMember(0, entry).Build()).Error())
		}
	}
	zadd("byhand", "spo:a:likes:b", "sop:a:b:likes", "pso:likes:a:b", "pos:likes:b:a", "osp:b:a:likes", "ops:b:likes:a")
	// The triple can be selected before Adopt.
	if found := all(t, g.Select(ctx, Pattern{P: Name("likes")}, index.Page{})); len(found) != 1 {
		t.Errorf("found %v, want one triple", found)
	}
	for range 2 {
		if report, err := g.Adopt(ctx, maintain.Options{}); err != nil || report.Checked != 1 || report.Problems() != 0 {
			t.Errorf("Adopt reports %+v, want 1 checked and no problems (%v)", report, err)
		}
	}
	opened, err := Open(ctx, client, "byhand")
	require.OK(t)(err)
	sameState(t, opened, []Triple{{"a", "likes", "b"}})

	zadd("damaged", "spo:a:likes:b", "sop:a:b:likes", "pso:likes:a:b", "pos:likes:b:a", "osp:b:a:likes", "what is this")
	damaged := newGraph(t, client, "damaged", Options{})
	if report, err := damaged.Adopt(ctx, maintain.Options{}); err != nil || report.Checked != 1 || report.Missing != 1 || report.Dangling != 1 {
		t.Errorf("Adopt of damaged data reports %+v, want 1 checked, 1 missing, 1 dangling (%v)", report, err)
	}
	if report, err := damaged.Repair(ctx, nil, maintain.Options{}); err != nil || report.Repaired != 2 {
		t.Errorf("Repair reports %+v, want 2 repaired (%v)", report, err)
	}
	sameState(t, damaged, []Triple{{"a", "likes", "b"}})

	zadd("other", "one", "two")
	if _, err := newGraph(t, client, "other", Options{}).Adopt(ctx, maintain.Options{}); !errors.Is(err, index.ErrValue) {
		t.Errorf("Adopt of a sorted set without triples: %v, want ErrValue", err)
	}
	if _, err := Open(ctx, client, "other"); !errors.Is(err, index.ErrNotFound) {
		t.Errorf("Open of a sorted set without triples: %v, want ErrNotFound", err)
	}
	if _, err := newGraph(t, client, "byhand", Options{Compact: true}).Adopt(ctx, maintain.Options{}); !errors.Is(err, index.ErrDeclared) {
		t.Errorf("Adopt with other options: %v, want ErrDeclared", err)
	}
}
