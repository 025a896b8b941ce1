// Package turns shares what many want at once, such as memory or processors, fairly: the
// places that wait take turns, each with one request, so that one with hundreds of requests
// delays the others by one turn only.
//
//  1. [Queue.Acquire] takes a share, or waits for it in the line of its place.
//  2. [Queue.Release] gives it back, and passes it on to the place whose turn it is.
package turns

import (
	"context"
	"errors"
	"sync"
)

// ErrBusy: too many wait.
var ErrBusy = errors.New("turns: too many wait")

// Queue has a capacity of which each request takes a part, its weight: a slot, or bytes. A
// request that needs more than is free waits, and those after it wait too, however small
// they are: so it is not starved. Its fields must not change after the first use.
type Queue struct {
	Capacity int64 // what all that run may weigh together
	Max      int   // how many may wait
	MaxPlace int   // how many of one place, unless it is ""

	mu      sync.Mutex
	running int64
	waiting int
	places  map[string]*line
	turns   []*line // the places that wait, in the order of their turns
}

// line is what waits at one place, the first to come first.
type line struct {
	place   string
	waiters []*waiter
}

// waiter is a request that waits. It receives nil with its share, or ErrBusy.
type waiter struct {
	weight int64
	ready  chan error
}

// Acquire waits until there is room for a weight, which must not be larger than the
// capacity. It returns ErrBusy if too many wait, or the error of ctx.
func (q *Queue) Acquire(ctx context.Context, place string, weight int64) error {
	w, err := q.join(place, weight)
	if w == nil {
		return err
	}
	select {
	case err := <-w.ready:
		return err
	case <-ctx.Done():
	}
	if q.leave(place, w) {
		return ctx.Err()
	}
	// It was served in the same moment.
	if err := <-w.ready; err != nil {
		return err
	}
	q.Release(weight)
	return ctx.Err()
}

// join takes a share if there is room and nobody waits for it, and then returns no waiter.
func (q *Queue) join(place string, weight int64) (*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 && q.running+weight <= q.Capacity {
		q.running += weight
		return nil, nil
	}
	l := q.places[place]
	length := 0
	if l != nil {
		length = len(l.waiters)
	}
	if place != "" && length >= q.MaxPlace || q.waiting >= q.Max && !q.makeRoom(length) {
		return nil, ErrBusy
	}
	if l == nil {
		l = &line{place: place}
		if q.places == nil {
			q.places = map[string]*line{}
		}
		q.places[place] = l
		q.turns = append(q.turns, l)
	}
	w := &waiter{weight: weight, ready: make(chan error, 1)}
	l.waiters = append(l.waiters, w)
	q.waiting++
	// The one that was turned away may have been the one that did not fit.
	q.serve()
	return w, nil
}

// makeRoom turns away the last request of the longest line, for one of a place that has
// fewer waiting. It reports whether there was one.
func (q *Queue) makeRoom(length int) bool {
	var longest *line
	for _, l := range q.turns {
		if longest == nil || len(l.waiters) > len(longest.waiters) {
			longest = l
		}
	}
	if longest == nil || len(longest.waiters) <= length+1 {
		return false
	}
	last := len(longest.waiters) - 1
	longest.waiters[last].ready <- ErrBusy
	q.cut(longest, last)
	return true
}

// cut removes a waiter, and its line with the last one.
func (q *Queue) cut(l *line, at int) {
	l.waiters = append(l.waiters[:at], l.waiters[at+1:]...)
	q.waiting--
	if len(l.waiters) > 0 {
		return
	}
	delete(q.places, l.place)
	for i, other := range q.turns {
		if other == l {
			q.turns = append(q.turns[:i], q.turns[i+1:]...)
			return
		}
	}
}

// leave removes a waiter, and reports whether it still waited.
func (q *Queue) leave(place string, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.places[place]
	if l == nil {
		return false
	}
	for i, other := range l.waiters {
		if other == w {
			q.cut(l, i)
			q.serve() // those after it may need less
			return true
		}
	}
	return false
}

// Release gives the share of a request back.
func (q *Queue) Release(weight int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running -= weight
	q.serve()
}

// serve passes what is free on to the places whose turns it is, until one needs more.
func (q *Queue) serve() {
	for len(q.turns) > 0 {
		l := q.turns[0]
		w := l.waiters[0]
		if q.running+w.weight > q.Capacity {
			return
		}
		q.running += w.weight
		w.ready <- nil
		if len(l.waiters) > 1 {
			q.turns = append(q.turns[1:], l)
		}
		q.cut(l, 0)
	}
}

// Waiting returns how many wait.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
