package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"retwis/redlock/internal/server"
)

// Lock is a held lock on a name. It is safe for concurrent use.
type Lock struct {
	*hold // its mutex guards the fields below, except token
	token uint64

	maxHold    time.Duration
	limit      time.Time // end of the turn because of maxHold; zero: none
	extensions int
	over       error           // why the lock is no longer held
	parent     context.Context // has the values for ctx
	ctx        context.Context
	cancel     context.CancelCauseFunc
}

// Name returns the locked name.
func (l *Lock) Name() string { return l.name }

// Token returns the fencing token: a number greater than the token of every earlier lock of this
// name, by any client. The resource that the lock protects should remember the greatest token it
// has received and reject smaller tokens; then a holder that was paused for longer than its lock
// lived does no harm.
//
// Token returns 0 without Options.Fencing. The first token within a second is the next full second
// of a server's clock, in microseconds since 1970, and later tokens count up from it; a token may
// be a million greater if some servers have lost their counters or were restarted. Tokens can
// decrease only if a majority of the servers lost its counters, or was not reached when the last
// token was given, and the clocks of that majority are behind the last token. Clocks can be behind
// because they were set back, or because the token was ahead: by up to a second, plus one second
// for each lock of the name that found some counters lost.
func (l *Lock) Token() uint64 { return l.token }

// Until returns when the lock ends unless it is extended.
func (l *Lock) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end()
}

// Valid reports whether the lock is held now, without asking the servers: it was not unlocked or
// found lost, and its time is not over according to the monotonic clock and the wall clock. Until
// returns a single time, so comparing it with the current time considers only one clock.
func (l *Lock) Valid() bool { return l.validAt(time.Now()) }

func (l *Lock) validAt(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heldLocked(now)
}

func (l *Lock) heldLocked(now time.Time) bool { return l.over == nil && validFor(l.end(), now) > 0 }

// limited reports whether MaxHold ends the lock, regardless of extensions.
func (l *Lock) limited() bool { return !l.limit.IsZero() && !l.until.Before(l.limit) }

// end returns the end of the turn.
func (l *Lock) end() time.Time {
	if l.limited() {
		return l.limit
	}
	return l.until
}

// Extend renews the lock for its full TTL, in one round trip. ErrLost means that the lock is gone.
// After ErrNoQuorum, the lock is still held until Until, and the caller can retry.
func (l *Lock) Extend(ctx context.Context) error {
	if err := l.mayExtend(); err != nil {
		return err
	}
	r := l.m.voters.ask(l.op(server.Extend), l.servers)
	won, cause := r.await(ctx, l.m.opt.NodeTimeout)
	switch {
	case cause != nil:
		return waitError(l.name, cause, nil)
	case won:
		return l.extended(r)
	}
	err := r.err(l.m.opt.NodeTimeout)
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, ErrLost) {
		l.stop(err)
		l.lose(err)
	}
	l.failed = r.reasons(l.m.opt.NodeTimeout)
	return err
}

func (l *Lock) mayExtend() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over == nil && !l.heldLocked(time.Now()):
		l.stop(l.expiredError())
		return l.over
	case l.over == context.Canceled:
		return l.unlockedError()
	case l.over != nil:
		return l.over
	case l.m.opt.MaxExtensions > 0 && l.extensions >= l.m.opt.MaxExtensions:
		return fmt.Errorf("redlock: %q: extended %d times, the limit of Options.MaxExtensions", l.name, l.extensions)
	}
	l.extensions++
	return nil
}

// extended records that a round has extended the lock.
func (l *Lock) extended(r *round) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prolong(r)
	switch {
	case l.over != nil:
		return l.over
	case l.heldLocked(time.Now()):
		l.m.voters.stats.extended.Add(1)
		return nil
	case l.limited():
		l.stop(l.expiredError())
	default:
		l.stop(l.lostError("the replies came too late"))
	}
	return l.over
}

// unlockTimeouts is the number of node timeouts that Unlock waits: waiting delays no other client,
// and an error would not help.
const unlockTimeouts = 4

// Unlock releases the lock in one round trip, and returns when a majority of the servers has
// released it; the other servers follow. If a goroutine of this process waits for the name, Unlock
// passes the lock to it without a round trip.
//
// ErrLost means that the lock was lost earlier, so another client may have held the name since.
// ErrUnlocked only means that Unlock was already called. ErrNoQuorum means that too few servers
// answered in time; the other servers are asked again, and the lock expires there after the TTL.
func (l *Lock) Unlock(ctx context.Context) error {
	if l.inContext(ctx) {
		ctx = context.WithoutCancel(ctx)
	}
	now := time.Now()
	l.mu.Lock()
	if l.over == nil && !l.heldLocked(now) {
		l.stop(l.expiredError())
	}
	over := l.over
	l.stop(context.Canceled)
	l.mu.Unlock()
	switch {
	case over == context.Canceled:
		return l.unlockedError()
	case over == nil && l.m.localQueues.pass(l, now):
		l.m.voters.stats.turns.Add(1)
		return nil
	}
	r := l.m.release(l.hold, over == nil)
	l.m.localQueues.drop(l)
	won, cause := r.await(ctx, unlockTimeouts*l.m.opt.NodeTimeout)
	switch {
	case over != nil:
		return over
	case cause != nil:
		return waitError(l.name, cause, nil)
	case !won:
		return r.err(unlockTimeouts * l.m.opt.NodeTimeout)
	}
	return nil
}

// stop records why the lock is no longer held. It keeps the first reason.
func (l *Lock) stop(why error) {
	if l.over != nil {
		return
	}
	l.over = why
	if errors.Is(why, ErrLost) {
		l.m.voters.stats.lost.Add(1)
		l.timer.Reset(0) // the next waiter asks the servers
	}
	if l.ctx != nil {
		l.cancel(why)
	}
}

// lostError returns the error of a lock that was lost.
func (l *Lock) lostError(why string) error {
	return fmt.Errorf("redlock: %q: %w: %s", l.name, ErrLost, why)
}

// expiredError returns the error of a lock that was not extended in time, or that reached MaxHold.
func (l *Lock) expiredError() error {
	if l.limited() {
		return fmt.Errorf("redlock: %q: %w: %w: %v", l.name, ErrLost, ErrMaxHold, l.maxHold)
	}
	if l.failed != "" {
		return l.lostError("its time ran out; the last extension failed (" + l.failed + ")")
	}
	return l.lostError("its time ran out")
}

// unlockedError returns the error of using a lock after Unlock.
func (l *Lock) unlockedError() error { return fmt.Errorf("redlock: %q: %w", l.name, ErrUnlocked) }

// Keep runs f under the lock like Manager.Do: it extends the lock while f runs and unlocks it at
// the end.
func (l *Lock) Keep(ctx context.Context, f func(context.Context, *Lock) error) (err error) {
	inner, cancel := context.WithCancelCause(l.withLock(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(l.Context(), func() { cancel(context.Cause(l.Context())) })
	defer stop()
	extending := make(chan struct{})
	go func() {
		defer close(extending)
		l.keepExtending(inner)
	}()
	defer func() {
		stop()
		cancel(nil)
		<-extending
		if unlocked := l.Unlock(context.WithoutCancel(ctx)); errors.Is(unlocked, ErrLost) {
			err = errors.Join(err, unlocked)
		}
	}()
	return f(inner, l)
}

// keepExtending extends the lock every Options.ExtendEvery, or sooner after a failure, until the
// context ends or the lock cannot be extended.
func (l *Lock) keepExtending(ctx context.Context) {
	timer := time.NewTimer(l.m.extendEvery(l.ttl))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		pause := l.m.extendEvery(l.ttl)
		switch err := l.Extend(ctx); {
		case err == nil:
		case errors.Is(err, ErrNoQuorum):
			pause = max(l.m.extendEvery(l.ttl)/8, l.m.opt.RetryMin)
		default:
			return // lost, or no extensions left
		}
		timer.Reset(pause)
	}
}

// extendEvery returns Options.ExtendEvery scaled to the TTL.
func (m *Manager) extendEvery(ttl time.Duration) time.Duration {
	if ttl == m.opt.TTL {
		return m.opt.ExtendEvery
	}
	return time.Duration(float64(m.opt.ExtendEvery) * (float64(ttl) / float64(m.opt.TTL)))
}
