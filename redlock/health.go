package redlock

import (
	"context"
	"fmt"
	"time"

	"retwis/redlock/internal/server"
)

// NodeHealth is the state of one server.
type NodeHealth struct {
	Node        string        // the address of the server
	Votes       bool          // it answers and gives locks
	Since       time.Time     // since when it votes, by its clock; zero: unknown
	Quarantined time.Duration // for how long it does not vote, because it may have forgotten locks
	TTL         time.Duration // the longest TTL on record there; zero: none
	Err         error         // why the server could not be asked
}

// Health asks every server whether it votes, in one round trip. As long as a
// majority does, names can be locked.
func (m *Manager) Health(ctx context.Context) ([]NodeHealth, error) {
	if m.isClosing() {
		return nil, ErrClosed
	}
	r := newRound(m.voters.nodes, m.voters.quorum, server.Op{Kind: server.Boot}, time.Now())
	r.all = true
	r.send(m.voters.all)
	if _, cause := r.await(ctx, m.opt.NodeTimeout); cause != nil {
		return nil, fmt.Errorf("redlock: health: %w", cause)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	health := make([]NodeHealth, len(r.replies))
	for i, answered := range r.replies {
		health[i] = NodeHealth{
			Node: m.voters.nodes[i].server.Name(), Votes: answered.Answer == server.Yes && answered.Quarantined == 0,
			Since: answered.Since, Quarantined: answered.Quarantined, TTL: answered.TTL, Err: answered.Err,
		}
		if answered.Answer == server.Unanswered {
			health[i].Err = fmt.Errorf("timeout after %v", m.opt.NodeTimeout)
		}
	}
	return health, nil
}

// Stats are figures for metrics: counts since the Manager was made, and how many
// servers vote.
type Stats struct {
	Acquired     uint64 // locks that the servers gave
	Handed       uint64 // locks that were handed over within the process
	Extended     uint64
	Held         uint64 // attempts that failed with ErrHeld
	NoQuorum     uint64 // attempts that failed with ErrNoQuorum
	Lost         uint64 // locks that were lost while they were held
	Disconnected uint64 // times that a server disconnected
	// Voting is how many servers are known to answer and vote now. With fewer
	// than Quorum nothing can be locked.
	Voting int
	// Waited is the total time that callers waited for locks that the servers gave.
	Waited time.Duration
}

// Stats returns the counts so far.
func (m *Manager) Stats() Stats {
	c := &m.voters.stats
	voting, now := 0, time.Now()
	for _, n := range m.voters.nodes {
		if n.voting.Load() && n.answers(now) {
			voting++
		}
	}
	return Stats{
		Voting:       voting,
		Acquired:     c.acquired.Load(),
		Handed:       c.handed.Load(),
		Extended:     c.extended.Load(),
		Held:         c.held.Load(),
		NoQuorum:     c.noQuorum.Load(),
		Lost:         c.lost.Load(),
		Disconnected: c.disconnected.Load(),
		Waited:       time.Duration(c.wait.Load()),
	}
}
