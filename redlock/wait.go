package redlock

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// attempt asks all servers for a name once. The round is returned with an error
// too: whoever gives up has to withdraw it.
func (m *Manager) attempt(ctx context.Context, o op, now time.Time) (*Lock, *round, error) {
	o.kind, o.fence = opAcquire, m.opt.Fencing
	o.grant, o.line, o.within = m.opt.grantTime(), m.opt.lineTime(), m.opt.askTime()
	r := newRound(m.nodes, m.quorum, o, now)
	r.patient = o.queue || o.quick
	r.send(m.all)
	won, cause := r.await(ctx, m.opt.NodeTimeout)
	switch {
	case cause != nil:
		return nil, r, waitError(o.name, cause, r.err(m.opt.NodeTimeout))
	case !won:
		return nil, r, r.err(m.opt.NodeTimeout)
	}
	var token uint64
	if o.fence {
		var err error
		if token, err = m.settle(ctx, r); err != nil {
			return nil, r, err
		}
	}
	until := m.validUntil(r)
	if !time.Now().Before(until) {
		return nil, r, fmt.Errorf("redlock: %q: %w: the answers took %v, longer than the lock is valid",
			o.name, ErrNoQuorum, time.Since(r.start).Round(time.Millisecond))
	}
	m.stats.acquired.Add(1)
	return &Lock{
		m: m, chain: now, name: o.name, value: o.value, token: token, ttl: o.ttl, until: until,
		asked: r.asked(), queued: o.queue,
	}, r, nil
}

// validUntil returns how long a lock is valid that a round took or extended.
func (m *Manager) validUntil(r *round) time.Time {
	return r.start.Add(r.ttl - m.drift(r.ttl))
}

// tokenMargin is how far a token goes ahead of those that are known, where a counter
// was lost: further than a counter gets in the second from which it started.
const tokenMargin = 1_000_000

// settle returns the token of a lock, once a majority has counted that far: any
// later majority has one of these servers in it, and so a greater token. All other
// servers are raised behind, those too that refused the lock, so that a minority
// that loses its counters later is no harm.
func (m *Manager) settle(ctx context.Context, r *round) (uint64, error) {
	token, agreed, mixed := r.most()
	switch {
	case mixed:
		// Those that have no counter may be the ones that knew the last token.
		token += tokenMargin
	case agreed >= m.quorum:
		r.behind(token, func(i int) { m.ask(op{kind: opRaise, name: r.name, token: token}, 1<<i) })
		return token, nil
	}
	raise := m.ask(op{kind: opRaise, name: r.name, token: token}, m.all)
	won, cause := raise.await(ctx, m.opt.NodeTimeout)
	switch {
	case cause != nil:
		return 0, waitError(r.name, cause, nil)
	case !won:
		return 0, fmt.Errorf("fencing token not settled: %w", raise.err(m.opt.NodeTimeout))
	}
	return token, nil
}

// withdraw gives back whatever servers may have given, and leaves the line. The
// value must not be used again: the release may come late.
func (m *Manager) withdraw(r *round) {
	m.release(r.op, r.asked())
}

// release sends the release of what an op has taken.
func (m *Manager) release(taken op, from nodeSet) *round {
	now := time.Now()
	r := newRound(m.nodes, m.quorum, op{
		kind: opRelease, name: taken.name, value: taken.value, other: taken.other, queue: taken.queue,
		free: taken.free, every: taken.every, grant: m.opt.grantTime(), until: now.Add(taken.ttl),
	}, now)
	r.send(from)
	return r
}

// ticket is the place of one waiter in the line of a name.
type ticket struct {
	value string
	// attempt is the number of the last attempt, which was sent at asked. A
	// server that refused it keeps the number in the line, and repeats it in
	// the message that it gives the lock: such a grant is younger than asked,
	// and lives for grantTime from then on at least. A message with another
	// number may be of any age, whenever it arrives.
	attempt uint64
	asked   time.Time
	refused nodeSet       // the servers that have refused this attempt,
	agreed  nodeSet       // or given the lock in reply
	heard   nodeSet       // those that said later that it has the lock
	fit     nodeSet       // those of them whose message counts as a vote
	soon    chan struct{} // the first one has, or may have
	now     chan struct{} // a majority has
}

// waiting holds the tickets of a Manager by value.
type waiting struct {
	mu      sync.Mutex
	tickets map[string]*ticket
}

func (w *waiting) init() { w.tickets = make(map[string]*ticket) }

// renew gives a ticket a value that was never used.
func (w *waiting) renew(t *ticket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.tickets, t.value)
	*t = ticket{value: randomText(), attempt: t.attempt, soon: make(chan struct{}, 1), now: make(chan struct{}, 1)}
	w.tickets[t.value] = t
}

func (w *waiting) remove(t *ticket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.tickets, t.value)
}

// next begins another attempt, and returns its number.
func (w *waiting) next(t *ticket, now time.Time) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.attempt++
	t.asked = now
	t.refused, t.agreed, t.heard, t.fit = 0, 0, 0, 0
	for _, c := range []chan struct{}{t.soon, t.now} {
		select {
		case <-c:
		default:
		}
	}
	return t.attempt
}

// note keeps what the servers have said to the last attempt.
func (w *waiting) note(t *ticket, r *round) {
	agreed, refused := r.said(yes), r.said(no)
	w.mu.Lock()
	defer w.mu.Unlock()
	t.agreed, t.refused = agreed, refused
	if t.heard != 0 {
		t.heardBy(r.need)
	}
}

// told hears from one server that a value holds its lock, given to the waiter
// that was refused in this attempt.
func (m *Manager) told(from int, value string, attempt uint64, fit bool) {
	m.waiting.mu.Lock()
	defer m.waiting.mu.Unlock()
	t := m.waiting.tickets[value]
	switch {
	case t == nil:
		return
	case attempt != t.attempt:
		t.hurry() // what it says of may have expired: ask
		return
	}
	t.heard |= 1 << from
	if fit {
		t.fit |= 1 << from
	}
	t.heardBy(m.quorum)
}

// heardBy wakes the waiter: at once when so many servers have given it the lock.
func (t *ticket) heardBy(quorum int) {
	if (t.heard | t.agreed).len() < quorum {
		t.hurry()
		return
	}
	select {
	case t.now <- struct{}{}:
	default:
	}
}

// parseGrant reads the message of grant.lua. Scripts of an earlier version send
// no attempt, which says no more than that it is time to ask.
func parseGrant(message string) (value string, attempt uint64) {
	value, number, _ := strings.Cut(message, " ")
	attempt, _ = strconv.ParseUint(number, 10, 64)
	return value, attempt
}

// hurry makes a waiter ask again soon.
func (t *ticket) hurry() {
	select {
	case t.soon <- struct{}{}:
	default:
	}
}

// listening notes that the word of a server comes through from now on. What it said
// before may have been missed.
func (w *waiting) listening() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.tickets {
		t.hurry()
	}
}

// given returns the lock of a ticket if a majority of the servers gave it, in
// answer to its last attempt or, as they have said, since: they keep it for
// grantTime from when that was sent. A fencing token has to be asked for.
//
// The lock is not confirmed before its full time is.
func (m *Manager) given(t *ticket, name string, r *round) *Lock {
	m.waiting.mu.Lock()
	until := t.asked.Add(min(m.opt.grantTime(), r.ttl) - m.opt.Drift)
	votes := t.agreed | t.refused&t.fit
	m.waiting.mu.Unlock()
	now := time.Now()
	if m.opt.Fencing || (votes&m.reachable(now)).len() < m.quorum {
		return nil
	}
	l := &Lock{
		m: m, chain: now, name: name, value: t.value, ttl: r.ttl, until: until,
		asked: r.asked(), queued: true, unconfirmed: true,
	}
	if !l.validAt(now.Add(m.opt.grantTime() / 4)) {
		return nil
	}
	full := newRound(m.nodes, m.quorum, op{kind: opExtend, name: name, value: t.value, other: t.value, ttl: r.ttl}, now)
	full.then = func(won bool) { l.changed(full, won) }
	full.send(l.asked)
	m.stats.acquired.Add(1)
	return l
}

// reachable returns the servers that answer, as far as is known.
func (m *Manager) reachable(now time.Time) nodeSet {
	var set nodeSet
	for i, n := range m.nodes {
		n.mu.Lock()
		if n.unfit(now) == nil {
			set |= 1 << i
		}
		n.mu.Unlock()
	}
	return set
}

// contend asks the servers until they give the lock. A free name is taken by the
// quickest of all commands; only who does not get it stands in line.
func (m *Manager) contend(ctx context.Context, name string, ttl time.Duration) (*Lock, error) {
	begun := time.Now()
	if m.opt.Fencing || m.hints.wanted(name, begun) {
		return m.queue(ctx, name, ttl, begun, 0)
	}
	l, r, err := m.attempt(ctx, op{name: name, value: randomText(), ttl: ttl, quick: true}, begun)
	if err == nil {
		return l, nil
	}
	m.gates.answered(name, err)
	agreed, _, unsure := r.tally()
	if agreed+unsure > 0 {
		m.withdraw(r)
	}
	if ctx.Err() != nil {
		return nil, ended(ctx, name, err)
	}
	var pause time.Duration
	if agreed > 0 {
		pause = m.outOfStep(r)
	}
	return m.queue(ctx, name, ttl, begun, pause)
}

// queue stands in line for a name after a pause, as one who has waited since begun.
func (m *Manager) queue(ctx context.Context, name string, ttl time.Duration, begun time.Time, pause time.Duration) (*Lock, error) {
	var t ticket
	m.waiting.renew(&t)
	defer m.waiting.remove(&t)
	backoff := m.patience()
	if pause > 0 {
		if cause := t.wait(ctx, m, pause); cause != nil {
			return nil, waitError(name, cause, nil)
		}
	}
	var last error // of an attempt that was not cut short
	for {
		now := time.Now()
		l, r, err := m.attempt(ctx, op{
			name: name, value: t.value, ttl: ttl, queue: true, since: begun.UnixMicro(), waited: now.Sub(begun),
			attempt: m.waiting.next(&t, now),
		}, now)
		if err == nil {
			m.stats.waited(time.Since(begun))
			return l, nil
		}
		if ctx.Err() != nil || errors.Is(err, ErrNotLock) || errors.Is(err, ErrRefused) {
			m.withdraw(r)
			if ctx.Err() != nil && last != nil {
				err = last
			}
			return nil, ended(ctx, name, err)
		}
		last = err
		m.listen()
		m.gates.answered(name, err)
		m.hints.note(name, time.Now())
		if r.foreign() {
			m.gaps.see(name, time.Now())
		}
		// Some votes, and nobody has a majority: several asked at once, and none
		// may keep what it got. Where somebody has one, the rest stays with who
		// is in line there; so does what a server gives that has not answered.
		agreed, _, _ := r.tally()
		split := agreed > 0 && !r.led()
		if split {
			m.withdraw(r)
			m.waiting.renew(&t)
		} else {
			m.waiting.note(&t, r)
		}
		pause, backoff = m.pause(r, split, backoff), min(2*backoff, m.opt.RetryMax)
		if cause := t.wait(ctx, m, pause); cause != nil {
			m.withdraw(r)
			m.stats.refused(err)
			return nil, waitError(name, cause, err)
		}
		if l := m.given(&t, name, r); l != nil {
			m.stats.waited(time.Since(begun))
			return l, nil
		}
	}
}

// hints remembers, roughly, which names were waited for lately: there it is no use
// to try the quick way first.
type hints struct {
	seed  maphash.Seed
	slots [256]atomic.Int64
}

// hintTime is how long a hint holds.
const hintTime = time.Second

func (h *hints) slot(name string) *atomic.Int64 {
	return &h.slots[maphash.String(h.seed, name)%uint64(len(h.slots))]
}

func (h *hints) note(name string, now time.Time) { h.slot(name).Store(now.UnixNano()) }

func (h *hints) wanted(name string, now time.Time) bool {
	return now.UnixNano()-h.slot(name).Load() < int64(hintTime)
}

// patience returns how long to wait for the word of a release at first: not long
// until a majority can be heard.
func (m *Manager) patience() time.Duration {
	heard := 0
	for _, n := range m.nodes {
		if n.heard.Load() {
			heard++
		}
	}
	if heard < m.quorum {
		return m.opt.RetryMin
	}
	return max(m.opt.RetryMin, m.opt.RetryMax/2)
}

// pause returns how long to wait for the word of a release before asking again.
func (m *Manager) pause(r *round, split bool, backoff time.Duration) time.Duration {
	if split {
		return m.outOfStep(r)
	}
	pause := backoff/2 + rand.N(backoff)
	if free := r.freeIn(); free >= 0 && free < pause {
		// The holder's time runs out before: it may have died.
		pause = free + time.Millisecond + rand.N(m.opt.RetryMin/2+1)
	}
	return pause
}

// outOfStep returns how long to wait where several asked at once and nobody got a
// majority, so that they do not do so again.
func (m *Manager) outOfStep(r *round) time.Duration {
	return rand.N(min(m.opt.RetryMin, time.Millisecond+8*r.took()))
}

// wait returns nil when it is time to ask again.
func (t *ticket) wait(ctx context.Context, m *Manager, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-t.now:
			return nil
		case <-t.soon:
			// The others are to follow, if they can.
			timer.Reset(min(pause, m.opt.NodeTimeout))
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-m.closing:
			return ErrClosed
		}
	}
}

// listen starts listening for the word of releases, the first time that somebody
// has to wait.
func (m *Manager) listen() {
	m.listening.Do(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.isClosing() {
			return
		}
		for _, n := range m.nodes {
			m.ears.Add(1)
			go func() {
				defer m.ears.Done()
				n.listen(m.ctx)
			}()
		}
	})
}

// nth returns the n-th smallest duration, from 0.
func nth(durations []time.Duration, n int) time.Duration {
	slices.Sort(durations)
	return durations[n]
}
