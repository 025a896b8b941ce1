package graph

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	engine "retwis/internal/maintain"
	"retwis/internal/redis/script"
)

const (
	scriptTriples = 50        // triples per script
	scriptBytes   = 256 << 10 // or approximate bytes of names
	windowTriples = 32 * scriptTriples
	windowBytes   = 4 << 20
)

// Put adds a triple and reports whether it is new. One round trip; in the server
// O(log n) for each order.
func (g *Graph) Put(ctx context.Context, t Triple) (bool, error) {
	n, err := g.PutMany(ctx, slices.Values([]Triple{t}))
	return n > 0, err
}

// PutMany adds triples and returns how many are new. A script adds 50 triples
// atomically; a round trip takes 1,600, while the next ones are collected. It stops at
// the first error: the triples before it have been added, and putting them again has no
// effect.
func (g *Graph) PutMany(ctx context.Context, triples iter.Seq[Triple]) (int, error) {
	return g.change(ctx, g.put, triples)
}

// Remove removes triples and returns how many there were: one round trip for 1,600.
func (g *Graph) Remove(ctx context.Context, triples ...Triple) (int, error) {
	return g.RemoveMany(ctx, slices.Values(triples))
}

// RemoveMany removes triples the way PutMany adds them, and returns how many there were.
func (g *Graph) RemoveMany(ctx context.Context, triples iter.Seq[Triple]) (int, error) {
	return g.change(ctx, g.remove, triples)
}

// change runs a script on triples and returns the sum of its replies. It collects the
// next window while one is in flight.
func (g *Graph) change(ctx context.Context, script script.Script, triples iter.Seq[Triple]) (int, error) {
	if err := g.declare(ctx); err != nil {
		return 0, err
	}
	w := g.newWriter(ctx, script)
	at := 0
	for t := range triples {
		at++
		err := t.check()
		if err != nil {
			err = fmt.Errorf("graph: triple %d: %w", at, err)
		} else {
			err = w.add(t)
		}
		if err != nil {
			n, _ := w.close() // err came first
			return n, err
		}
	}
	return w.close()
}

// writer collects triples into windows and sends each as a pipeline of scripts.
type writer struct {
	ctx    context.Context // of the one call it lives for
	g      *Graph
	script script.Script
	head   []string // arguments before the first triple

	window []placed
	size   int // bytes of names in it

	flight  chan sent // nil: no window is in flight
	replied int
	failed  error
}

// placed is an escaped triple and its partition.
type placed struct {
	Triple
	partition int
}

// newWriter returns a writer for a script whose arguments are the declaration, then
// same, then triples.
func (g *Graph) newWriter(ctx context.Context, script script.Script, same ...string) *writer {
	return &writer{ctx: ctx, g: g, script: script, head: append(g.store.Set.Args(), same...)}
}

// sent is the result of a pipeline.
type sent struct {
	replied int
	err     error
}

// add adds a triple to the window.
func (w *writer) add(t Triple) error {
	e := placed{t.escaped(), w.g.store.Set.Index(t.S)}
	w.window = append(w.window, e)
	if w.size += e.size(); len(w.window) < windowTriples && w.size < windowBytes {
		return nil
	}
	return w.send()
}

func (t placed) size() int { return len(t.S) + len(t.P) + len(t.O) }

// send waits for the window in flight, then sends the current one.
func (w *writer) send() error {
	calls := w.calls()
	w.window, w.size = w.window[:0], 0
	if err := w.wait(); err != nil || len(calls) == 0 {
		return err
	}
	w.flight = make(chan sent, 1)
	go func(flight chan<- sent) { flight <- w.run(calls) }(w.flight)
	return nil
}

// calls splits the window into scripts. Sorted triples are faster, since successive
// entries are close in the sorted set; this order does best for all six orders.
func (w *writer) calls() []script.Call {
	slices.SortFunc(w.window, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), strings.Compare(a.P, b.P), strings.Compare(a.O, b.O), strings.Compare(a.S, b.S))
	})
	var calls []script.Call
	last, size := -1, 0
	for _, t := range w.window {
		full := last < 0 || len(calls[len(calls)-1].Args) == len(w.head)+3*scriptTriples || size >= scriptBytes
		if full || last != t.partition {
			calls = append(calls, script.Call{
				Keys: w.g.store.Set.Keys[t.partition].All(),
				Args: append(make([]string, 0, len(w.head)+3*scriptTriples), w.head...),
			})
			last, size = t.partition, 0
		}
		c := &calls[len(calls)-1]
		c.Args = append(c.Args, t.S, t.P, t.O)
		size += t.size()
	}
	return calls
}

func (w *writer) run(calls []script.Call) (done sent) {
	for _, r := range w.script.RunMany(w.ctx, w.g.store.Set.Client, calls) {
		n, err := r.AsInt64()
		if err != nil {
			done.err = w.g.store.Wrap(w.ctx, engine.Replaced(err))
			return done
		}
		done.replied += int(n)
	}
	return done
}

// wait waits for the window in flight.
func (w *writer) wait() error {
	if w.flight == nil {
		return w.failed
	}
	done := <-w.flight
	w.flight = nil
	w.replied += done.replied
	w.failed = done.err
	return w.failed
}

// close sends the rest and returns the sum of all replies.
func (w *writer) close() (int, error) {
	if w.failed != nil {
		return w.replied, w.failed
	}
	err := w.send()
	if err == nil {
		err = w.wait()
	}
	return w.replied, err
}
