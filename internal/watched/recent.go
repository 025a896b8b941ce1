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
	// recentAway is how old the list may be while its server cannot be reached, as during a
	// failover.
	recentAway = time.Minute
)

// Recent keeps the start of a list that all visitors see and everyone adds to: the public
// timeline, the latest users. The client-side cache does not help here: each write would invalidate
// the list in every process, and each process would read the list again. With 60 processes, 800 posts
// a second would saturate a core of the server that has the list. So a process reads the list at most
// once a second, regardless of the rate of writes, and applies the changes that it knows, such as its
// own, to its copy.
type Recent[T comparable] struct {
	link *Link
	read func(ctx context.Context) ([]T, error)

	busy chan struct{} // holds an element during a read

	mu      sync.Mutex
	items   []T       // never modified in place
	at      time.Time // when the read of items started; zero if there is none
	next    time.Time // no read before this time
	changes []recentChange[T]
}

// recentChange is a change that the server had received by the time at.
type recentChange[T comparable] struct {
	at    time.Time
	apply func(items []T) []T
}

// NewRecent returns an empty Recent. read reads the list from the database.
func NewRecent[T comparable](link *Link, read func(ctx context.Context) ([]T, error)) *Recent[T] {
	return &Recent[T]{link: link, read: read, busy: make(chan struct{}, 1)}
}

// Get returns the list, which must not be modified. It takes one round trip per second.
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
		return items, nil // another request has read the list meanwhile
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

// has reports whether there is a list to use while the server cannot be reached.
func (r *Recent[T]) has(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.at.IsZero() && now.Sub(r.at) < recentAway
}

// older returns the last list read before its server became unreachable.
func (r *Recent[T]) older() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = time.Now().Add(recentFor)
	return r.items
}

// put stores the result of a read that started at began, and applies the changes made since then,
// which the result may lack.
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

// maxRecentChanges limits the changes kept for the next read.
const maxRecentChanges = 1000

// Change applies a change that the server has already received: apply returns a new list, and
// applying it twice must have no further effect.
func (r *Recent[T]) Change(apply func(items []T) []T) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() && len(r.busy) == 0 {
		return // nothing is in memory or being read
	}
	if len(r.changes) == maxRecentChanges {
		// Lists of posts are shorter than this, so the oldest changes no longer matter.
		r.changes = slices.Delete(r.changes, 0, maxRecentChanges/2)
	}
	r.changes = append(r.changes, recentChange[T]{time.Now(), apply})
	r.items = apply(r.items)
}
