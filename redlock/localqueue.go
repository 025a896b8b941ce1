package redlock

import (
	"context"
	"slices"
	"sync"
	"time"

	"retwis/redlock/internal/server"
)

// The number of handovers within a process before the lock goes back to the servers, so
// that other processes get it: fewer if another process is known to wait.
const (
	maxHandovers    = 64
	wantedHandovers = 8
)

// localQueues let one goroutine of this process at a time ask the servers for a
// name. The others wait for a handover of the lock, or for their turn to ask.
type localQueues struct {
	mu     sync.Mutex
	byName map[string]*localQueue
	// sweeper drops the holders whose time ended.
	sweeper *time.Timer
	closed  bool
}

// gate is the local queue of one name.
type localQueue struct {
	name   string
	holder *Lock // of this process, or nil
	asking bool  // a goroutine asks the servers
	last   error // of its last attempt
	line   []*localWaiter
	// expiry handles a holder that does not unlock while others wait.
	expiry *time.Timer
}

// localWaiter is a place in a local queue. It receives the lock that was handed
// over, or nil: then it has to ask the servers.
type localWaiter struct{ given chan *Lock }

func (gs *localQueues) init() { gs.byName = make(map[string]*localQueue) }

// close stops the sweeper.
func (gs *localQueues) close() {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.closed = true
	if gs.sweeper != nil {
		gs.sweeper.Stop()
	}
}

// join returns a place in the queue, or nil if the caller has to ask the servers.
func (gs *localQueues) join(name string) *localWaiter {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byName[name]
	if g == nil {
		gs.byName[name] = &localQueue{name: name, asking: true}
		return nil
	}
	if g.holder == nil && !g.asking {
		g.asking = true
		return nil
	}
	t := &localWaiter{given: make(chan *Lock, 1)}
	g.line = append(g.line, t)
	gs.watchExpiry(g)
	return t
}

// wait returns the lock that was handed over, or nil if the caller has to ask the
// servers.
func (gs *localQueues) wait(ctx context.Context, name string, t *localWaiter, closing <-chan struct{}) (*Lock, error) {
	var cause error
	select {
	case l := <-t.given:
		if l != nil || ctx.Err() == nil {
			return l, nil
		}
		err := waitError(name, context.Cause(ctx), gs.reason(name))
		gs.leave(name)
		return nil, err
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-closing:
		cause = ErrClosed
	}
	gs.mu.Lock()
	g := gs.byName[name]
	err := waitError(name, cause, g.reason())
	if i := slices.Index(g.line, t); i >= 0 {
		g.line = slices.Delete(g.line, i, i+1)
		gs.mu.Unlock()
		return nil, err
	}
	gs.mu.Unlock()
	// It was handed over at this moment: release it to the next waiter.
	if l := <-t.given; l != nil {
		l.m.voters.release(l.op(server.Release), l.servers)
	}
	gs.leave(name)
	return nil, err
}

// answered records the error of the last attempt.
func (gs *localQueues) answered(name string, last error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if g := gs.byName[name]; g != nil {
		g.last = last
	}
}

// reason returns why a name is not available, as far as this process knows.
func (gs *localQueues) reason(name string) error {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	return gs.byName[name].reason()
}

func (g *localQueue) reason() error {
	if g.holder != nil && g.holder.Valid() {
		return g.holder.held()
	}
	return g.last
}

// hold records the holder of a name. asked says that the caller was the one asking
// the servers.
func (gs *localQueues) hold(l *Lock, asked bool) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byName[l.name]
	if g == nil {
		g = &localQueue{name: l.name}
		gs.byName[l.name] = g
	}
	g.holder, g.last = l, nil
	if asked {
		g.asking = false
	}
	gs.watchExpiry(g)
	if gs.sweeper == nil && !gs.closed {
		gs.sweeper = time.AfterFunc(sweepTime(l), gs.sweep)
	}
}

// leave lets the next waiter ask the servers.
func (gs *localQueues) leave(name string) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byName[name]
	g.asking = false
	gs.advance(g)
}

// handOver gives a lock to the next waiter, and reports whether there was one.
func (gs *localQueues) handOver(l *Lock) bool {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byName[l.name]
	if g == nil || g.holder != l || g.asking || len(g.line) == 0 {
		return false
	}
	g.holder, g.asking, g.last = nil, true, l.held()
	gs.pop(g).given <- l
	return true
}

// drop records that a lock is no longer held, and lets the next waiter ask.
func (gs *localQueues) drop(l *Lock) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if g := gs.byName[l.name]; g != nil && g.holder == l {
		g.holder = nil
		gs.advance(g)
	}
}

// sweepTime is the time until the sweeper checks a lock.
func sweepTime(l *Lock) time.Duration { return max(time.Until(l.Until()), time.Millisecond) }

// sweep drops the expired holders, and schedules itself again while there are
// others.
func (gs *localQueues) sweep() {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.sweeper = nil
	var held *Lock
	for _, g := range gs.byName {
		switch {
		case g.holder == nil:
		case g.holder.Valid():
			held = g.holder
		case len(g.line) == 0:
			g.holder = nil
			gs.advance(g)
		}
	}
	if held != nil && !gs.closed {
		gs.sweeper = time.AfterFunc(sweepTime(held), gs.sweep)
	}
}

// heldUntil returns until when this process holds a name, or zero.
func (gs *localQueues) heldUntil(name string) time.Time {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if g := gs.byName[name]; g != nil && g.holder != nil && g.holder.Valid() {
		return g.holder.Until()
	}
	return time.Time{}
}

// advance lets the first waiter ask, unless the name is held or another goroutine
// asks.
func (gs *localQueues) advance(g *localQueue) {
	switch {
	case g.holder != nil || g.asking:
	case len(g.line) > 0:
		g.asking = true
		gs.pop(g).given <- nil
	default:
		if g.expiry != nil {
			g.expiry.Stop()
		}
		delete(gs.byName, g.name)
	}
}

func (gs *localQueues) pop(g *localQueue) *localWaiter {
	t := g.line[0]
	g.line = slices.Delete(g.line, 0, 1)
	return t
}

// watchExpiry makes the queue advance when the holder's time ends.
func (gs *localQueues) watchExpiry(g *localQueue) {
	if g.holder == nil || len(g.line) == 0 {
		return
	}
	left := time.Until(g.holder.Until())
	if g.expiry != nil {
		g.expiry.Reset(left)
		return
	}
	g.expiry = time.AfterFunc(left, func() {
		gs.mu.Lock()
		defer gs.mu.Unlock()
		if gs.byName[g.name] != g || g.holder == nil {
			return
		}
		if g.holder.Valid() {
			gs.watchExpiry(g) // it was extended
			return
		}
		g.holder = nil
		gs.advance(g)
	})
}
