package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Status is what each server knows of a name.
type Status []NodeStatus

// NodeStatus is what one server knows of a name.
type NodeStatus struct {
	Node    string        // the address of the server
	Value   string        // of the lock that holds the name; empty: it is free
	TTL     time.Duration // how long the server keeps that
	Owner   Owner         // who holds it; zero: it does not say
	Waiters int64         // how many processes wait for it
	Young   time.Duration // for how long the server does not vote: it may have forgotten locks
	Err     error         // why the server could not be asked; ErrNotLock: the key is something else
}

// counts says whether the server has answered and may vote.
func (n NodeStatus) counts() bool { return n.Err == nil && n.Young == 0 }

// Holder returns the lock that holds the name on a majority of the servers, with the
// shortest time that one of them keeps it, and the most waiters that one of them
// knows. Servers that do not vote do not count.
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

// Undecided says that so few servers have answered, or may vote, that somebody may
// hold the name on the others.
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
	// Also in the context of a lock of that name, which could not be locked again.
	if err := m.check(context.WithValue(ctx, heldKey{}, nil), name); err != nil {
		return nil, err
	}
	r := newRound(m.nodes, m.quorum, op{kind: opShow, name: name}, time.Now())
	r.all = true
	r.send(m.all)
	if _, cause := r.await(ctx, m.opt.NodeTimeout); cause != nil {
		return nil, waitError(name, cause, nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	status := make(Status, len(r.replies))
	for i, answered := range r.replies {
		status[i] = NodeStatus{
			Node: m.nodes[i].server.name(), Value: answered.value, TTL: answered.ttl, Waiters: answered.waiters,
			Owner: answered.owner, Young: answered.young, Err: answered.err,
		}
		switch {
		case answered.answer == unanswered:
			status[i].Err = fmt.Errorf("timeout after %v", m.opt.NodeTimeout)
		case answered.err == errNotLock:
			status[i].Err = ErrNotLock
		}
	}
	return status, nil
}

// Quorum returns how many of how many servers have to agree.
func (m *Manager) Quorum() (quorum, nodes int) { return m.quorum, len(m.nodes) }
