// Package turns shares a limited resource, such as memory or processors, fairly between places,
// for example client addresses: the waiting places take turns, each with one request, so a place
// with hundreds of requests delays the other places by only one turn.
//
//  1. [Queue.Acquire] acquires a share of the resource, or queues for it per place.
//  2. [Queue.Release] returns the share, and passes it on to the place whose turn it is.
package turns

import (
	"context"
	"errors"
	"sync"
)

// ErrBusy means that the queue is full.
var ErrBusy = errors.New("turns: the queue is full")

// Queue has a capacity of which each request takes a part, its weight: a slot, or bytes. A
// request that does not fit waits, and so do all later requests, even small requests, so that large
// requests are not starved. The fields must not be changed after the first use.
type Queue struct {
	Capacity int64 // total weight of running requests
	Max      int   // maximum number of waiting requests
	MaxPlace int   // maximum number of waiting requests per place, except for place ""

	mu      sync.Mutex
	running int64
	waiting int
	places  map[string]*line
	turns   []*line // waiting places, in the order of their turns
}

// line is the queue of one place, in order of arrival.
type line struct {
	place   string
	waiters []*waiter
}

// waiter is a waiting request. It receives nil when it gets its share, or ErrBusy.
type waiter struct {
	weight int64
	ready  chan error
}

// Acquire waits until there is room for weight, which must not exceed the capacity. It returns
// ErrBusy if the queue is full, or the error of ctx.
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
	// The request was served or rejected at the same moment.
	if err := <-w.ready; err != nil {
		return err
	}
	q.Release(weight)
	return ctx.Err()
}

// join acquires a share if there is room and no request is waiting; it then returns no waiter.
// Otherwise it adds a waiter to the queue.
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
	// The request that makeRoom rejected may have been the request that did not fit.
	q.serve()
	return w, nil
}

// makeRoom rejects the last request of the longest line, in favor of a place with length waiting
// requests. It reports false and rejects nothing if the longest line is not longer than length+1.
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

// cut removes a waiter, and its line if the line is empty afterwards.
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

// leave removes a waiter, and reports whether it was still waiting.
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
			q.serve() // later requests may need less
			return true
		}
	}
	return false
}

// Release returns the share of a request.
func (q *Queue) Release(weight int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running -= weight
	q.serve()
}

// serve passes free capacity to the places whose turn it is, until a request needs more.
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

// Waiting returns the number of waiting requests.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
