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
}

type gate struct {
	name   string
	holder *Lock // of this process, or nil
	asking bool  // somebody is at the servers
	line   []*turn
	// expiry looks after a holder that does not unlock, while others wait.
	expiry *time.Timer
}

// turn is a place in the line. What comes through it is a lock that was handed
// on, or nil: ask the servers.
type turn struct{ given chan *Lock }

func (gs *gates) init() { gs.byName = make(map[string]*gate) }

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
		return l, nil
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-closing:
		cause = ErrClosed
	}
	gs.mu.Lock()
	g := gs.byName[name]
	if i := slices.Index(g.line, t); i >= 0 {
		g.line = slices.Delete(g.line, i, i+1)
		gs.mu.Unlock()
		return nil, cause
	}
	gs.mu.Unlock()
	// It was given just now: give it to the next.
	if l := <-t.given; l != nil {
		l.m.release(op{name: name, value: l.value, other: l.before}, l.asked)
	}
	gs.leave(name)
	return nil, cause
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
	g.holder = l
	if asked {
		g.asking = false
	}
	gs.guard(g)
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
	g.holder, g.asking = nil, true
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

// heldUntil returns how long this process holds a name, or zero.
func (gs *gates) heldUntil(name string) time.Time {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if g := gs.byName[name]; g != nil && g.holder != nil && g.holder.held(time.Now()) {
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
		if g.holder.held(time.Now()) {
			gs.guard(g) // it was extended
			return
		}
		g.holder = nil
		gs.next(g)
	})
}
