package index

import (
	"cmp"
	"context"
	"slices"

	"retwis/internal/partition"
	"retwis/internal/script"
)

// How entries are gathered: a script for so many of a partition, a pipeline of so
// many scripts. A script of a hundred takes the server less than half a
// millisecond.
const (
	batchEntries = 100
	windowSize   = 20 * batchEntries
)

// writer gathers entries into scripts and sends these in pipelines, one after the
// other: while a pipeline is under way the next is filled.
type writer struct {
	ctx    context.Context // of the call that the writer lives in
	set    *partition.Set
	script script.Script
	head   []string // the arguments before the first entry

	window  []write
	at      map[string]int // in the window: where each id is
	repeats int            // entries that took the place of others
	flight  chan error     // nil: nothing is under way
	inAir   int
	done    int // entries that are in
	failed  error
}

// write is what an id is to have.
type write struct {
	partition int
	id, value string
}

// newWriter returns a writer that runs a script whose arguments are the head and
// then pairs of an id and a value.
func newWriter(ctx context.Context, set *partition.Set, script script.Script, head []string) (*writer, error) {
	if len(set.Keys) > 1 {
		if err := set.Declare(ctx); err != nil {
			return nil, err
		}
	}
	return &writer{ctx: ctx, set: set, script: script, head: head, at: map[string]int{}}, nil
}

// add gathers an entry. What comes later for an id takes the place of what came
// before, so that no pipeline has an id twice.
func (w *writer) add(id, value string) error {
	if at, ok := w.at[id]; ok {
		w.window[at].value = value
		w.repeats++
		return nil
	}
	w.at[id] = len(w.window)
	w.window = append(w.window, write{w.set.Index(id), id, value})
	if len(w.window) == windowSize {
		return w.send()
	}
	return nil
}

// send sends what is gathered when what is under way has arrived.
func (w *writer) send() error {
	calls, n := w.calls(), len(w.window)+w.repeats
	if err := w.wait(); err != nil || n == 0 {
		return err
	}
	w.window, w.repeats = w.window[:0], 0
	clear(w.at)
	w.inAir, w.flight = n, make(chan error, 1)
	go func(flight chan<- error) { flight <- w.run(calls) }(w.flight)
	return nil
}

// calls parts the window into scripts. Sorted, for the server goes from one place
// to the next in its sorted set faster than back and forth.
func (w *writer) calls() []script.Call {
	slices.SortFunc(w.window, func(a, b write) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.value, b.value))
	})
	var calls []script.Call
	last := -1
	for _, e := range w.window {
		if last < 0 || last != e.partition || len(calls[len(calls)-1].Args) == len(w.head)+2*batchEntries {
			calls = append(calls, script.Call{
				Keys: w.set.Keys[e.partition].All(),
				Args: append(make([]string, 0, len(w.head)+2*batchEntries), w.head...),
			})
			last = e.partition
		}
		c := &calls[len(calls)-1]
		c.Args = append(c.Args, e.id, e.value)
	}
	return calls
}

func (w *writer) run(calls []script.Call) error {
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
	return w.done, wrap(w.ctx, cmp.Or(err, wrong))
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
