package redlock

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A lock is handed on within a process so often before it goes back to the servers,
// so that others get theirs: soon where it is known that another process waits.
const (
	maxTurns    = 64
	wantedTurns = 8
)

// gates let one goroutine of this process at a time ask the servers for a name.
// The others wait in line for a lock that is handed on, or for their turn to ask.
type gates struct {
	mu     sync.Mutex
	byName map[string]*gate
	// sweep forgets the holders that let their time run out.
	sweep  *time.Timer
	closed bool
}

type gate struct {
	name   string
	holder *Lock // of this process, or nil
	asking bool  // somebody is at the servers
	last   error // what they answered last
	line   []*turn
	// expiry looks after a holder that does not unlock, while others wait.
	expiry *time.Timer
}

// turn is a place in the line. What comes through it is a lock that was handed
// on, or nil: ask the servers.
type turn struct{ given chan *Lock }

func (gs *gates) init() { gs.byName = make(map[string]*gate) }

// close ends the sweeping.
func (gs *gates) close() {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.closed = true
	if gs.sweep != nil {
		gs.sweep.Stop()
	}
}

// enter returns a place in the line, or nil: ask the servers.
func (gs *gates) enter(name string) *turn {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byName[name]
	if g == nil {
		gs.byName[name] = &gate{name: name, asking: true}
		return nil
	}
	if g.holder == nil && !g.asking {
		g.asking = true
		return nil
	}
	t := &turn{given: make(chan *Lock, 1)}
	g.line = append(g.line, t)
	gs.guard(g)
	return t
}

// wait returns the lock that was handed on, or nil: ask the servers.
func (gs *gates) wait(ctx context.Context, name string, t *turn, closing <-chan struct{}) (*Lock, error) {
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
	// It was given just now: give it to the next.
	if l := <-t.given; l != nil {
		l.m.release(op{name: name, value: l.value, other: l.before, ttl: l.ttl}, l.asked)
	}
	gs.leave(name)
	return nil, err
}

// answered notes what the servers have said to the one who asks.
func (gs *gates) answered(name string, last error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if g := gs.byName[name]; g != nil {
		g.last = last
	}
}

// reason returns why a name cannot be had, as far as is known to this process.
func (gs *gates) reason(name string) error {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	return gs.byName[name].reason()
}

func (g *gate) reason() error {
	if g.holder != nil && g.holder.Valid() {
		return g.holder.held()
	}
	return g.last
}

// hold notes who holds the name. Whoever asked for it is done.
func (gs *gates) hold(l *Lock, asked bool) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byName[l.name]
	if g == nil {
		g = &gate{name: l.name}
		gs.byName[l.name] = g
	}
	g.holder, g.last = l, nil
	if asked {
		g.asking = false
	}
	gs.guard(g)
	if gs.sweep == nil && !gs.closed {
		gs.sweep = time.AfterFunc(sweepTime(l), gs.forget)
	}
}

// leave lets the next one ask.
func (gs *gates) leave(name string) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byName[name]
	g.asking = false
	gs.next(g)
}

// pass hands a lock on to the next in line, and returns whether there was one.
func (gs *gates) pass(l *Lock) bool {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byName[l.name]
	if g == nil || g.holder != l || g.asking || len(g.line) == 0 {
		return false
	}
	g.holder, g.asking, g.last = nil, true, l.held()
	gs.first(g).given <- l
	return true
}

// drop notes that a lock is held no more, and lets the next one ask.
func (gs *gates) drop(l *Lock) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if g := gs.byName[l.name]; g != nil && g.holder == l {
		g.holder = nil
		gs.next(g)
	}
}

// sweepTime is when to look next whether a holder has let its time run out.
func sweepTime(l *Lock) time.Duration { return max(time.Until(l.Until()), time.Millisecond) }

// forget drops the holders whose time is over, and looks again as long as there are
// others.
func (gs *gates) forget() {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.sweep = nil
	var held *Lock
	for _, g := range gs.byName {
		switch {
		case g.holder == nil:
		case g.holder.Valid():
			held = g.holder
		case len(g.line) == 0:
			g.holder = nil
			gs.next(g)
		}
	}
	if held != nil && !gs.closed {
		gs.sweep = time.AfterFunc(sweepTime(held), gs.forget)
	}
}

// heldUntil returns how long this process holds a name, or zero.
func (gs *gates) heldUntil(name string) time.Time {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if g := gs.byName[name]; g != nil && g.holder != nil && g.holder.Valid() {
		return g.holder.Until()
	}
	return time.Time{}
}

// next lets the first in line ask, if nobody else does or holds the name.
func (gs *gates) next(g *gate) {
	switch {
	case g.holder != nil || g.asking:
	case len(g.line) > 0:
		g.asking = true
		gs.first(g).given <- nil
	default:
		if g.expiry != nil {
			g.expiry.Stop()
		}
		delete(gs.byName, g.name)
	}
}

func (gs *gates) first(g *gate) *turn {
	t := g.line[0]
	g.line = slices.Delete(g.line, 0, 1)
	return t
}

// guard makes sure that those in line go on when the holder's time runs out.
func (gs *gates) guard(g *gate) {
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
			gs.guard(g) // it was extended
			return
		}
		g.holder = nil
		gs.next(g)
	})
}
