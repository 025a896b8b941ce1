package graph

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/index/graph/internal/entries"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
)

var (
	//go:embed entries.lua
	entriesLua string
	//go:embed put.lua
	putLua string
	//go:embed remove.lua
	removeLua string
	//go:embed repair.lua
	repairLua string
	//go:embed fill.lua
	fillLua string
	//go:embed finish.lua
	finishLua string
)

// kind is the kind of index in the declaration.
const kind = "graph"

// Options configures a graph. It is part of the declaration and cannot change once the graph
// exists.
type Options struct {
	// Compact stores three of the six orders, which halves memory and the cost of writes. Every
	// pattern is still one range, and query plans are the same; but Pattern.Order has fewer
	// choices, and the triples of a predicate are sorted by object. Default: all six, as in the
	// tutorial.
	Compact bool
	// Partitions is the number of hash slots over which the graph is sharded by subject. A
	// pattern with a subject reads one partition; other patterns read all of them and merge the
	// results. Default 1, at most 1024.
	Partitions int
}

// Graph is a set of triples in Redis. It is safe for concurrent use.
type Graph struct {
	store store

	put, remove, repair, fill, finish script.Script
	tracker                           *engine.Tracker
}

// New returns the graph at a key, which need not exist yet. It sends no command.
func New(client rueidis.Client, key string, opt Options) (*Graph, error) {
	d := partition.Declaration{Kind: kind, Partitions: opt.Partitions}
	if opt.Compact {
		d.Text = "compact"
	}
	set, err := partition.New(client, key, d)
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	script := func(source string) script.Script { return partition.NewScript(entriesLua, source) }
	return &Graph{
		store: store{Reader: entries.Reader{Set: set}, compact: opt.Compact},
		put:   script(putLua), remove: script(removeLua), repair: script(repairLua),
		fill: script(fillLua), finish: engine.NewFinish(entriesLua, finishLua),
		tracker: engine.NewTracker(set, nil),
	}, nil
}

// Open returns the existing graph at a key with its declared options. It returns
// index.ErrNotFound if the key has no index, and index.ErrDeclared if it has another type of
// index. One round trip.
func Open(ctx context.Context, client rueidis.Client, key string) (*Graph, error) {
	d, err := partition.ReadKind(ctx, client, key, kind)
	if err == nil && d.Text != "" && d.Text != "compact" {
		err = partition.Corrupt(key, fmt.Errorf("unknown option %q", d.Text))
	}
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	return New(client, key, Options{Compact: d.Text != "", Partitions: d.Partitions})
}

// Key returns the key of the graph.
func (g *Graph) Key() string { return g.store.Set.Key }

// Options returns the options of the graph.
func (g *Graph) Options() Options {
	return Options{Compact: g.store.compact, Partitions: len(g.store.Set.Keys)}
}
