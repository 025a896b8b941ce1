package redlock

import (
	"context"
	"errors"
	"time"
)

// NodeStatus is what one server knows of a name.
type NodeStatus struct {
	Node    string        // the address of the server
	Value   string        // of the lock that holds the name; empty: it is free
	TTL     time.Duration // how long the server keeps that
	Waiters int64         // how many processes wait for it
	Young   time.Duration // for how long the server does not vote: it may have forgotten locks
	Err     error         // why the server could not be asked
}

// Status asks every server who holds a name, in one round trip. A value that a
// majority has is the holder's.
func (m *Manager) Status(ctx context.Context, name string) ([]NodeStatus, error) {
	if err := m.check(ctx, name); err != nil {
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
	status := make([]NodeStatus, len(r.replies))
	for i, answered := range r.replies {
		status[i] = NodeStatus{
			Node: m.nodes[i].server.name(), Value: answered.value, TTL: answered.ttl, Waiters: answered.waiters,
			Young: answered.young, Err: answered.err,
		}
		if answered.answer == unanswered {
			status[i].Err = errors.New("timeout after " + m.opt.NodeTimeout.String())
		}
	}
	return status, nil
}

// Quorum returns how many of how many servers have to agree.
func (m *Manager) Quorum() (quorum, nodes int) { return m.quorum, len(m.nodes) }
