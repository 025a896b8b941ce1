package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// wantForeign fails the test unless every write to the graph returns ErrForeign with a hint and
// changes no entry.
func wantForeign(t *testing.T, g *Graph, hint string) {
	t.Helper()
	ctx := context.Background()
	before := state(t, g)
	for name, write := range map[string]func() error{
		"Put":     func() error { _, err := g.Put(ctx, Triple{"a", "b", "c"}); return err },
		"PutMany": func() error { _, err := g.PutMany(ctx, slices.Values([]Triple{{"a", "b", "c"}})); return err },
		"Remove":  func() error { _, err := g.Remove(ctx, Triple{"a", "b", "c"}); return err },
		"Repair": func() error {
			_, err := g.Repair(ctx, sourceOf([]Triple{{"x", "y", "z"}}), maintain.Options{})
			return err
		},
		"Rebuild": func() error {
			_, err := g.Rebuild(ctx, sourceOf([]Triple{{"a", "b", "c"}}), maintain.Options{})
			return err
		},
	} {
		if err := write(); !errors.Is(err, index.ErrForeign) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v, want ErrForeign with %q", name, err, hint)
		}
	}
	if after := state(t, g); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the entries are %v, want %v", after, before)
	}
}

// do runs a command, or fails the test.
func do(t *testing.T, client rueidis.Client, args ...string) {
	t.Helper()
	require.OK(t)(client.Do(context.Background(), client.B().Arbitrary(args...).Build()).Error())
}

// Writes never change a sorted set that is not a graph.
func TestForeign(t *testing.T) {
	t.Parallel()
	for _, opt := range []Options{{}, {Compact: true}, {Partitions: 3}} {
		client := redistest.DB(t).Client(t)
		g := newGraph(t, client, "board", opt)
		hint := `"retwis graph adopt board`
		if opt.Compact {
			hint += " --compact"
		}
		for i := range g.store.Set.Keys {
			do(t, client, "ZADD", g.store.Set.Keys[i].Index, "100", "alice", "90", "bob")
		}
		wantForeign(t, g, hint)
		if keys, err := client.Do(context.Background(), client.B().Dbsize().Build()).AsInt64(); err != nil || keys != int64(len(g.store.Set.Keys)) {
			t.Errorf("%+v: there are %d keys, want %d (%v)", opt, keys, len(g.store.Set.Keys), err)
		}
	}
}

// A graph that lost a declaration cannot be declared with other orders. Adopt restores the
// declaration.
func TestLostDeclaration(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := redistest.DB(t).Client(t)
	triples := []Triple{{"a", "likes", "b"}, {"c", "likes", "d"}}
	compact := newGraph(t, client, "compact", Options{Compact: true})
	put(t, compact, triples...)
	do(t, client, "DEL", "compact.meta")
	wantForeign(t, newGraph(t, client, "compact", Options{}), "retwis graph adopt compact")
	if _, err := newGraph(t, client, "compact", Options{}).Adopt(ctx, maintain.Options{}); !errors.Is(err, index.ErrValue) || !strings.Contains(err.Error(), "--compact") {
		t.Errorf("Adopt with six orders: %v, want ErrValue with --compact", err)
	}
	require.OK(t)(compact.Adopt(ctx, maintain.Options{}))
	sameState(t, compact, triples)

	spread := newGraph(t, client, "spread", Options{Compact: true, Partitions: 3})
	put(t, spread, triples...)
	do(t, client, "DEL", "spread.meta")
	if _, err := newGraph(t, client, "spread", Options{Partitions: 3}).Put(ctx, triples[0]); !errors.Is(err, index.ErrDeclared) {
		t.Errorf("Put with other orders: %v, want ErrDeclared", err)
	}
	reopened := newGraph(t, client, "spread", Options{Compact: true, Partitions: 3})
	put(t, reopened, triples...)
	do(t, client, "DEL", reopened.store.Set.Of("a").Meta)
	if _, err := reopened.Put(ctx, triples[0]); !errors.Is(err, index.ErrForeign) {
		t.Errorf("Put into a partition without a declaration: %v, want ErrForeign", err)
	}
	require.OK(t)(reopened.Adopt(ctx, maintain.Options{}))
	put(t, reopened, triples...)
	sameState(t, reopened, triples)
}
