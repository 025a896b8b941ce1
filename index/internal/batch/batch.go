// Package batch writes items to an index in pipelined scripts.
package batch

import (
	"cmp"
	"context"
	"slices"

	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
)

// The size of a script and of a pipeline, in items, unless a Spec says otherwise. A script of
// a hundred takes the server less than half a millisecond.
const (
	Items  = 100
	Window = 20 * Items
)

// Spec describes how items are written.
type Spec[T any] struct {
	Script script.Script
	Head   []string // the arguments before the first item
	Words  int      // the number of arguments of an item
	Append func(args []string, item T) []string
	Part   func(item T) int // the partition of an item
	// Compare sorts the items of a partition: neighbours in a sorted set are faster to write
	// one after the other.
	Compare func(a, b T) int
	// Key identifies an item: a later one replaces it in a pipeline. nil: all are written.
	Key func(item T) string
	// Size is the number of bytes of an item, which bound scripts and pipelines, too. nil: an
	// item has few.
	Size func(item T) int

	Items, Window            int // of a script, and of a pipeline; default: Items and Window
	ScriptBytes, WindowBytes int
}

// Writer batches items into scripts and sends these in pipelines, one at a time: while a
// pipeline is in flight the next one is filled. The first error is the last thing it does.
type Writer[T any] struct {
	Done  int   // items that are written
	Reply int64 // the sum of the replies

	ctx     context.Context // of the call that uses the writer
	set     *partition.Set
	spec    Spec[T]
	window  []T
	bytes   int
	at      map[string]int // index in the window, by key
	repeats int            // items that replaced one in the window
	flight  chan sent      // nil: no pipeline is in flight
	failed  error
}

// sent is the result of a pipeline.
type sent struct {
	items int
	reply int64
	err   error
}

// New returns a writer. It stores the declaration of an index of several partitions.
func New[T any](ctx context.Context, set *partition.Set, spec Spec[T]) (*Writer[T], error) {
	if len(set.Keys) > 1 {
		if err := set.Declare(ctx); err != nil {
			return nil, err
		}
	}
	spec.Items, spec.Window = cmp.Or(spec.Items, Items), cmp.Or(spec.Window, Window)
	return &Writer[T]{ctx: ctx, set: set, spec: spec, at: map[string]int{}}, nil
}

// Add batches an item.
func (w *Writer[T]) Add(item T) error {
	if w.spec.Key != nil {
		key := w.spec.Key(item)
		if at, ok := w.at[key]; ok {
			w.window[at] = item
			w.repeats++
			return nil
		}
		w.at[key] = len(w.window)
	}
	w.window = append(w.window, item)
	if w.spec.Size != nil {
		w.bytes += w.spec.Size(item)
	}
	if len(w.window) < w.spec.Window && (w.spec.Size == nil || w.bytes < w.spec.WindowBytes) {
		return nil
	}
	return w.send()
}

// send sends the window once the pipeline in flight is done.
func (w *Writer[T]) send() error {
	calls, n := w.calls(), len(w.window)+w.repeats
	if err := w.wait(); err != nil || n == 0 {
		return err
	}
	w.window, w.repeats, w.bytes = w.window[:0], 0, 0
	clear(w.at)
	w.flight = make(chan sent, 1)
	go func(flight chan<- sent) { flight <- w.run(calls, n) }(w.flight)
	return nil
}

// calls splits the window into scripts.
func (w *Writer[T]) calls() []script.Call {
	s := &w.spec
	slices.SortFunc(w.window, func(a, b T) int { return cmp.Or(cmp.Compare(s.Part(a), s.Part(b)), s.Compare(a, b)) })
	var calls []script.Call
	last, n, bytes := -1, 0, 0
	for _, item := range w.window {
		part := s.Part(item)
		if part != last || n == s.Items || s.Size != nil && bytes >= s.ScriptBytes {
			calls = append(calls, script.Call{
				Keys: w.set.Keys[part].All(),
				Args: append(make([]string, 0, len(s.Head)+s.Words*s.Items), s.Head...),
			})
			last, n, bytes = part, 0, 0
		}
		c := &calls[len(calls)-1]
		c.Args = s.Append(c.Args, item)
		if n++; s.Size != nil {
			bytes += s.Size(item)
		}
	}
	return calls
}

func (w *Writer[T]) run(calls []script.Call, items int) (done sent) {
	for _, r := range w.spec.Script.RunMany(w.ctx, w.set.Client, calls) {
		n, err := r.AsInt64()
		if err != nil {
			done.err = err
			return done
		}
		done.reply += n
	}
	done.items = items
	return done
}

// wait waits for the pipeline in flight.
func (w *Writer[T]) wait() error {
	if w.flight == nil {
		return w.failed
	}
	done := <-w.flight
	w.flight = nil
	w.Done, w.Reply, w.failed = w.Done+done.items, w.Reply+done.reply, done.err
	return w.failed
}

// Close sends the rest and waits for its replies.
func (w *Writer[T]) Close() error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.send(); err != nil {
		return err
	}
	return w.wait()
}
