package graph

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"retwis/index/internal/batch"
	"retwis/internal/redis/script"
)

const (
	scriptTriples = 50                 // triples per script
	scriptBytes   = 256 << 10          // approximate bytes of names per script
	windowTriples = 32 * scriptTriples // triples per pipeline
	windowBytes   = 4 << 20            // approximate bytes of names per pipeline
)

// Put adds a triple and reports whether it is new: one round trip, O(log n) for each order.
func (g *Graph) Put(ctx context.Context, t Triple) (bool, error) {
	n, err := g.PutMany(ctx, slices.Values([]Triple{t}))
	return n > 0, err
}

// PutMany adds triples and returns the number of new ones. A script adds 50 triples atomically,
// and a pipeline of scripts 1,600; the next pipeline is filled meanwhile. PutMany stops at the
// first error. The triples before an invalid triple are added. Repeating the call is safe.
func (g *Graph) PutMany(ctx context.Context, triples iter.Seq[Triple]) (int, error) {
	return g.change(ctx, g.put, triples)
}

// Remove removes triples and returns the number that existed: one round trip per 1,600 triples.
func (g *Graph) Remove(ctx context.Context, triples ...Triple) (int, error) {
	return g.RemoveMany(ctx, slices.Values(triples))
}

// RemoveMany removes triples in pipelines, as PutMany adds them, and returns the number that
// existed.
func (g *Graph) RemoveMany(ctx context.Context, triples iter.Seq[Triple]) (int, error) {
	return g.change(ctx, g.remove, triples)
}

// change runs a script on triples and returns the sum of its replies.
func (g *Graph) change(ctx context.Context, script script.Script, triples iter.Seq[Triple]) (int, error) {
	w, err := g.newWriter(ctx, script)
	if err != nil {
		return 0, g.store.Wrap(ctx, err)
	}
	position := 0
	for t := range triples {
		position++
		if err := t.check(); err != nil {
			_ = w.Close() // the first error is returned
			return int(w.Reply), fmt.Errorf("graph: triple %d: %w", position, err)
		}
		if w.Add(g.place(t)) != nil {
			break // Close returns the error
		}
	}
	err = w.Close()
	return int(w.Reply), g.store.Wrap(ctx, err)
}

// placed is an escaped triple and its partition.
type placed struct {
	Triple
	partition int
}

func (g *Graph) place(t Triple) placed { return placed{t.escaped(), g.store.Set.Index(t.S)} }

func (t placed) size() int { return len(t.S) + len(t.P) + len(t.O) }

// newWriter returns a writer for a script with the arguments declaration, words and
// triples.
func (g *Graph) newWriter(ctx context.Context, script script.Script, words ...string) (*batch.Writer[placed], error) {
	return batch.New(ctx, g.store.Set, batch.Spec[placed]{
		Script: script, Head: append(g.store.Set.Args(), words...), Words: 3,
		Append: func(args []string, t placed) []string { return append(args, t.S, t.P, t.O) },
		Part:   func(t placed) int { return t.partition },
		// This sort order is the fastest for all six orders of entries.
		Compare: func(a, b placed) int {
			return cmp.Or(strings.Compare(a.P, b.P), strings.Compare(a.O, b.O), strings.Compare(a.S, b.S))
		},
		Size: placed.size, Items: scriptTriples, Window: windowTriples, ScriptBytes: scriptBytes, WindowBytes: windowBytes,
	})
}
