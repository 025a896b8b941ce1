package graph

import (
	"context"
	"fmt"
	"iter"

	"retwis/index"
	"retwis/index/internal/partition"
)

const (
	scriptTriples = 50        // how many triples one script writes
	scriptBytes   = 256 << 10 // or how many bytes of names, about
	window        = 32 * scriptTriples
	windowBytes   = 4 << 20
	step          = 500 // how many entries are read together
)

// change runs a script on triples and sums up what it replies. While a window of
// them is under way the next is filled.
func (g *Graph) change(ctx context.Context, script partition.Script, triples iter.Seq[Triple]) (int, error) {
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
			n, _ := w.close() // the first error counts
			return n, err
		}
	}
	return w.close()
}

// writer gathers triples into calls of a script, and these into pipelines.
type writer struct {
	ctx    context.Context //nolint:containedctx // of the call that the writer lives in
	g      *Graph
	script partition.Script
	head   []string // the arguments before the first triple

	open    []batch // of each partition
	calls   []partition.Call
	n, size int // triples and bytes since the last pipeline

	flight  chan sent // nil: nothing is under way
	replied int
	failed  error
}

// newWriter returns a writer for a script whose arguments are the declaration,
// then some that are the same for every call, then triples.
func (g *Graph) newWriter(ctx context.Context, script partition.Script, same ...string) *writer {
	return &writer{ctx: ctx, g: g, script: script, open: make([]batch, len(g.set.Keys)), head: append(g.set.Args(), same...)}
}

// batch is a call that is not full yet.
type batch struct {
	args []string
	size int
}

// sent is what came of a pipeline.
type sent struct {
	replied int
	err     error
}

// add gathers a triple.
func (w *writer) add(t Triple) error {
	i := w.g.set.Index(t.S)
	b := &w.open[i]
	if b.args == nil {
		b.args = append(make([]string, 0, len(w.head)+3*scriptTriples), w.head...)
	}
	e := t.escaped()
	size := len(e.S) + len(e.P) + len(e.O)
	b.args = append(b.args, e.S, e.P, e.O)
	b.size += size
	if len(b.args) == len(w.head)+3*scriptTriples || b.size >= scriptBytes {
		w.full(i)
	}
	w.n++
	if w.size += size; w.n >= window || w.size >= windowBytes {
		return w.send()
	}
	return nil
}

// full makes a call of what is gathered for a partition.
func (w *writer) full(i int) {
	w.calls = append(w.calls, partition.Call{Keys: w.g.set.Keys[i].All(), Args: w.open[i].args})
	w.open[i] = batch{}
}

// send sends what is gathered when what is under way has arrived.
func (w *writer) send() error {
	for i := range w.open {
		if w.open[i].args != nil {
			w.full(i)
		}
	}
	calls := w.calls
	w.calls, w.n, w.size = nil, 0, 0
	if err := w.wait(); err != nil || len(calls) == 0 {
		return err
	}
	w.flight = make(chan sent, 1)
	go func(flight chan<- sent) { flight <- w.run(calls) }(w.flight)
	return nil
}

func (w *writer) run(calls []partition.Call) (done sent) {
	for _, r := range w.script.RunMany(w.ctx, w.g.set.Client, calls) {
		n, err := r.AsInt64()
		if err != nil {
			done.err = w.g.wrap(w.ctx, err)
			return done
		}
		if n < 0 {
			done.err = w.g.wrap(w.ctx, index.ErrReplaced)
			return done
		}
		done.replied += int(n)
	}
	return done
}

// wait waits for what is under way.
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

// close sends the rest, waits for all of it and returns the sum of the replies.
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
