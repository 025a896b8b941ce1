package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// attempt asks all servers for a name once. The round is returned with an error
// too: whoever gives up has to withdraw it.
func (m *Manager) attempt(ctx context.Context, o op) (*Lock, *round, error) {
	o.kind, o.ttl, o.fence = opAcquire, m.opt.TTL, m.opt.Fencing
	o.grant, o.line = m.opt.grantTime(), m.opt.lineTime()
	r := newRound(m.nodes, m.quorum, o)
	r.patient = o.queue
	r.send(m.all)
	won, cause := r.await(ctx, m.opt.NodeTimeout)
	switch {
	case cause != nil:
		return nil, r, waitError(o.name, cause, nil)
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
	return &Lock{m: m, name: o.name, value: o.value, token: token, until: until, asked: r.asked()}, r, nil
}

// validUntil returns how long a lock is valid that a round took or extended.
func (m *Manager) validUntil(r *round) time.Time {
	return r.start.Add(r.ttl - m.opt.Drift)
}

// settle returns the token of a lock, once a majority has counted that far: any
// later majority has one of these servers in it, and so a greater token.
func (m *Manager) settle(ctx context.Context, r *round) (uint64, error) {
	token, agreed := r.most()
	if agreed >= m.quorum {
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
	return m.ask(op{
		kind: opRelease, name: taken.name, value: taken.value, other: taken.other, queue: taken.queue,
		grant: m.opt.grantTime(), until: time.Now().Add(m.opt.TTL),
	}, from)
}

// ticket is the place of one waiter in the line of a name.
type ticket struct {
	value string
	heard int           // how many servers said that it has the lock
	soon  chan struct{} // the first one has
	now   chan struct{} // a majority has
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
	t.value, t.heard = randomText(), 0
	t.soon, t.now = make(chan struct{}, 1), make(chan struct{}, 1)
	w.tickets[t.value] = t
}

func (w *waiting) remove(t *ticket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.tickets, t.value)
}

// told hears from one server that a value holds its lock.
func (m *Manager) told(value string) {
	m.waiting.mu.Lock()
	defer m.waiting.mu.Unlock()
	t := m.waiting.tickets[value]
	if t == nil {
		return
	}
	t.heard++
	switch t.heard {
	case m.quorum:
		t.now <- struct{}{}
	case 1:
		t.soon <- struct{}{}
	}
}

// contend asks the servers until they give the lock.
func (m *Manager) contend(ctx context.Context, name string) (*Lock, error) {
	var t ticket
	m.waiting.renew(&t)
	defer m.waiting.remove(&t)
	begun := time.Now()
	backoff := m.opt.RetryMin
	for {
		l, r, err := m.attempt(ctx, op{name: name, value: t.value, queue: true, since: begun.UnixMicro()})
		if err == nil {
			m.stats.waited(time.Since(begun))
			return l, nil
		}
		if ctx.Err() != nil || errors.Is(err, ErrNotLock) {
			m.withdraw(r)
			return nil, err
		}
		m.listen()
		agreed, _, unsure := r.tally()
		if agreed+unsure > 0 {
			m.withdraw(r)
			m.waiting.renew(&t)
		}
		pause := m.pause(r, agreed > 0, backoff)
		backoff = min(2*backoff, m.opt.RetryMax)
		if cause := t.wait(ctx, m, pause); cause != nil {
			m.withdraw(r)
			m.stats.refused(err)
			return nil, waitError(name, cause, err)
		}
	}
}

// pause returns how long to wait for the word of a release before asking again.
func (m *Manager) pause(r *round, split bool, backoff time.Duration) time.Duration {
	if split {
		// Several asked at once and nobody got a majority: fall out of step.
		return rand.N(m.opt.RetryMin)
	}
	pause := m.opt.RetryMin/2 + rand.N(backoff)
	if free := r.freeIn(); free >= 0 && free < pause {
		// The holder's time runs out before: it may have died.
		pause = free + time.Millisecond + rand.N(m.opt.RetryMin/2+1)
	}
	return pause
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
