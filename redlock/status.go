package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"retwis/redlock/internal/server"
)

// Status is the state of a name and of the servers, as the servers report it.
type Status struct {
	Servers []ServerStatus
	Quorum  int // number of servers that must agree
	Voting  int // number of servers that grant locks now; with fewer than Quorum nothing can be locked

	Held bool // a majority of the servers has the same lock
	// Undecided means that a client may hold the name, but too few servers have answered or vote to
	// decide.
	Undecided bool
	// NotLock means that the name cannot be locked, because its key holds something else on too
	// many servers; see ErrNotLock.
	NotLock bool
	// Holder is the current lock if Held is set, with the shortest remaining time and the largest
	// number of waiters that any server reports for the lock.
	Holder Holder
}

// ServerStatus is the report of one server.
type ServerStatus struct {
	Node        string        // address of the server
	Votes       bool          // the server answers and grants locks
	Since       time.Time     // when the server started to vote, by its clock; zero: unknown
	Quarantined time.Duration // remaining quarantine: the server may have lost locks
	LongestTTL  time.Duration // longest TTL on record on the server; zero: none
	Holder      Holder        // holder of the name; zero: the name is free
	Foreign     bool          // another library or program wrote the value: Break rejects it
	Err         error         // why the server could not be asked, or ErrNotLock
}

// Holder describes a lock as a server reports it.
type Holder struct {
	Value   string        // the value stored under the name
	TTL     time.Duration // remaining time
	Waiters int64         // number of waiting processes
	Owner   Owner         // zero: not recorded
}

// Owner is a holder's description of itself; see Options.Owner. Any client of the servers can write
// it, so do not trust the text.
type Owner struct {
	Host  string
	PID   int
	Since time.Time // by the clock of the host
	Text  string    // Options.Owner
}

// counters count events since the Manager was created.
type counters struct {
	acquired, turns, extended, lost, disconnected atomic.Uint64
}

// Status asks every server in one round trip who holds a name, and whether the server votes. With
// an empty name, it only asks about the servers.
func (m *Manager) Status(ctx context.Context, name string) (Status, error) {
	if err := m.check(withoutLocks(ctx), name); err != nil && (name != "" || !errors.Is(err, ErrName)) {
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
		for i, reply := range r.replies {
			s.Servers[i].Node = m.voters.nodes[i].server.Name()
			s.Servers[i].note(r.Kind, reply, m.opt.NodeTimeout)
		}
		r.mu.Unlock()
	}
	s.judge()
	return s, nil
}

// note records a reply of the server to an op of the asked kind.
func (s *ServerStatus) note(asked server.Kind, reply server.Reply, timeout time.Duration) {
	switch {
	case reply.Answer == server.Unanswered:
		s.Err = fmt.Errorf("timeout after %v", timeout)
	case reply.Err != nil:
		s.Err = reply.Err
	}
	s.Quarantined = max(s.Quarantined, reply.Quarantined)
	if asked == server.Boot {
		s.Since, s.LongestTTL = reply.Since, reply.TTL
		s.Votes = reply.Answer == server.Yes && s.Quarantined == 0
		return
	}
	s.Votes = s.Votes && s.counts()
	s.Foreign = reply.Foreign
	s.Holder = Holder{Value: reply.Value, TTL: reply.TTL, Waiters: reply.Waiters}
	if h := reply.Owner; h != (server.Owner{}) {
		s.Holder.Owner = Owner{Host: h.Host, PID: h.PID, Since: h.Since, Text: h.Text}
	}
}

// counts reports whether the server has answered and may vote.
func (s *ServerStatus) counts() bool {
	return (s.Err == nil || errors.Is(s.Err, ErrNotLock)) && s.Quarantined == 0
}

// judge determines who holds the name from the reports of the servers.
func (s *Status) judge() {
	votes, maxVotes, unknown, notLocks := make(map[string]int, 1), 0, 0, 0
	for _, n := range s.Servers {
		if n.Votes {
			s.Voting++
		}
		switch value := n.Holder.Value; {
		case errors.Is(n.Err, ErrNotLock):
			notLocks++
		case !n.counts():
			unknown++
		case value != "":
			if votes[value]++; votes[value] > maxVotes {
				maxVotes, s.Holder.Value = votes[value], value
			}
		}
	}
	s.Held = maxVotes >= s.Quorum
	s.Undecided = !s.Held && maxVotes+unknown >= s.Quorum
	s.NotLock = notLocks > len(s.Servers)-s.Quorum
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
