package redlock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"retwis/redlock/internal/server"
)

// Status is the state of a name on each server.
type Status []NodeStatus

// NodeStatus is the state of a name on one server.
type NodeStatus struct {
	Node        string        // the address of the server
	Value       string        // of the lock that holds the name; empty: free
	TTL         time.Duration // how long the server keeps it
	Owner       Owner         // the holder; zero: not recorded
	Waiters     int64         // number of processes that wait for it
	Quarantined time.Duration // for how long the server does not vote, because it may have forgotten locks
	Foreign     bool          // another library made the value, or another program: Break refuses it
	Err         error         // why the server could not be asked, or ErrNotLock
}

// Owner is the description that a holder gives of itself: see Options.Owner. Another
// client may have written anything there.
type Owner struct {
	Host  string
	PID   int
	Since time.Time // by the clock of the host
	Text  string    // Options.Owner
}

// counts reports whether the server has answered and may vote.
func (n NodeStatus) counts() bool { return n.Err == nil && n.Quarantined == 0 }

// Holder returns the lock that holds the name on a majority of the servers, with the
// shortest remaining time and the largest number of waiters that one of them
// reports. Servers that do not vote do not count.
func (s Status) Holder() (holder NodeStatus, held bool) {
	votes := make(map[string]int, 1)
	for _, n := range s {
		if n.counts() && n.Value != "" {
			votes[n.Value]++
			held = held || votes[n.Value] > len(s)/2
		}
	}
	if !held {
		return NodeStatus{}, false
	}
	for _, n := range s {
		if !n.counts() || votes[n.Value] <= len(s)/2 {
			continue
		}
		if holder.Value == "" || n.TTL < holder.TTL {
			holder.TTL = n.TTL
		}
		holder.Value, holder.Waiters = n.Value, max(holder.Waiters, n.Waiters)
		if n.Owner != (Owner{}) {
			holder.Owner = n.Owner
		}
	}
	return holder, true
}

// Undecided reports whether so few servers have answered, or may vote, that a client
// may hold the name on the others.
func (s Status) Undecided() bool {
	if _, held := s.Holder(); held {
		return false
	}
	votes, most, unknown := make(map[string]int, 1), 0, 0
	for _, n := range s {
		switch {
		case errors.Is(n.Err, ErrNotLock):
		case !n.counts():
			unknown++
		case n.Value != "":
			votes[n.Value]++
			most = max(most, votes[n.Value])
		}
	}
	return most+unknown > len(s)/2
}

// Status asks every server who holds a name, in one round trip.
func (m *Manager) Status(ctx context.Context, name string) (Status, error) {
	// Without the locks in the context: Status works for a name that the caller holds.
	if err := m.check(context.WithValue(ctx, heldKey{}, nil), name); err != nil {
		return nil, err
	}
	r := newRound(m.voters.nodes, m.voters.quorum, server.Op{Kind: server.Show, Name: name}, time.Now())
	r.all = true
	r.send(m.voters.all)
	if _, cause := r.await(ctx, m.opt.NodeTimeout); cause != nil {
		return nil, waitError(name, cause, nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	status := make(Status, len(r.replies))
	for i, answered := range r.replies {
		status[i] = NodeStatus{
			Node: m.voters.nodes[i].server.Name(), Value: answered.Value, TTL: answered.TTL, Waiters: answered.Waiters,
			Foreign: answered.Foreign, Quarantined: answered.Quarantined, Err: answered.Err,
		}
		if h := answered.Owner; h != (server.Holder{}) {
			status[i].Owner = Owner{Host: h.Host, PID: h.PID, Since: h.Since, Text: h.Text}
		}
		if answered.Answer == server.Unanswered {
			status[i].Err = fmt.Errorf("timeout after %v", m.opt.NodeTimeout)
		}
	}
	return status, nil
}

// Quorum returns how many servers have to agree, and how many there are.
func (m *Manager) Quorum() (quorum, nodes int) { return m.voters.quorum, len(m.voters.nodes) }

// Watch yields the status of a name, and again each time its holder changes, until
// the context is done. It polls every Options.RetryMax without joining the queue, so
// it may miss a shorter hold. The last value is an error if the name cannot be
// watched, or the manager was closed.
func (m *Manager) Watch(ctx context.Context, name string) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		look := time.NewTicker(m.opt.RetryMax)
		defer look.Stop()
		var last watched
		for first := true; ; first = false {
			status, err := m.Status(ctx, name)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				yield(nil, err)
				return
			}
			if now := watchedOf(status); first || now != last {
				last = now
				if !yield(status, nil) {
					return
				}
			}
			select {
			case <-look.C:
			case <-ctx.Done():
				return
			case <-m.closing:
				yield(nil, ErrClosed)
				return
			}
		}
	}
}

// watched is the part of a status that Watch compares.
type watched struct {
	value     string
	undecided bool
	notLocks  int
}

func watchedOf(s Status) watched {
	holder, _ := s.Holder()
	w := watched{value: holder.Value, undecided: s.Undecided()}
	for _, n := range s {
		if errors.Is(n.Err, ErrNotLock) {
			w.notLocks++
		}
	}
	return w
}
