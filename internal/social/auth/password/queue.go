package password

import (
	"context"
	"sync"
)

type placeKey struct{}

// WithPlace notes in a context where a request comes from, such as an address. Those
// without a place, of an operator's command, take one turn together, and as much of the
// queue as there is.
func WithPlace(ctx context.Context, place string) context.Context {
	return context.WithValue(ctx, placeKey{}, place)
}

func placeOf(ctx context.Context) string {
	place, _ := ctx.Value(placeKey{}).(string)
	return place
}

// queue shares a number of slots fairly: the places that wait take turns, each with one
// request, so that one with hundreds of requests delays the others by one turn only.
type queue struct {
	slots    int // how many may run
	max      int // how many may wait
	maxPlace int // how many of one place

	mu      sync.Mutex
	running int
	waiting int
	places  map[string]*line
	turns   []*line // the places that wait, in the order of their turns
}

// line is what waits at one place, the first to come first.
type line struct {
	place   string
	waiters []*waiter
}

// waiter is a request that waits. It receives nil with its slot, or ErrBusy.
type waiter struct{ ready chan error }

// acquire waits for a slot. It returns ErrBusy if too many wait, or the error of ctx.
func (q *queue) acquire(ctx context.Context) error {
	place := placeOf(ctx)
	w, err := q.join(place)
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
	q.release()
	return ctx.Err()
}

// join takes a slot if one is free, and then returns no waiter.
func (q *queue) join(place string) (*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running < q.slots {
		q.running++
		return nil, nil
	}
	l := q.places[place]
	length := 0
	if l != nil {
		length = len(l.waiters)
	}
	if place != "" && length >= q.maxPlace || q.waiting >= q.max && !q.makeRoom(length) {
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
	w := &waiter{ready: make(chan error, 1)}
	l.waiters = append(l.waiters, w)
	q.waiting++
	return w, nil
}

// makeRoom turns away the last request of the longest line, for one of a place that has
// fewer waiting. It reports whether there was one.
func (q *queue) makeRoom(length int) bool {
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
func (q *queue) cut(l *line, at int) {
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
func (q *queue) leave(place string, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.places[place]
	if l == nil {
		return false
	}
	for i, other := range l.waiters {
		if other == w {
			q.cut(l, i)
			return true
		}
	}
	return false
}

// release passes a slot on to the place whose turn it is.
func (q *queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		q.running--
		return
	}
	l := q.turns[0]
	l.waiters[0].ready <- nil
	if len(l.waiters) > 1 {
		q.turns = append(q.turns[1:], l)
	}
	q.cut(l, 0)
}

// length is how many wait.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
