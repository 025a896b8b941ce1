package index

import (
	"context"

	"retwis/index/internal/partition"
)

// How entries are gathered: a script for so many of a partition, a pipeline of so
// many scripts. A script of a hundred takes the server about 0.2 ms.
const (
	batchEntries = 100
	windowCalls  = 16
	windowSize   = batchEntries * windowCalls
)

// writer gathers entries into scripts and sends these in pipelines, one after the
// other: while a pipeline is under way the next is filled.
type writer struct {
	ctx    context.Context // of the call that the writer lives in
	set    *partition.Set
	script partition.Script
	head   []string // the arguments before the first entry

	batches [][]string         // for each partition the arguments of a script
	at      map[string]*string // in this window: where the value of each id is
	calls   []partition.Call
	size    int

	sent   int
	flight chan error // nil: nothing is under way
	inAir  int
	done   int // entries that are in
	failed error
}

// newWriter returns a writer that runs a script whose arguments are the head and
// then pairs of an id and a value.
func newWriter(ctx context.Context, set *partition.Set, script partition.Script, head []string) (*writer, error) {
	if len(set.Keys) > 1 {
		if err := set.Declare(ctx); err != nil {
			return nil, err
		}
	}
	return &writer{
		ctx: ctx, set: set, script: script, head: head,
		batches: make([][]string, len(set.Keys)),
		at:      make(map[string]*string),
	}, nil
}

// add gathers an entry. What comes later for an id takes the place of what came
// before, so that no pipeline has an id twice.
func (w *writer) add(id, value string) error {
	if at := w.at[id]; at != nil {
		*at = value
		w.done++
		return nil
	}
	p := w.set.Index(id)
	if w.batches[p] == nil {
		// Never grown, so that what points into it stays right.
		w.batches[p] = append(make([]string, 0, len(w.head)+2*batchEntries), w.head...)
	}
	b := append(w.batches[p], id, value)
	w.batches[p], w.at[id] = b, &b[len(b)-1]
	if w.size++; len(b) == cap(b) {
		w.calls = append(w.calls, partition.Call{Keys: w.set.Keys[p].All(), Args: b})
		w.batches[p] = nil
	}
	if w.size == windowSize {
		return w.send()
	}
	return nil
}

// send sends what is gathered when what is under way has arrived.
func (w *writer) send() error {
	for p, b := range w.batches {
		if b != nil {
			w.calls = append(w.calls, partition.Call{Keys: w.set.Keys[p].All(), Args: b})
			w.batches[p] = nil
		}
	}
	if err := w.wait(); err != nil || len(w.calls) == 0 {
		return err
	}
	calls, flight := w.calls, make(chan error, 1)
	w.flight, w.inAir = flight, w.size
	w.calls, w.size = nil, 0
	clear(w.at)
	go func() { flight <- w.run(calls) }()
	return nil
}

// run sends scripts, in pipelines that are not too long.
func (w *writer) run(calls []partition.Call) error {
	for _, r := range w.script.RunMany(w.ctx, w.set.Client, calls) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) wait() error {
	if w.flight == nil {
		return nil
	}
	err := <-w.flight
	if w.failed = err; err == nil {
		w.done += w.inAir
	}
	w.flight, w.inAir = nil, 0
	return err
}

// close sends the rest and waits for all of it.
func (w *writer) close() error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.send(); err != nil {
		return err
	}
	return w.wait()
}

// closed is close for a PutMany: how many are in, and what went wrong first.
func (w *writer) closed(wrap func(context.Context, error) error, wrong error) (int, error) {
	err := w.close()
	return w.done, wrap(w.ctx, cmpOr(err, wrong))
}

// byPartition parts ids into those of each partition, in batches for a script.
func byPartition(set *partition.Set, ids []string) [][][]string {
	all := make([][][]string, len(set.Keys))
	for _, id := range ids {
		p := set.Index(id)
		if n := len(all[p]); n == 0 || len(all[p][n-1]) == removeBatch {
			all[p] = append(all[p], nil)
		}
		last := len(all[p]) - 1
		all[p][last] = append(all[p][last], id)
	}
	return all
}
