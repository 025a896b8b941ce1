package redlock

import (
	"context"
	"slices"
	"sync"
	"time"
)

// localQueues let only one goroutine of this process at a time ask the servers for a name. The
// other goroutines wait for a turn on a hold, or until they may ask the servers.
type localQueues struct {
	mu     sync.Mutex
	byName map[string]*localQueue
}

// localQueue is the local queue of one name.
type localQueue struct {
	holder   *Lock // in this process, or nil
	asking   bool  // a goroutine is asking the servers, or is about to start its turn
	previous *Lock // the turn that was passed on, or nil
	lastErr  error // the error of the last attempt
	line     []*localWaiter
}

// localWaiter is a place in a local queue.
type localWaiter struct {
	ttl   time.Duration
	given chan *hold // receives a hold for a turn, or nil if the waiter must ask the servers
}

func (qs *localQueues) init() { qs.byName = make(map[string]*localQueue) }

// join returns a place in the queue, or nil if the caller must ask the servers.
func (qs *localQueues) join(name string, ttl time.Duration) *localWaiter {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	g := qs.byName[name]
	if g == nil {
		qs.byName[name] = &localQueue{asking: true}
		return nil
	}
	if g.holder == nil && !g.asking {
		g.asking = true
		return nil
	}
	t := &localWaiter{ttl: ttl, given: make(chan *hold, 1)}
	g.line = append(g.line, t)
	return t
}

// wait returns a hold for the caller to take a turn on, or nil if the caller must ask the
// servers.
func (qs *localQueues) wait(ctx context.Context, m *Manager, name string, t *localWaiter) (*hold, error) {
	var cause error
	select {
	case h := <-t.given:
		if ctx.Err() == nil {
			return h, nil
		}
		cause = context.Cause(ctx)
		t.given <- h
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-m.closing:
		cause = ErrClosed
	}
	qs.mu.Lock()
	g := qs.byName[name]
	err := waitError(name, cause, g.reason())
	if i := slices.Index(g.line, t); i >= 0 {
		g.line = slices.Delete(g.line, i, i+1)
		qs.mu.Unlock()
		return nil, err
	}
	// The waiter was given a turn in the meantime: pass the turn to the next waiter.
	h := <-t.given
	passed := h != nil && g.give(h, time.Now())
	qs.mu.Unlock()
	if passed {
		return nil, err
	}
	if h != nil {
		m.release(h, false)
	}
	qs.leave(name)
	return nil, err
}

// noteError records the error of the last attempt.
func (qs *localQueues) noteError(name string, last error) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if g := qs.byName[name]; g != nil {
		g.previous, g.lastErr = nil, last
	}
}

// reason returns the last known reason why the name is unavailable.
func (g *localQueue) reason() error {
	switch {
	case g.holder != nil && g.holder.Valid():
		return g.holder.heldError()
	case g.previous != nil:
		return g.previous.heldError()
	}
	return g.lastErr
}

// hold records the holder of a name. joined reports whether the caller called join.
func (qs *localQueues) hold(l *Lock, joined bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	g := qs.byName[l.name]
	if g == nil {
		g = &localQueue{}
		qs.byName[l.name] = g
	}
	g.holder, g.previous, g.lastErr = l, nil, nil
	if joined {
		g.asking = false
	}
}

// leave lets the next waiter ask the servers.
func (qs *localQueues) leave(name string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	g := qs.byName[name]
	g.asking = false
	qs.advance(name, g)
}

// pass hands the hold of l, which has just been unlocked, to the next waiter. It returns false if
// that is not possible.
func (qs *localQueues) pass(l *Lock, now time.Time) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	g := qs.byName[l.name]
	if g == nil || g.holder != l || g.asking || !g.give(l.hold, now) {
		return false
	}
	g.holder, g.asking, g.previous = nil, true, l
	return true
}

// give gives the first waiter a turn on a hold. It returns false if no waiter is in line, or the
// hold cannot be shared with the first waiter.
func (g *localQueue) give(h *hold, now time.Time) bool {
	if len(g.line) == 0 || !h.canShare(g.line[0].ttl, now) {
		return false
	}
	g.pop().given <- h
	return true
}

// drop records that a lock is no longer held, and lets the next waiter ask the servers.
func (qs *localQueues) drop(l *Lock) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if g := qs.byName[l.name]; g != nil && g.holder == l {
		g.holder = nil
		qs.advance(l.name, g)
	}
}

// waiting returns the number of goroutines of this process that wait for a name.
func (qs *localQueues) waiting(name string) int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if g := qs.byName[name]; g != nil {
		return len(g.line)
	}
	return 0
}

// heldUntil returns when this process's hold on a name ends, or the zero time.
func (qs *localQueues) heldUntil(name string) time.Time {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if g := qs.byName[name]; g != nil && g.holder != nil && g.holder.Valid() {
		return g.holder.Until()
	}
	return time.Time{}
}

// advance lets the first waiter ask the servers, unless the name is held or another goroutine is
// asking.
func (qs *localQueues) advance(name string, g *localQueue) {
	switch {
	case g.holder != nil || g.asking:
	case len(g.line) > 0:
		g.asking = true
		g.pop().given <- nil
	default:
		delete(qs.byName, name)
	}
}

func (g *localQueue) pop() *localWaiter {
	t := g.line[0]
	g.line = slices.Delete(g.line, 0, 1)
	return t
}
