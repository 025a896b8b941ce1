package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"retwis/redlock/internal/server"
)

// simLink is the network between one manager and one server.
type simLink struct {
	server *simServer
	m      *Manager
	net    *simNet
	// listens is set once the manager's subscription is confirmed.
	listens atomic.Bool

	mu    sync.Mutex
	known simMachine // the manager's machine, and the boot that last answered it
	since time.Time  // time of the first answer of that boot
}

// simNet simulates the network.
type simNet struct {
	mu    sync.Mutex
	rng   *rand.Rand
	loss  float64 // probability that a request or a reply is lost
	slow  float64 // probability that a message is slow
	late  sync.WaitGroup
	calm  bool // injects no faults
	cuts  map[*simLink]bool
	holds map[*simLink]simHold
	drops func(*server.Op) bool // ops that the network drops on purpose
	// harmless closes connections that break, which loses the data in flight, and waits longer for
	// a server that stalls.
	harmless bool
}

// simHold has the times until which the two connections of a link, for commands and for messages,
// hold back their data.
type simHold struct{ commands, messages time.Time }

// hold holds back the data of a link for a while. Nothing is lost, and the two connections need
// not resume at the same time.
func (n *simNet) hold(l *simLink, commands, messages time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.holds[l] = simHold{now.Add(commands), now.Add(messages)}
}

// pass waits until a connection of a link no longer holds back its data.
func (n *simNet) pass(l *simLink, messages bool) {
	for {
		n.mu.Lock()
		until := n.holds[l].commands
		if messages {
			until = n.holds[l].messages
		}
		calm := n.calm
		n.mu.Unlock()
		left := time.Until(until)
		if left <= 0 || calm {
			return
		}
		time.Sleep(left)
	}
}

// simReplyTimeout limits how long a connection may be silent in the simulation.
const simReplyTimeout = 200 * time.Millisecond

// brokenAfter returns how long a client takes to detect a broken connection.
func (n *simNet) brokenAfter() time.Duration {
	if n.harmless {
		return n.delay() // the connection is closed
	}
	return simReplyTimeout
}

// answerTime returns how long a connection may be silent.
func (n *simNet) answerTime() time.Duration {
	if n.harmless {
		return server.ReplyTimeout
	}
	return simReplyTimeout
}

// chance returns true with probability p.
func (n *simNet) chance(p float64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.calm && n.rng.Float64() < p
}

// upTo returns a random duration below d.
func (n *simNet) upTo(d time.Duration) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(n.rng.Int64N(int64(d)))
}

// delay returns the latency of a message.
func (n *simNet) delay() time.Duration {
	if n.chance(n.slow) {
		return n.upTo(300 * time.Millisecond)
	}
	return 100*time.Microsecond + n.upTo(time.Millisecond)
}

// cut reports whether a link is broken.
func (n *simNet) cut(l *simLink) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cuts[l]
}

func (l *simLink) Name() string { return l.server.label }

func (l *simLink) Close() {}

var errSim = errors.New("the network broke")

// failAll sets the replies for a broken connection. maybe means that the server may have executed
// the ops.
func failAll(replies []server.Reply, maybe bool) {
	for i := range replies {
		replies[i] = server.Reply{Answer: server.Failed, Maybe: maybe, Broken: true, Err: errSim}
	}
}

func (l *simLink) Run(_ context.Context, batch []*server.Op, replies []server.Reply) {
	s := l.server
	s.mu.Lock()
	up, boot := s.up, s.boot
	s.mu.Unlock()
	if !up {
		failAll(replies, false)
		return
	}
	sent := make([]server.Op, len(batch)) // a copy, because the caller may change its ops
	for i, o := range batch {
		sent[i] = *o
	}
	evidence, listens := l.evidence(), l.listens.Load()
	l.net.pass(l, false)
	if l.net.cut(l) || l.net.chance(l.net.loss) {
		if !l.net.harmless && l.net.chance(0.5) { // the batch arrives after the client stopped waiting
			l.net.late.Go(func() {
				time.Sleep(l.net.upTo(2 * time.Second))
				if l.arrives(boot, time.Minute) {
					l.execute(sent, make([]server.Reply, len(sent)), listens, evidence)
				}
			})
		}
		time.Sleep(l.net.brokenAfter())
		failAll(replies, true)
		return
	}
	time.Sleep(l.net.delay())
	done := make([]server.Reply, len(batch))
	if !l.arrives(boot, l.net.answerTime()) {
		l.net.late.Go(func() {
			if l.arrives(boot, time.Minute) {
				l.execute(sent, done, listens, evidence)
			}
		})
		failAll(replies, true)
		return
	}
	l.execute(sent, done, listens, evidence)
	if l.net.cut(l) || l.net.chance(l.net.loss) {
		time.Sleep(l.net.brokenAfter())
		failAll(replies, true)
		return
	}
	time.Sleep(l.net.delay())
	l.net.pass(l, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boot != boot {
		failAll(replies, true)
		return
	}
	copy(replies, done)
	l.learn(boot)
}

// learn records that a boot of the server has answered.
func (l *simLink) learn(boot int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known.boot != boot {
		l.known.boot, l.since = boot, time.Now()
	}
}

// evidence returns what the manager sends to boot.lua.
func (l *simLink) evidence() simEvidence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return simEvidence{longest: l.m.voters.records.Longest(), known: l.known, since: l.since, now: time.Now()}
}

// arrives waits until the server can receive data. It returns false after the timeout, or if the
// server is no longer in the same run.
func (l *simLink) arrives(boot int, timeout time.Duration) bool {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		s := l.server
		s.mu.Lock()
		changed, same, frozen := s.changed, s.boot == boot && s.up, s.frozen
		s.mu.Unlock()
		switch {
		case !same:
			return false
		case !frozen:
			return true
		}
		select {
		case <-changed:
		case <-deadline.C:
			return false
		}
	}
}

// execute executes ops on the server, except those that the network drops.
func (l *simLink) execute(sent []server.Op, replies []server.Reply, listens bool, evidence simEvidence) {
	for i := range sent {
		if l.net.drops != nil && l.net.drops(&sent[i]) {
			replies[i] = server.Reply{Answer: server.Failed, Err: errSim}
			continue
		}
		replies[i] = l.server.do(&sent[i], l.m.voters.id, listens, evidence)
	}
}

func (l *simLink) Listen(ctx context.Context, channel string, ready func(), heard func(message string)) error {
	defer l.listens.Store(false)
	s := l.server
	s.mu.Lock()
	if !s.up || s.frozen {
		s.mu.Unlock()
		return errSim
	}
	boot := s.boot
	s.subscribers = append(s.subscribers, simSubscriber{channel, func(value string) {
		if l.net.chance(l.net.loss) {
			return
		}
		l.net.late.Go(func() {
			time.Sleep(l.net.delay())
			l.net.pass(l, true)
			if !l.net.cut(l) {
				heard(value)
			}
		})
	}})
	s.mu.Unlock()
	l.listens.Store(true)
	ready()
	for {
		s.mu.Lock()
		changed, same := s.changed, s.boot == boot && s.up
		s.mu.Unlock()
		if !same {
			return errSim
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
