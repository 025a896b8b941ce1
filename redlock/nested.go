package redlock

import (
	"context"
	"fmt"
)

// heldKey is the key of the locks under which the function runs that has a context.
type heldKey struct{}

// heldLock is a lock that a context knows of, and those around it.
type heldLock struct {
	lock  *Lock
	outer *heldLock
}

// holding returns a context that knows of a lock.
func (l *Lock) holding(ctx context.Context) context.Context {
	outer, _ := ctx.Value(heldKey{}).(*heldLock)
	return context.WithValue(ctx, heldKey{}, &heldLock{lock: l, outer: outer})
}

// within says whether a context is one of those that end with the lock.
func (l *Lock) within(ctx context.Context) bool {
	h, _ := ctx.Value(heldKey{}).(*heldLock)
	for ; h != nil; h = h.outer {
		if h.lock == l {
			return true
		}
	}
	return false
}

// nested returns an error if a context is that of a lock of the same name, which
// would be waited for in vain.
func (m *Manager) nested(ctx context.Context, name string) error {
	h, _ := ctx.Value(heldKey{}).(*heldLock)
	for ; h != nil; h = h.outer {
		if h.lock.m == m && h.lock.name == name && h.lock.Valid() {
			return fmt.Errorf("redlock: %q: %w: %w: do the work under the lock that the context belongs to",
				name, ErrHeld, ErrNested)
		}
	}
	return nil
}
