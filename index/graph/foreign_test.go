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

// refused fails the test unless every write to the graph returns ErrForeign with a hint, and
// changes no key.
func refused(t *testing.T, g *Graph, hint string) {
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
		t.Errorf("the entries were %v and are %v", before, after)
	}
}

func do(t *testing.T, client rueidis.Client, words ...string) {
	t.Helper()
	require.OK(t)(client.Do(context.Background(), client.B().Arbitrary(words...).Build()).Error())
}

// A sorted set that is not a graph is never changed, with any options.
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
		refused(t, g, hint)
		if keys, err := client.Do(context.Background(), client.B().Dbsize().Build()).AsInt64(); err != nil || keys != int64(len(g.store.Set.Keys)) {
			t.Errorf("%+v: there are %d keys (%v)", opt, keys, err)
		}
	}
}

// A graph that lost its declaration cannot be declared again with other orders or partitions.
func TestLostDeclaration(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := redistest.DB(t).Client(t)
	kept := []Triple{{"a", "likes", "b"}, {"c", "likes", "d"}}
	compact := newGraph(t, client, "compact", Options{Compact: true})
	put(t, compact, kept...)
	do(t, client, "DEL", "compact.meta")
	refused(t, newGraph(t, client, "compact", Options{}), "retwis graph adopt compact")
	if _, err := newGraph(t, client, "compact", Options{}).Adopt(ctx, maintain.Options{}); !errors.Is(err, index.ErrValue) || !strings.Contains(err.Error(), "--compact") {
		t.Errorf("Adopt with six orders: %v", err)
	}
	require.OK(t)(compact.Adopt(ctx, maintain.Options{}))
	sameState(t, compact, kept)

	spread := newGraph(t, client, "spread", Options{Compact: true, Partitions: 3})
	put(t, spread, kept...)
	do(t, client, "DEL", "spread.meta")
	if _, err := newGraph(t, client, "spread", Options{Partitions: 3}).Put(ctx, kept[0]); !errors.Is(err, index.ErrDeclared) {
		t.Errorf("a partition was declared otherwise: %v", err)
	}
	again := newGraph(t, client, "spread", Options{Compact: true, Partitions: 3})
	put(t, again, kept...)
	do(t, client, "DEL", again.store.Set.Of("a").Meta)
	if _, err := again.Put(ctx, kept[0]); !errors.Is(err, index.ErrForeign) {
		t.Errorf("a partition without a declaration: %v", err)
	}
	require.OK(t)(again.Adopt(ctx, maintain.Options{}))
	put(t, again, kept...)
	sameState(t, again, kept)
}
