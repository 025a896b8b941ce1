// Package batch writes items to an index in pipelined scripts.
package batch

import (
	"cmp"
	"context"
	"slices"

	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
)

// Default sizes of a script and of a pipeline, in items. A script of 100 items takes the
// server less than half a millisecond.
const (
	Items  = 100
	Window = 20 * Items
)

// Spec describes how to write items.
type Spec[T any] struct {
	Script script.Script
	Head   []string // arguments before the first item
	Words  int      // number of arguments per item
	Append func(args []string, item T) []string
	Part   func(item T) int // partition of an item
	// Compare sorts the items of a partition. Writing neighbours of a sorted set in sequence is
	// faster.
	Compare func(a, b T) int
	// Key identifies an item: within a pipeline, a later item with the same key replaces the
	// earlier item. nil: all items are written.
	Key func(item T) string
	// Size returns the size of an item in bytes, for ScriptBytes and WindowBytes. nil: items
	// are small.
	Size func(item T) int

	Items, Window            int // per script, and per pipeline; default: the constants Items and Window
	ScriptBytes, WindowBytes int
}

// Writer batches items into scripts and sends the scripts in pipelines, one at a time: while
// one pipeline is in flight, the next is filled. It stops at the first error.
type Writer[T any] struct {
	Done  int   // items written
	Reply int64 // sum of the replies

	ctx     context.Context // of the call that uses the Writer
	set     *partition.Set
	spec    Spec[T]
	window  []T
	bytes   int
	indexOf map[string]int // index in the window, by key
	repeats int            // items that replaced another in the window
	flight  chan sent      // nil: no pipeline is in flight
	failed  error
}

// sent is the result of a pipeline.
type sent struct {
	items int
	reply int64
	err   error
}

// New returns a Writer. If the index has several partitions, it stores the declaration first.
func New[T any](ctx context.Context, set *partition.Set, spec Spec[T]) (*Writer[T], error) {
	if len(set.Keys) > 1 {
		if err := set.Declare(ctx); err != nil {
			return nil, err
		}
	}
	spec.Items, spec.Window = cmp.Or(spec.Items, Items), cmp.Or(spec.Window, Window)
	return &Writer[T]{ctx: ctx, set: set, spec: spec, indexOf: map[string]int{}}, nil
}

// Add adds an item to the batch.
func (w *Writer[T]) Add(item T) error {
	if w.spec.Key != nil {
		key := w.spec.Key(item)
		if i, ok := w.indexOf[key]; ok {
			w.window[i] = item
			w.repeats++
			return nil
		}
		w.indexOf[key] = len(w.window)
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

// send waits for the pipeline in flight, then sends the window.
func (w *Writer[T]) send() error {
	calls, n := w.calls(), len(w.window)+w.repeats
	if err := w.wait(); err != nil || n == 0 {
		return err
	}
	w.window, w.repeats, w.bytes = w.window[:0], 0, 0
	clear(w.indexOf)
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

// Close sends the remaining items and waits for the replies.
func (w *Writer[T]) Close() error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.send(); err != nil {
		return err
	}
	return w.wait()
}
