package redlock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"retwis/redlock/internal/server"
)

// maxName is the maximum length of a name in bytes.
const maxName = 1024

// Lock waits until it holds the name or the context is done. Waiting callers get the lock in the
// order of their arrival. Within a process the order is exact; between processes it is kept as long
// as all waiters reach the servers.
//
// The lock lives for Options.TTL unless opts, which may contain one LockOptions, sets another TTL.
// Extend renews the lock; Do calls Extend automatically.
func (m *Manager) Lock(ctx context.Context, name string, opts ...LockOptions) (*Lock, error) {
	m.calls.RLock()
	defer m.calls.RUnlock()
	opt, err := m.lockOptions(opts)
	if err != nil {
		return nil, err
	}
	if err := m.check(ctx, name); err != nil {
		return nil, err
	}
	var h *hold
	if place := m.localQueues.join(name, opt.TTL); place != nil {
		if m.opt.Fencing {
			m.hints.note(name, time.Now())
		}
		if h, err = m.turn(ctx, name, place); err != nil {
			return nil, err
		}
	}
	if h == nil {
		if h, err = m.acquire(ctx, name, opt.TTL); err != nil {
			m.localQueues.leave(name)
			return nil, err
		}
	}
	return m.start(ctx, h, opt, true), nil
}

// turn waits for a turn on a hold of this process. It returns nil if the caller must ask the
// servers.
func (m *Manager) turn(ctx context.Context, name string, place *localWaiter) (*hold, error) {
	h, err := m.localQueues.wait(ctx, m, name, place)
	if h != nil && !h.lasts(time.Now()) { // the process was paused, or the servers have lost the hold
		m.release(h, false)
		return nil, nil
	}
	return h, err
}

// start starts a turn on a hold. joined reports whether the caller called localQueues.join.
func (m *Manager) start(ctx context.Context, h *hold, opt LockOptions, joined bool) *Lock {
	l := &Lock{hold: h, parent: context.WithoutCancel(ctx), maxHold: opt.MaxHold}
	m.localQueues.hold(l, joined) // before the timer of the hold runs
	h.begin(l, opt.Owner)
	return l
}

// TryLock makes one attempt. The error is ErrHeld if another client holds the lock, and
// ErrNoQuorum if too few servers answered.
func (m *Manager) TryLock(ctx context.Context, name string, opts ...LockOptions) (*Lock, error) {
	m.calls.RLock()
	defer m.calls.RUnlock()
	opt, err := m.lockOptions(opts)
	if err != nil {
		return nil, err
	}
	if err := m.check(ctx, name); err != nil {
		return nil, err
	}
	if until := m.localQueues.heldUntil(name); !until.IsZero() {
		return nil, fmt.Errorf("redlock: %q: %w: by this process for another %v",
			name, ErrHeld, time.Until(until).Round(time.Millisecond))
	}
	h, r, err := m.attempt(ctx, server.Op{Name: name, Value: server.NewValue(), TTL: opt.TTL}, time.Now())
	if err != nil {
		m.voters.withdraw(r)
		return nil, err
	}
	return m.start(ctx, h, opt, false), nil
}

// Do runs f while holding the lock on name, and extends the lock until f returns. The context given
// to f ends when ctx ends, and with the cause ErrLost as soon as the lock is no longer known to be
// held; f must then stop. Do returns the error of f, joined with ErrLost if the lock was lost.
func (m *Manager) Do(ctx context.Context, name string, f func(ctx context.Context, l *Lock) error, opts ...LockOptions) error {
	l, err := m.Lock(ctx, name, opts...)
	if err != nil {
		return err
	}
	return l.Keep(ctx, f)
}

// check rejects names that cannot be locked, and calls that cannot succeed.
func (m *Manager) check(ctx context.Context, name string) error {
	switch {
	case m.isClosing():
		return ErrClosed
	case name == "":
		return fmt.Errorf("redlock: %w: the name is empty", ErrName)
	case len(name) > maxName:
		return fmt.Errorf("redlock: %w: the name has %d bytes, and at most %d are allowed", ErrName, len(name), maxName)
	case strings.HasPrefix(name, server.Prefix):
		return fmt.Errorf("redlock: %q: %w: names that begin with %q are reserved", name, ErrName, server.Prefix)
	case m.cluster && !server.SharesSlot(name):
		return fmt.Errorf("redlock: %q: %w: on a Cluster a closing brace needs a hash tag before it", name, ErrName)
	case m.nested(ctx, name) != nil:
		return m.nested(ctx, name)
	case ctx.Err() != nil:
		return waitError(name, context.Cause(ctx), nil)
	}
	return nil
}

// acquire asks the servers until they grant the lock. It first tries the fastest command, which
// only takes a free name. If the command fails, it joins the queue.
func (m *Manager) acquire(ctx context.Context, name string, ttl time.Duration) (*hold, error) {
	begun := time.Now()
	if m.opt.Fencing || m.hints.wanted(name, begun) {
		return m.queue(ctx, name, ttl, begun, 0)
	}
	h, r, err := m.attempt(ctx, server.Op{Name: name, Value: server.NewValue(), TTL: ttl, Quick: true}, begun)
	if err == nil {
		return h, nil
	}
	m.localQueues.noteError(name, err)
	agreed, _, unsure := r.tally()
	if agreed+unsure > 0 {
		m.voters.withdraw(r)
	}
	if ctx.Err() != nil {
		return nil, addCause(ctx, name, err)
	}
	var pause time.Duration
	if agreed > 0 {
		pause = m.splitPause(r)
	}
	return m.queue(ctx, name, ttl, begun, pause)
}

// lockOptions returns the effective options of one lock.
func (m *Manager) lockOptions(given []LockOptions) (LockOptions, error) {
	opt := LockOptions{TTL: m.opt.TTL, MaxHold: m.opt.MaxHold, Owner: m.opt.Owner}
	if len(given) == 0 {
		return opt, nil
	}
	if len(given) > 1 {
		return opt, fmt.Errorf("redlock: %d LockOptions given: at most one is allowed", len(given))
	}
	o := given[0]
	if o.TTL != 0 {
		opt.TTL = o.TTL
		if err := checkTTL("LockOptions", o.TTL); err != nil {
			return opt, err
		}
		if drift := m.voters.drift(o.TTL); m.opt.NodeTimeout+drift >= o.TTL {
			return opt, fmt.Errorf("redlock: LockOptions.TTL is %v: it must be more than Options.NodeTimeout of %v and the drift of %v together",
				o.TTL, m.opt.NodeTimeout, drift)
		}
	}
	if o.MaxHold != 0 {
		opt.MaxHold = o.MaxHold
	}
	if o.Owner != "" {
		opt.Owner = o.Owner
	}
	return opt, checkHolder("LockOptions", opt)
}
