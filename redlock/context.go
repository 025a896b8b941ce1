package redlock

import (
	"context"
	"fmt"
	"time"
)

// Context returns a context that ends with the cause ErrLost as soon as the lock is no longer known
// to be held, and with context.Canceled when the lock is unlocked. It has the values of the context
// passed to Lock, and outlives that context. If the lock expires while the machine is suspended, it
// ends within a second after the machine resumes.
func (l *Lock) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancelCause(l.withLock(l.parent))
		if l.over != nil {
			l.cancel(l.over)
			return l.ctx
		}
		l.timer.Reset(l.nextCheck(time.Now()))
	}
	return l.ctx
}

// nextCheck returns how long to wait before checking the clocks again: until the end of the lock,
// but at most a second if its context is in use, because timers stop while the machine is suspended
// and the wall clock does not.
func (l *Lock) nextCheck(now time.Time) time.Duration {
	left := l.end().Sub(now)
	if l.ctx == nil {
		return left
	}
	return min(left, time.Second)
}

// heldKey is the context key for the locks that the running function holds.
type heldKey struct{}

// heldLock is a lock in a context, linked to the locks of the parent context.
type heldLock struct {
	lock  *Lock
	outer *heldLock
}

// withLock returns a context that contains the lock.
func (l *Lock) withLock(ctx context.Context) context.Context {
	outer, _ := ctx.Value(heldKey{}).(*heldLock)
	return context.WithValue(ctx, heldKey{}, &heldLock{lock: l, outer: outer})
}

// inContext reports whether a context contains the lock.
func (l *Lock) inContext(ctx context.Context) bool {
	h, _ := ctx.Value(heldKey{}).(*heldLock)
	for ; h != nil; h = h.outer {
		if h.lock == l {
			return true
		}
	}
	return false
}

// withoutLocks returns ctx without its locks: a holder may ask for the status of a name that it
// holds.
func withoutLocks(ctx context.Context) context.Context { return context.WithValue(ctx, heldKey{}, nil) }

// nested returns an error if a context contains a lock of the same name: the caller would wait
// for itself forever.
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
