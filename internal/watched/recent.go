package watched

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// recentFor is how long a list that all visitors see is shown from memory.
	recentFor = time.Second
	// recentAway is how old it may be while its server cannot be reached, as in a
	// failover.
	recentAway = time.Minute
)

// Recent keeps the beginning of a list that all visitors see and everybody adds to: the
// public timeline, the latest users. The client-side cache is no help there. Each write
// invalidates it in every process, and each process reads the list again: with 60
// processes, 800 posts a second would fill a core of the one server that has it. So a
// process reads the list once a second at most, at any rate of writes, and applies the
// changes that it knows of itself, its own above all, to what it has.
type Recent[T comparable] struct {
	link *Link
	read func(ctx context.Context) ([]T, error)

	busy chan struct{} // holds an element during a read

	mu      sync.Mutex
	items   []T       // never changed in place
	at      time.Time // when the read of items began; zero for none
	next    time.Time // no read before
	changes []recentChange[T]
}

// recentChange is a change that the server had before a time.
type recentChange[T comparable] struct {
	at    time.Time
	apply func(items []T) []T
}

func NewRecent[T comparable](link *Link, read func(ctx context.Context) ([]T, error)) *Recent[T] {
	return &Recent[T]{link: link, read: read, busy: make(chan struct{}, 1)}
}

// Get returns the list, which must not be changed. One round trip a second.
func (r *Recent[T]) Get(ctx context.Context) ([]T, error) {
	if items, ok := r.current(); ok {
		return items, nil
	}
	select {
	case r.busy <- struct{}{}:
		defer func() { <-r.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if items, ok := r.current(); ok {
		return items, nil // another request has read it meanwhile
	}
	began := time.Now()
	var items []T
	useOld, err := r.link.Read(ctx, r.has(began), func(ctx context.Context) (err error) {
		items, err = r.read(ctx)
		return err
	})
	if useOld {
		return r.older(), nil
	}
	if err != nil {
		return nil, err
	}
	return r.put(items, began), nil
}

// current returns the list if it need not be read again.
func (r *Recent[T]) current() ([]T, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	return r.items, !r.at.IsZero() && now.Before(r.next) && now.Sub(r.at) < recentAway
}

// has reports whether there is a list for the time without a server.
func (r *Recent[T]) has(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.at.IsZero() && now.Sub(r.at) < recentAway
}

// older returns the list as it was before its server was away.
func (r *Recent[T]) older() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = time.Now().Add(recentFor)
	return r.items
}

// put keeps what a read that began at a time has returned. Changes since then may be
// missing there.
func (r *Recent[T]) put(items []T, began time.Time) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = slices.DeleteFunc(r.changes, func(c recentChange[T]) bool { return c.at.Before(began) })
	for _, c := range r.changes {
		items = c.apply(items)
	}
	r.items, r.at, r.next = items, began, began.Add(recentFor)
	return items
}

// maxRecentChanges bounds the changes that wait for the next read.
const maxRecentChanges = 1000

// Change applies a change that the server has: apply returns another list, and applying
// it again changes nothing.
func (r *Recent[T]) Change(apply func(items []T) []T) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() && len(r.busy) == 0 {
		return // nothing is in memory, nor being read
	}
	if len(r.changes) == maxRecentChanges {
		// More than a list of posts has, so that the oldest no longer matter.
		r.changes = slices.Delete(r.changes, 0, maxRecentChanges/2)
	}
	r.changes = append(r.changes, recentChange[T]{time.Now(), apply})
	r.items = apply(r.items)
}
