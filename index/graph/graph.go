package graph

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"slices"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/partition"
	"retwis/internal/script"
)

var (
	//go:embed entries.lua
	entriesLua string
	//go:embed put.lua
	putLua string
	//go:embed del.lua
	delLua string
	//go:embed mend.lua
	mendLua string
	//go:embed begin.lua
	beginLua string
	//go:embed build.lua
	buildLua string
	//go:embed swap.lua
	swapLua string
)

// kind is what a graph calls itself in its declaration.
const kind = "graph"

// Options say how a graph is kept. They are part of its declaration: a graph is
// opened with those that it was made with.
type Options struct {
	// Compact keeps three of the six orders: half the memory and half the work
	// of a write. Every pattern is still one range; only Pattern.Order has less
	// to choose from. Default: six.
	Compact bool
	// Partitions spreads the graph over so many hash slots, by the subject:
	// what is asked of a subject is in one of them, all else is asked of all of
	// them and merged. Default and minimum: 1, at most 1024.
	Partitions int
}

// Graph is a set of triples in Redis. It is safe for concurrent use.
type Graph struct {
	set     *partition.Set
	compact bool

	put, del, mend, begin, build, swap script.Script
}

// New returns the graph at a key, which need not exist yet. It asks no server.
func New(client rueidis.Client, key string, opt Options) (*Graph, error) {
	d := partition.Declaration{Kind: kind, Partitions: opt.Partitions}
	if opt.Compact {
		d.Text = "compact"
	}
	set, err := partition.New(client, key, d)
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	script := func(source string) script.Script { return partition.NewScript(entriesLua + source) }
	return &Graph{
		set: set, compact: opt.Compact,
		put: script(putLua), del: script(delLua), mend: script(mendLua),
		begin: script(beginLua), build: script(buildLua), swap: script(swapLua),
	}, nil
}

// Open returns the graph at a key as it was declared, or index.ErrNotFound where
// there is none, or index.ErrDeclared where there is another type of index. One
// round trip.
func Open(ctx context.Context, client rueidis.Client, key string) (*Graph, error) {
	d, err := partition.Read(ctx, client, key)
	switch {
	case err != nil:
		return nil, fmt.Errorf("graph: %w", err)
	case d.Kind != kind || d.Text != "" && d.Text != "compact":
		return nil, fmt.Errorf("graph: %w: %q is %s, not a graph", index.ErrDeclared, key, d)
	}
	return New(client, key, Options{Compact: d.Text != "", Partitions: d.Partitions})
}

// Options are those that the graph was made with.
func (g *Graph) Options() Options {
	return Options{Compact: g.compact, Partitions: len(g.set.Keys)}
}

// Put adds a triple, and tells whether it was not there. One round trip; in the
// server O(log n) for each order.
func (g *Graph) Put(ctx context.Context, t Triple) (bool, error) {
	n, err := g.PutMany(ctx, slices.Values([]Triple{t}))
	return n > 0, err
}

// PutMany adds triples, and tells how many were not there: 50 a script, which is
// one atomic step, 1,600 a round trip, the next ones gathered while those are
// under way. It stops at the first error; what went before is in, and it does no
// harm to put it again.
func (g *Graph) PutMany(ctx context.Context, triples iter.Seq[Triple]) (int, error) {
	return g.change(ctx, g.put, triples)
}

// Del removes a triple, and tells whether it was there. One round trip.
func (g *Graph) Del(ctx context.Context, t Triple) (bool, error) {
	n, err := g.DelMany(ctx, slices.Values([]Triple{t}))
	return n > 0, err
}

// DelMany removes triples as PutMany adds them, and tells how many were there.
func (g *Graph) DelMany(ctx context.Context, triples iter.Seq[Triple]) (int, error) {
	return g.change(ctx, g.del, triples)
}

// declare writes the declaration down where the scripts do not.
func (g *Graph) declare(ctx context.Context) error {
	if len(g.set.Keys) == 1 {
		return nil
	}
	return g.wrap(ctx, g.set.Declare(ctx))
}

// check fails where the index is declared otherwise.
func (g *Graph) check(ctx context.Context) error {
	return g.wrap(ctx, g.set.Check(ctx))
}

// wrap words an error of the database.
func (g *Graph) wrap(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("graph: %q: %w", g.set.Key, g.set.Error(ctx, err))
}
