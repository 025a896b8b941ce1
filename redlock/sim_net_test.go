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
	// listens means that the manager knows of its subscription.
	listens atomic.Bool

	mu    sync.Mutex
	known simMachine // the manager's machine, and the boot that last answered it
	since time.Time  // since when it knows that boot
}

// simNet simulates the network.
type simNet struct {
	mu    sync.Mutex
	rng   *rand.Rand
	loss  float64 // probability, for requests and for replies
	slow  float64 // probability that a message is slow
	late  sync.WaitGroup
	calm  bool
	cuts  map[*simLink]bool
	holds map[*simLink]simHold
	drops func(*server.Op) bool // ops that the network drops on purpose
	// harmless closes connections that break, including what is in flight, and waits longer for a
	// server that stalls.
	harmless bool
}

// simHold is until when the two connections of a link, for commands and for messages, hold back
// their data.
type simHold struct{ commands, messages time.Time }

// hold holds back the data of a link for a while. Nothing is lost, and the two connections need
// not resume at the same time.
func (n *simNet) hold(l *simLink, commands, messages time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.holds[l] = simHold{now.Add(commands), now.Add(messages)}
}

// pass returns when a connection of a link is no longer held.
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

// simAnswerTime is how long a connection may be silent in the simulation.
const simAnswerTime = 200 * time.Millisecond

// brokenAfter is how long it takes to notice that a connection broke.
func (n *simNet) brokenAfter() time.Duration {
	if n.harmless {
		return n.delay() // it is closed
	}
	return simAnswerTime
}

// answerTime is how long a connection may be silent.
func (n *simNet) answerTime() time.Duration {
	if n.harmless {
		return server.AnswerTime
	}
	return simAnswerTime
}

func (n *simNet) chance(p float64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.calm && n.rng.Float64() < p
}

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

func (n *simNet) cut(l *simLink) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cuts[l]
}

func (l *simLink) Name() string { return l.server.label }

func (l *simLink) Close() {}

var errSim = errors.New("the network broke")

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
	sent := make([]server.Op, len(batch)) // what is on the wire no longer changes
	for i, o := range batch {
		sent[i] = *o
	}
	evidence, listens := l.evidence(), l.listens.Load()
	l.net.pass(l, false)
	if l.net.cut(l) || l.net.chance(l.net.loss) {
		if !l.net.harmless && l.net.chance(0.5) { // it arrives after the client stopped waiting
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

// evidence returns what boot.lua is sent.
func (l *simLink) evidence() simEvidence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return simEvidence{longest: l.m.voters.records.Longest(), known: l.known, since: l.since, now: time.Now()}
}

// arrives waits until the server, in the same run, receives what was sent.
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
	s.ears = append(s.ears, simEar{channel, func(value string) {
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
