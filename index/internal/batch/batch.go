// Package batch writes entries to an index in pipelined scripts.
package batch

import (
	"cmp"
	"context"
	"slices"

	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
)

// The size of a script and of a pipeline, in entries. A script of a hundred takes the
// server less than half a millisecond.
const (
	Entries = 100
	Window  = 20 * Entries
)

// Writer batches entries into scripts and sends these in pipelines, one at a time:
// while a pipeline is in flight the next one is filled.
type Writer struct {
	ctx    context.Context // of the call that uses the writer
	set    *partition.Set
	script script.Script
	head   []string // the arguments before the first entry

	window   []write
	at       map[string]int // index in the window, by id
	repeats  int            // entries that replaced one in the window
	flight   chan error     // nil: no pipeline is in flight
	inFlight int
	done     int // entries that are written
	failed   error
}

// write is the new value of an id.
type write struct {
	partition int
	id, value string
}

// New returns a writer for a script whose arguments are the head and then pairs
// of an id and a value.
func New(ctx context.Context, set *partition.Set, script script.Script, head []string) (*Writer, error) {
	if len(set.Keys) > 1 {
		if err := set.Declare(ctx); err != nil {
			return nil, err
		}
	}
	return &Writer{ctx: ctx, set: set, script: script, head: head, at: map[string]int{}}, nil
}

// Add batches an entry. A later one of the same id replaces it, so that no pipeline
// has an id twice.
func (w *Writer) Add(id, value string) error {
	if at, ok := w.at[id]; ok {
		w.window[at].value = value
		w.repeats++
		return nil
	}
	w.at[id] = len(w.window)
	w.window = append(w.window, write{w.set.Index(id), id, value})
	if len(w.window) == Window {
		return w.send()
	}
	return nil
}

// send sends the window once the pipeline in flight is done.
func (w *Writer) send() error {
	calls, n := w.calls(), len(w.window)+w.repeats
	if err := w.wait(); err != nil || n == 0 {
		return err
	}
	w.window, w.repeats = w.window[:0], 0
	clear(w.at)
	w.inFlight, w.flight = n, make(chan error, 1)
	go func(flight chan<- error) { flight <- w.run(calls) }(w.flight)
	return nil
}

// calls splits the window into scripts. It is sorted first: neighbours in a sorted set
// are faster to write one after the other.
func (w *Writer) calls() []script.Call {
	slices.SortFunc(w.window, func(a, b write) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.value, b.value))
	})
	var calls []script.Call
	last := -1
	for _, e := range w.window {
		if last < 0 || last != e.partition || len(calls[len(calls)-1].Args) == len(w.head)+2*Entries {
			calls = append(calls, script.Call{
				Keys: w.set.Keys[e.partition].All(),
				Args: append(make([]string, 0, len(w.head)+2*Entries), w.head...),
			})
			last = e.partition
		}
		c := &calls[len(calls)-1]
		c.Args = append(c.Args, e.id, e.value)
	}
	return calls
}

func (w *Writer) run(calls []script.Call) error {
	for _, r := range w.script.RunMany(w.ctx, w.set.Client, calls) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) wait() error {
	if w.flight == nil {
		return nil
	}
	err := <-w.flight
	if w.failed = err; err == nil {
		w.done += w.inFlight
	}
	w.flight, w.inFlight = nil, 0
	return err
}

// Close sends the rest and waits for its replies.
func (w *Writer) Close() error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.send(); err != nil {
		return err
	}
	return w.wait()
}

// Finish closes the writer for a PutMany that ended with an error, or nil. It returns
// how many entries are written and the first error.
func (w *Writer) Finish(wrap func(context.Context, error) error, failed error) (int, error) {
	err := w.Close()
	return w.done, wrap(w.ctx, cmp.Or(err, failed))
}
