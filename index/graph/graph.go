package graph

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/internal/partition"
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

	put, del, mend, begin, build, swap partition.Script
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
	script := func(source string) partition.Script { return partition.NewScript(entriesLua + source) }
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
	n, err := g.change(ctx, g.put, []Triple{t})
	return n > 0, err
}

// PutMany adds triples, 50 a script and some 1,500 a round trip, and tells how
// many were not there. Each script is one atomic step. Where one fails those
// before it are in, and it does no harm to put all of them again.
func (g *Graph) PutMany(ctx context.Context, triples []Triple) (int64, error) {
	return g.change(ctx, g.put, triples)
}

// Del removes a triple, and tells whether it was there. One round trip.
func (g *Graph) Del(ctx context.Context, t Triple) (bool, error) {
	n, err := g.change(ctx, g.del, []Triple{t})
	return n > 0, err
}

// DelMany removes triples as PutMany adds them, and tells how many were there.
func (g *Graph) DelMany(ctx context.Context, triples []Triple) (int64, error) {
	return g.change(ctx, g.del, triples)
}

const (
	scriptTriples = 50        // how many triples one script writes
	scriptBytes   = 256 << 10 // or how many bytes of names, about
	pipeline      = 32        // how many scripts go out together
	step          = 500       // how many entries are read together
)

// change runs a script on triples, as many at a time as are good for others that
// use the server, and sums up what it replies.
func (g *Graph) change(ctx context.Context, script partition.Script, triples []Triple) (int64, error) {
	for i, t := range triples {
		if err := t.check(); err != nil {
			return 0, fmt.Errorf("graph: triple %d of %d: %w", i+1, len(triples), err)
		}
	}
	if err := g.declare(ctx); err != nil {
		return 0, err
	}
	var total int64
	var calls []partition.Call
	send := func() error {
		for _, r := range script.RunMany(ctx, g.set.Client, calls) {
			n, err := r.AsInt64()
			if err != nil {
				return g.wrap(ctx, err)
			}
			total += n
		}
		calls = calls[:0]
		return nil
	}
	err := g.batches(triples, nil, func(c partition.Call) error {
		calls = append(calls, c)
		if len(calls) < pipeline {
			return nil
		}
		return send()
	})
	if err == nil && len(calls) > 0 {
		err = send()
	}
	return total, err
}

// batches cuts triples into calls of a script, each for one partition. between
// are arguments of all of them, behind those of the declaration.
func (g *Graph) batches(triples []Triple, between []string, yield func(partition.Call) error) error {
	type batch struct {
		args []string
		size int
	}
	open := make([]batch, len(g.set.Keys))
	head := append(g.set.Args(), between...)
	flush := func(i int) error {
		call := partition.Call{Keys: g.set.Keys[i].All(), Args: open[i].args}
		open[i] = batch{}
		return yield(call)
	}
	for _, t := range triples {
		i := g.set.Index(t.S)
		b := &open[i]
		if b.args == nil {
			b.args = append(make([]string, 0, len(head)+3*min(len(triples), scriptTriples)), head...)
		}
		e := t.escaped()
		b.args = append(b.args, e.S, e.P, e.O)
		b.size += len(e.S) + len(e.P) + len(e.O)
		if len(b.args) == len(head)+3*scriptTriples || b.size >= scriptBytes {
			if err := flush(i); err != nil {
				return err
			}
		}
	}
	for i := range open {
		if open[i].args != nil {
			if err := flush(i); err != nil {
				return err
			}
		}
	}
	return nil
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
