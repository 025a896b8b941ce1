package redlock

import (
	"context"
	"fmt"
	"time"
)

// NodeHealth is whether a server votes.
type NodeHealth struct {
	Node  string        // the address of the server
	Votes bool          // it answers, and gives locks
	Since time.Time     // since when it votes, by its clock; zero: not known
	Young time.Duration // for how long it does not vote: it may have forgotten locks
	TTL   time.Duration // the longest time to live on record there; zero: none
	Err   error         // why the server could not be asked
}

// Health asks every server whether it votes, in one round trip. As long as a majority
// does, names can be locked.
func (m *Manager) Health(ctx context.Context) ([]NodeHealth, error) {
	if m.isClosing() {
		return nil, ErrClosed
	}
	r := newRound(m.nodes, m.quorum, op{kind: opLearn}, time.Now())
	r.all = true
	r.send(m.all)
	if _, cause := r.await(ctx, m.opt.NodeTimeout); cause != nil {
		return nil, fmt.Errorf("redlock: health: %w", cause)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	health := make([]NodeHealth, len(r.replies))
	for i, answered := range r.replies {
		health[i] = NodeHealth{
			Node: m.nodes[i].server.name(), Votes: answered.answer == yes && answered.young == 0,
			Since: answered.since, Young: answered.young, TTL: answered.ttl, Err: answered.err,
		}
		if answered.answer == unanswered {
			health[i].Err = fmt.Errorf("timeout after %v", m.opt.NodeTimeout)
		}
	}
	return health, nil
}
