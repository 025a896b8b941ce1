package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"retwis/redlock/internal/server"
)

// Status is what the servers say about a name and about themselves.
type Status struct {
	Servers []ServerStatus
	Quorum  int // how many servers have to agree
	Voting  int // how many give locks now; with fewer than Quorum nothing can be locked

	Held bool // a majority of the servers has the same lock
	// Undecided says that so few servers have answered, or may vote, that a client may
	// hold the name on the others.
	Undecided bool
	// NotLock says that the name cannot be locked: so many servers use it for something
	// else, see ErrNotLock.
	NotLock bool
	// Holder is the lock if it is held, with the shortest remaining time and the largest
	// number of waiters that one of its servers reports.
	Holder Holder
}

// ServerStatus is what one server says.
type ServerStatus struct {
	Node        string        // its address
	Votes       bool          // it answers and gives locks
	Since       time.Time     // since when it votes, by its clock; zero: unknown
	Quarantined time.Duration // for how long it does not vote, because it may have forgotten locks
	LongestTTL  time.Duration // on record there; zero: none
	Holder      Holder        // of the name; zero: it is free
	Foreign     bool          // another library, or another program, made the value: Break refuses it
	Err         error         // why it could not be asked, or ErrNotLock
}

// Holder is a lock as a server reports it.
type Holder struct {
	Value   string        // the text under the name
	TTL     time.Duration // how long the server keeps it
	Waiters int64         // the number of processes that wait for it
	Owner   Owner         // zero: not recorded
}

// Owner is the description that a holder gives of itself: see Options.Owner. Another
// client may have written anything there.
type Owner struct {
	Host  string
	PID   int
	Since time.Time // by the clock of the host
	Text  string    // Options.Owner
}

// counters are what a Manager has done, and met, since it was made.
type counters struct {
	acquired, turns, extended, lost, disconnected atomic.Uint64
}

// Status asks every server in one round trip who holds a name, and whether the server
// votes. An empty name asks for the servers alone.
func (m *Manager) Status(ctx context.Context, name string) (Status, error) {
	if err := m.check(outside(ctx), name); err != nil && (name != "" || !errors.Is(err, ErrName)) {
		return Status{}, err
	}
	now := time.Now()
	ask := func(o server.Op) *round {
		r := newRound(m.voters.nodes, m.voters.quorum, o, now)
		r.all = true
		r.send(m.voters.all)
		return r
	}
	rounds := []*round{ask(server.Op{Kind: server.Boot})}
	if name != "" {
		rounds = append(rounds, ask(server.Op{Kind: server.Show, Name: name}))
	}
	s := Status{Quorum: m.voters.quorum, Servers: make([]ServerStatus, len(m.voters.nodes))}
	for _, r := range rounds {
		if _, cause := r.await(ctx, m.opt.NodeTimeout-time.Since(now)); cause != nil {
			return Status{}, waitError(name, cause, nil)
		}
		r.mu.Lock()
		for i, answered := range r.replies {
			s.Servers[i].Node = m.voters.nodes[i].server.Name()
			s.Servers[i].note(r.Kind, answered, m.opt.NodeTimeout)
		}
		r.mu.Unlock()
	}
	s.judge()
	return s, nil
}

// note records a reply of the server.
func (s *ServerStatus) note(asked server.Kind, answered server.Reply, timeout time.Duration) {
	switch {
	case answered.Answer == server.Unanswered:
		s.Err = fmt.Errorf("timeout after %v", timeout)
	case answered.Err != nil:
		s.Err = answered.Err
	}
	s.Quarantined = max(s.Quarantined, answered.Quarantined)
	if asked == server.Boot {
		s.Since, s.LongestTTL = answered.Since, answered.TTL
		s.Votes = answered.Answer == server.Yes && s.Quarantined == 0
		return
	}
	s.Votes = s.Votes && s.counts()
	s.Foreign = answered.Foreign
	s.Holder = Holder{Value: answered.Value, TTL: answered.TTL, Waiters: answered.Waiters}
	if h := answered.Owner; h != (server.Holder{}) {
		s.Holder.Owner = Owner{Host: h.Host, PID: h.PID, Since: h.Since, Text: h.Text}
	}
}

// counts reports whether the server has answered and may vote.
func (s *ServerStatus) counts() bool {
	return (s.Err == nil || errors.Is(s.Err, ErrNotLock)) && s.Quarantined == 0
}

// judge derives from what the servers say who holds the name.
func (s *Status) judge() {
	votes, most, unknown, others := make(map[string]int, 1), 0, 0, 0
	for _, n := range s.Servers {
		if n.Votes {
			s.Voting++
		}
		switch value := n.Holder.Value; {
		case errors.Is(n.Err, ErrNotLock):
			others++
		case !n.counts():
			unknown++
		case value != "":
			if votes[value]++; votes[value] > most {
				most, s.Holder.Value = votes[value], value
			}
		}
	}
	s.Held = most >= s.Quorum
	s.Undecided = !s.Held && most+unknown >= s.Quorum
	s.NotLock = others > len(s.Servers)-s.Quorum
	if !s.Held {
		s.Holder = Holder{}
		return
	}
	first := true
	for _, n := range s.Servers {
		if !n.counts() || n.Holder.Value != s.Holder.Value {
			continue
		}
		if first || n.Holder.TTL < s.Holder.TTL {
			s.Holder.TTL = n.Holder.TTL
		}
		first = false
		s.Holder.Waiters = max(s.Holder.Waiters, n.Holder.Waiters)
		if n.Holder.Owner != (Owner{}) {
			s.Holder.Owner = n.Holder.Owner
		}
	}
}
