package redlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"retwis/redlock/internal/server"
)

// Lock is a name that is held. Many goroutines may use it.
type Lock struct {
	m          *Manager
	name       string
	value      string
	token      uint64
	servers    nodeSet // the servers that may have it
	ttl        time.Duration
	handovers  int           // handovers within the process
	chain      *server.Chain // of their values; nil: none
	chainStart time.Time     // the start of the first lock in that chain
	// queued says that it was waited for: a server may still have it in its queue.
	queued bool

	mu         sync.Mutex
	until      time.Time
	since      time.Time // start of the hold
	owner      string
	maxHold    time.Duration
	limit      time.Time // of until; zero: none
	extensions int
	wanted     bool // other processes wait for it
	// unconfirmed says that it is based on grants only, and that no majority has
	// answered a request about it yet. It is not handed over.
	unconfirmed bool
	over        error           // why it is no longer held
	parent      context.Context // has the values for ctx
	ctx         context.Context
	cancel      context.CancelCauseFunc
	expiry      *time.Timer
}

// Name returns the locked name.
func (l *Lock) Name() string { return l.name }

// Value returns the text under the name on the servers, which is unique to this
// lock.
func (l *Lock) Value() string { return l.value }

// Token returns the fencing token: a number greater than that of every earlier lock
// of this name, of any client. The resource that the lock protects should remember
// the greatest token it has seen and reject a smaller one; then a holder that was
// paused for longer than its lock lived does no harm.
//
// It is 0 without Options.Fencing. The first token within a second is the
// microseconds from 1970 to the next full second of a server's clock, the following
// ones count up from there; if some servers have lost their counters or were
// restarted, it may be a million greater. Tokens can go back only if a majority of
// the servers has lost its counters, or was not reached when the last token was
// given, and its clocks are behind that token: they were set back, or the token was
// ahead of them, by up to a second, and by one more for each lock of the name that
// found a part of the counters lost.
func (l *Lock) Token() uint64 { return l.token }

// Until returns the end of the lock unless it is extended.
func (l *Lock) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Valid reports whether the lock is held now, without asking the servers: it was not
// unlocked or found lost, and its time is not over by either of the machine's
// clocks. Until alone knows only one of them.
func (l *Lock) Valid() bool { return l.validAt(time.Now()) }

func (l *Lock) validAt(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heldLocked(now)
}

// heldLocked checks both clocks: the monotonic one stops while the machine is
// suspended, the wall clock may be set back.
func (l *Lock) heldLocked(now time.Time) bool {
	return l.over == nil && now.Before(l.until) && now.Round(0).Before(l.until.Round(0))
}

// start starts the hold of a lock that was just taken. A handover starts a new one.
// asked says that the caller was the one asking the servers.
func (m *Manager) start(ctx context.Context, l *Lock, opt LockOptions, asked bool) *Lock {
	l.parent = context.WithoutCancel(ctx)
	l.configure(opt)
	m.localQueues.hold(l, asked)
	return l
}

// configure applies the options of a lock.
func (l *Lock) configure(opt LockOptions) {
	l.mu.Lock()
	l.owner, l.since = opt.Owner, time.Now()
	if opt.MaxHold > 0 {
		l.maxHold, l.limit = opt.MaxHold, l.since.Add(opt.MaxHold)
		if l.limit.Before(l.until) {
			l.until = l.limit
		}
	}
	l.mu.Unlock()
	l.recordOwner(false)
}

// Extend renews the full time of the lock, in one round trip. ErrLost means that the
// lock is gone; after ErrNoQuorum it is still held until Until, and the caller can
// retry.
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
		l.end(l.expired())
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

// prolong records that a round has extended the lock.
func (l *Lock) prolong(r *round) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil && !l.heldLocked(time.Now()) { // a lock that has ended stays so
		l.end(l.expired())
	}
	if l.over != nil {
		return l.over
	}
	l.unconfirmed = false
	l.wanted = l.wanted || r.waiters()
	until := l.m.voters.validUntil(r)
	if !l.limit.IsZero() && l.limit.Before(until) {
		until = l.limit
	}
	if until.After(l.until) {
		l.until = until
	}
	if !l.heldLocked(time.Now()) {
		if l.limited() {
			l.end(l.expired())
		} else {
			l.end(l.lost("the answers came too late"))
		}
		return l.over
	}
	l.m.voters.stats.extended.Add(1)
	l.recordOwner(false)
	return nil
}

// unlockTimeouts is how many node timeouts Unlock waits: the wait delays no other
// client, and an error would be of no use.
const unlockTimeouts = 4

// Unlock releases the lock in one round trip, and returns when a majority of the
// servers has released it; the rest follows. A waiter of this process gets the lock
// without that.
//
// ErrLost means that the lock was lost before, so that another client may have held
// the name meanwhile. ErrUnlocked only means that Unlock was called before.
// ErrNoQuorum means that too few servers answered in time; they are asked again, and
// the lock expires there after the TTL.
func (l *Lock) Unlock(ctx context.Context) error {
	if l.within(ctx) {
		ctx = context.WithoutCancel(ctx)
	}
	l.mu.Lock()
	valid, over, unconfirmed := l.heldLocked(time.Now()), l.over, l.unconfirmed
	if !valid && over == nil {
		over = l.expired()
	}
	l.end(context.Canceled)
	handovers, wanted := maxHandovers, l.wanted
	l.mu.Unlock()
	now := time.Now()
	if wanted || l.m.gaps.shared(l.name, now) || now.Sub(l.chainStart) > gapEvery {
		handovers = wantedHandovers
	}
	switch {
	case over == context.Canceled:
		return l.unlocked()
	case valid && !unconfirmed && l.handovers < handovers && l.m.localQueues.handOver(l):
		l.m.voters.stats.handed.Add(1)
		return nil
	}
	var gap, every time.Duration
	if valid && (l.queued || wanted || l.handovers >= handovers) {
		gap, every = l.m.gaps.next(l.name, now)
	}
	freed := l.op(server.Release)
	freed.Free, freed.Every = gap, every
	r := l.m.voters.release(freed, l.servers)
	l.recordOwner(true)
	if gap > 0 {
		l.m.hints.note(l.name, now) // so that no goroutine here takes it by the fast attempt
		l.m.endGap(gap, r.Op, l.servers)
	}
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

// end records why the lock is no longer held. The first reason stays.
func (l *Lock) end(why error) {
	if l.over != nil {
		return
	}
	l.over = why
	if errors.Is(why, ErrLost) {
		l.m.voters.stats.lost.Add(1)
	}
	if l.ctx != nil {
		l.expiry.Stop()
		l.cancel(why)
	}
}

// held is the error for other callers in this process that want the name.
func (l *Lock) held() error {
	return fmt.Errorf("redlock: %q: %w: by this process for another %v",
		l.name, ErrHeld, max(0, time.Until(l.Until())).Round(time.Millisecond))
}

// lost is the error of a lock that was lost.
func (l *Lock) lost(why string) error {
	return fmt.Errorf("redlock: %q: %w: %s", l.name, ErrLost, why)
}

// limited reports whether the lock ends because of MaxHold, however often it is extended.
func (l *Lock) limited() bool { return !l.limit.IsZero() && !l.until.Before(l.limit) }

// expired is the error of a lock that was not extended in time, or that was held for
// MaxHold.
func (l *Lock) expired() error {
	if l.limited() {
		return fmt.Errorf("redlock: %q: %w: %w: %v", l.name, ErrLost, ErrMaxHold, l.maxHold)
	}
	return l.lost("its time ran out")
}

// unlocked is the error of using a lock after Unlock.
func (l *Lock) unlocked() error { return fmt.Errorf("redlock: %q: %w", l.name, ErrUnlocked) }

// op returns an op on the servers that have the lock.
func (l *Lock) op(what server.Kind) server.Op {
	o := server.Op{Kind: what, Name: l.name, Value: l.value, Position: l.handovers, Chain: l.chain, TTL: l.ttl}
	if what == server.Release {
		o.Queue = l.queued
		if l.chain != nil {
			o.TTL, o.Queue = l.chain.Longest() // a server that missed handovers may keep it for so long
		}
	}
	return o
}

// next returns the chain of a lock that is handed over, with the value of the next
// holder.
func (l *Lock) next(value string, ttl time.Duration) *server.Chain {
	c := l.chain
	if c == nil {
		c = server.NewChain(len(l.m.voters.nodes), l.value, l.ttl, l.queued)
	}
	c.Add(value, ttl)
	return c
}

// takeOver turns a lock that was handed over within the process into the caller's,
// with a new value and its full time. The servers learn of it in the background,
// because the lock is held anyway, unless it needs a fencing token or little time is
// left. It returns nil if the lock could not be kept.
func (m *Manager) takeOver(ctx context.Context, given *Lock, ttl time.Duration) *Lock {
	given.mu.Lock()
	until := given.until
	given.mu.Unlock()
	value := server.NewValue()
	l := &Lock{
		m: m, name: given.name, value: value, chain: given.next(value, ttl), token: given.token,
		servers: given.servers, handovers: given.handovers + 1, chainStart: given.chainStart, ttl: ttl, until: until,
	}
	changed := l.op(server.Extend)
	changed.Fence = m.opt.Fencing
	r := newRound(m.voters.nodes, m.voters.quorum, changed, time.Now())
	background := !m.opt.Fencing && time.Until(until) > ttl/2
	if background {
		r.then = func(won bool) { l.changed(r, won) }
	}
	r.send(l.servers)
	if !background {
		won, _ := r.await(ctx, m.opt.NodeTimeout)
		if won && m.opt.Fencing {
			token, err := m.voters.resolveToken(ctx, r)
			l.token, won = token, err == nil
		}
		if !won || l.prolong(r) != nil {
			m.voters.release(l.op(server.Release), l.servers)
			return nil
		}
	}
	return l
}

// confirmed reports whether a majority of the servers has confirmed the lock.
func (l *Lock) confirmed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.unconfirmed
}

// changed records how the servers accepted the new value of a lock that was handed
// over.
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

// Keep runs f under the lock like Manager.Do: it extends the lock meanwhile and
// unlocks it at the end.
func (l *Lock) Keep(ctx context.Context, f func(context.Context, *Lock) error) (err error) {
	inner, cancel := context.WithCancelCause(l.holding(ctx))
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

// keepExtending extends the lock every Options.ExtendEvery, sooner after a failure,
// until the context ends or the lock cannot be extended.
func (l *Lock) keepExtending(ctx context.Context) {
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

// extendEvery returns Options.ExtendEvery, in proportion for another ttl.
func (m *Manager) extendEvery(ttl time.Duration) time.Duration {
	if ttl == m.opt.TTL {
		return m.opt.ExtendEvery
	}
	return time.Duration(float64(m.opt.ExtendEvery) * (float64(ttl) / float64(m.opt.TTL)))
}

// recordOwner records the holder for as long as the lock lives, or removes the
// record. It does not wait.
func (l *Lock) recordOwner(gone bool) {
	if l.owner == "" {
		return
	}
	host, _ := os.Hostname()
	record := l.op(server.RecordOwner)
	record.Owner = &server.Holder{Host: host, PID: os.Getpid(), Since: l.since, Text: l.owner, Gone: gone}
	l.m.voters.ask(record, l.servers)
}

// endGap ends a gap: the servers grant the name to the next waiter, unless another
// client has taken it. Until then it asks them whether one has.
func (m *Manager) endGap(gap time.Duration, taken server.Op, from nodeSet) {
	step := gap + time.Millisecond
	if !m.gaps.shared(taken.Name, time.Now()) {
		step = min(step, gapPoll)
	}
	time.AfterFunc(step, func() {
		r := newRound(m.voters.nodes, m.voters.quorum, taken, time.Now())
		r.all = true
		r.then = func(bool) {
			if r.foreign() {
				m.gaps.noteForeign(taken.Name, time.Now())
			}
		}
		r.send(from)
		if gap > step {
			m.endGap(gap-step, taken, from)
		}
	})
}
