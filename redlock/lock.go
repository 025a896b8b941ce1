package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Lock is a name that is held. It may be used by many goroutines.
type Lock struct {
	m     *Manager
	name  string
	value string
	token uint64
	asked nodeSet // the servers that may have it
	ttl   time.Duration
	turns int       // how often it was handed on within the process,
	chain time.Time // since when
	// queued says that it was waited for: some server may have it in line yet.
	queued bool

	mu         sync.Mutex
	before     string // the value that servers have which missed its last change
	until      time.Time
	since      time.Time // it is held
	owner      string
	maxHold    time.Duration
	limit      time.Time // of until, zero: none
	extensions int
	wanted     bool // other processes wait for it
	// unconfirmed says that it stands on what servers said of themselves, and
	// that no majority has answered about it yet. It is not handed on.
	unconfirmed bool
	over        error           // why it is not held any more
	parent      context.Context // has the values for ctx
	ctx         context.Context
	cancel      context.CancelCauseFunc
	expiry      *time.Timer
}

// Name returns what is locked.
func (l *Lock) Name() string { return l.name }

// Value returns the text under the name on the servers, which no other lock ever
// has.
func (l *Lock) Value() string { return l.value }

// Token returns the fencing token: a number that is greater than that of every
// lock of this name that was given before, whoever had it. Whatever the lock
// guards should remember the greatest token it has seen and refuse a smaller one;
// then a holder that was paused for longer than its lock lived does no harm.
//
// It is 0 without Options.Fencing. The first one within a second is the microseconds
// from 1970 to the next full second of a server's clock, the next ones count up from
// there; where some servers have lost their counters or were restarted, it may be a
// million greater. Tokens can go back only if a majority of the servers has lost its
// counters, or was not reached when the last token was given, and its clocks were set
// back or the last token was given within the same second.
func (l *Lock) Token() uint64 { return l.token }

// Until returns how long the lock is valid, as it stands.
func (l *Lock) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Valid says whether the lock is held now, as far as can be told without asking the
// servers: it was not unlocked or found lost, and its time is over by neither of the
// machine's clocks. Until alone knows only one of them.
func (l *Lock) Valid() bool { return l.validAt(time.Now()) }

func (l *Lock) validAt(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heldLocked(now)
}

// held is the error of those who want the name meanwhile.
func (l *Lock) held() error {
	return fmt.Errorf("redlock: %q: %w: by this process for another %v",
		l.name, ErrHeld, max(0, time.Until(l.Until())).Round(time.Millisecond))
}

// heldLocked asks both clocks: the monotonic one stands still while a machine is
// suspended, the other one may be set back.
func (l *Lock) heldLocked(now time.Time) bool {
	return l.over == nil && now.Before(l.until) && now.Round(0).Before(l.until.Round(0))
}

// Context returns a context that ends with the cause ErrLost the moment the lock
// cannot be shown to be held any more, and with context.Canceled when it is
// unlocked. It has the values of the context in which the lock was taken, and does
// not end with that.
func (l *Lock) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		parent := l.parent
		if parent == nil {
			parent = context.Background()
		}
		l.ctx, l.cancel = context.WithCancelCause(l.holding(parent))
		if l.over != nil {
			l.cancel(l.over)
			return l.ctx
		}
		l.expiry = time.AfterFunc(time.Until(l.until), l.expire)
	}
	return l.ctx
}

// expire ends the lock if its time is over.
func (l *Lock) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.heldLocked(now) {
		l.expiry.Reset(l.until.Sub(now))
		return
	}
	l.end(l.ranOut())
}

// lost is the error of a lock that went away by itself.
func (l *Lock) lost(why string) error {
	return fmt.Errorf("redlock: %q: %w: %s", l.name, ErrLost, why)
}

// unlocked is the error of who uses a lock that he has unlocked.
func (l *Lock) unlocked() error { return fmt.Errorf("redlock: %q: %w", l.name, ErrUnlocked) }

// takenIn notes the context in which the lock was taken.
func (l *Lock) takenIn(ctx context.Context) *Lock {
	l.parent = context.WithoutCancel(ctx)
	return l
}

// end notes why the lock is not held any more. The first reason stays.
func (l *Lock) end(why error) {
	if l.over != nil {
		return
	}
	l.over = why
	if errors.Is(why, ErrLost) {
		l.m.stats.lost.Add(1)
	}
	if l.ctx != nil {
		l.expiry.Stop()
		l.cancel(why)
	}
}

// Extend gives the lock its full time again, in one round trip. ErrLost means
// that it is gone; after ErrNoQuorum it is still held until Until, and Extend can
// be tried again.
func (l *Lock) Extend(ctx context.Context) error {
	if err := l.mayExtend(); err != nil {
		return err
	}
	r := l.m.ask(op{
		kind: opExtend, name: l.name, value: l.value, other: l.value, ttl: l.ttl,
	}, l.asked)
	won, cause := r.await(ctx, l.m.opt.NodeTimeout)
	switch {
	case cause != nil:
		return waitError(l.name, cause, nil)
	case won:
		return l.prolong(r)
	}
	err := r.err(l.m.opt.NodeTimeout)
	if errors.Is(err, ErrLost) {
		l.mu.Lock()
		l.end(err)
		l.mu.Unlock()
	}
	return err
}

func (l *Lock) mayExtend() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over == nil && !l.heldLocked(time.Now()):
		l.end(l.ranOut())
		return l.over
	case l.over == context.Canceled:
		return l.unlocked()
	case l.over != nil:
		return l.over
	case l.m.opt.MaxExtensions > 0 && l.extensions >= l.m.opt.MaxExtensions:
		return fmt.Errorf("redlock: %q: extended %d times, the most that Options.MaxExtensions allows", l.name, l.extensions)
	}
	l.extensions++
	return nil
}

// prolong notes that a round has extended the lock.
func (l *Lock) prolong(r *round) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return l.over
	}
	l.unconfirmed = false
	l.wanted = l.wanted || r.waiters()
	until := l.m.validUntil(r)
	if !l.limit.IsZero() && l.limit.Before(until) {
		until = l.limit
	}
	if until.After(l.until) {
		l.until = until
	}
	if !l.heldLocked(time.Now()) {
		l.end(l.lost("the answers came too late"))
		return l.over
	}
	l.m.stats.extended.Add(1)
	l.describe(false)
	return nil
}

// ranOut is the error of a lock that is over because nobody extended it, or because it
// was held for as long as it may be.
func (l *Lock) ranOut() error {
	if !l.limit.IsZero() && !time.Now().Before(l.limit) {
		return l.lost(fmt.Sprintf("it was held for %v, the most that MaxHold allows", l.maxHold))
	}
	return l.lost("its time ran out")
}

// unlockPatience is how many times the node timeout Unlock waits: nobody is kept
// waiting by it, and an error would help nobody.
const unlockPatience = 4

// Unlock gives the lock back, in one round trip, and returns when a majority of
// the servers has it back; the rest follows behind. A waiter of this process gets
// it without that.
//
// ErrLost means that the lock was gone before, so that others may have held the
// name meanwhile. ErrUnlocked means that Unlock was called before, and no more. ErrNoQuorum means that too few servers answered in time; they are
// asked again, and let go of the lock by themselves after the TTL.
func (l *Lock) Unlock(ctx context.Context) error {
	if l.within(ctx) {
		ctx = context.WithoutCancel(ctx)
	}
	l.mu.Lock()
	valid, over, unconfirmed := l.heldLocked(time.Now()), l.over, l.unconfirmed
	l.end(context.Canceled)
	before, turns, wanted := l.before, maxTurns, l.wanted
	l.mu.Unlock()
	now := time.Now()
	if wanted || l.m.gaps.shared(l.name, now) || now.Sub(l.chain) > gapEvery {
		turns = wantedTurns
	}
	switch {
	case over == context.Canceled:
		return l.unlocked()
	case valid && !unconfirmed && l.turns < turns && l.m.gates.pass(l):
		l.m.stats.handed.Add(1)
		return nil
	}
	var gap, every time.Duration
	if valid && (l.queued || wanted || l.turns >= turns) {
		gap, every = l.m.gaps.next(l.name, now)
	}
	r := l.m.release(op{
		name: l.name, value: l.value, other: before, queue: l.queued, ttl: l.ttl, free: gap, every: every,
	}, l.asked)
	l.describe(true)
	if gap > 0 {
		l.m.hints.note(l.name, now) // nobody here takes it by the quick way
		l.m.after(gap, r.op, l.asked)
	}
	l.m.gates.drop(l)
	won, cause := r.await(ctx, unlockPatience*l.m.opt.NodeTimeout)
	switch {
	case over != nil:
		return over
	case !valid:
		return l.lost("its time ran out before it was unlocked")
	case unconfirmed && !won:
		return l.lost("no majority of the servers confirmed it before it was unlocked")
	case cause != nil:
		return waitError(l.name, cause, nil)
	case !won:
		return r.err(unlockPatience * l.m.opt.NodeTimeout)
	}
	return nil
}

// takeOver makes a lock that was handed on within the process the caller's: with a
// value of its own, and its full time again. The servers hear of it behind, as the
// lock is held anyhow, unless a fencing token is to be counted or little time is
// left. It returns nil where the lock could not be kept.
func (m *Manager) takeOver(ctx context.Context, given *Lock, ttl time.Duration) *Lock {
	given.mu.Lock()
	until := given.until
	given.mu.Unlock()
	l := &Lock{
		m: m, name: given.name, value: randomText(), before: given.value, token: given.token,
		asked: given.asked, turns: given.turns + 1, chain: given.chain, ttl: ttl, until: until,
	}
	r := newRound(m.nodes, m.quorum, op{
		kind: opExtend, name: l.name, value: given.value, other: l.value, ttl: ttl, fence: m.opt.Fencing,
	}, time.Now())
	behind := !m.opt.Fencing && time.Until(until) > ttl/2
	if behind {
		r.then = func(won bool) { l.changed(r, won) }
	}
	r.send(l.asked)
	if !behind {
		won, _ := r.await(ctx, m.opt.NodeTimeout)
		if won && m.opt.Fencing {
			token, err := m.settle(ctx, r)
			l.token, won = token, err == nil
		}
		if !won || l.prolong(r) != nil {
			m.release(op{name: l.name, value: l.value, other: l.before, ttl: ttl}, l.asked)
			return nil
		}
	}
	m.gates.hold(l, true)
	return l
}

// confirmed says that a majority of the servers has answered about this lock.
func (l *Lock) confirmed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.unconfirmed
}

// changed notes how the servers took the new value of a lock that was handed on.
func (l *Lock) changed(r *round, won bool) {
	if won {
		_ = l.prolong(r)
		return
	}
	if _, refused, _ := r.tally(); refused > len(r.nodes)-r.need {
		l.mu.Lock()
		l.end(l.lost("a majority of the servers had lost it"))
		l.mu.Unlock()
	}
}

// Keep runs f under the lock as Manager.Do does: it extends the lock meanwhile and
// unlocks it at the end.
func (l *Lock) Keep(ctx context.Context, f func(context.Context, *Lock) error) (err error) {
	inner, cancel := context.WithCancelCause(l.holding(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(l.Context(), func() { cancel(context.Cause(l.Context())) })
	defer stop()
	extending := make(chan struct{})
	go func() {
		defer close(extending)
		l.extendAlways(inner)
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

// extendAlways extends the lock every Options.ExtendEvery, sooner after a failure,
// until the context ends or the lock cannot be extended any more.
func (l *Lock) extendAlways(ctx context.Context) {
	pause := l.m.extendEvery(l.ttl)
	unconfirmed := !l.confirmed()
	if unconfirmed {
		pause = min(pause, l.m.opt.RetryMin)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		pause = l.m.extendEvery(l.ttl)
		if unconfirmed && l.confirmed() {
			unconfirmed = false
			timer.Reset(pause)
			continue
		}
		switch err := l.Extend(ctx); {
		case err == nil:
		case errors.Is(err, ErrNoQuorum):
			pause = max(l.m.extendEvery(l.ttl)/8, l.m.opt.RetryMin)
		default:
			return // lost, or extended as often as may be
		}
		timer.Reset(pause)
	}
}
