package redlock

import (
	"errors"
	"sync/atomic"
	"time"
)

// Stats are for metrics: counts since the Manager was made, and how many servers vote.
type Stats struct {
	Acquired uint64 // locks that the servers gave
	Handed   uint64 // locks that were handed on within the process
	Extended uint64
	Held     uint64 // attempts that ended with ErrHeld
	NoQuorum uint64 // attempts that ended with ErrNoQuorum
	Lost     uint64 // locks that were lost while they were held
	Away     uint64 // how often a server went away
	// Voting is how many servers answer now, and vote, as far as is known. With
	// fewer than Quorum nothing can be locked.
	Voting int
	// Waited is how long those waited, in all, who got a lock of the servers.
	Waited time.Duration
}

// Stats returns the counts so far.
func (m *Manager) Stats() Stats {
	c := &m.stats
	voting, now := 0, time.Now()
	for _, n := range m.nodes {
		if n.voting.Load() && n.answers(now) {
			voting++
		}
	}
	return Stats{
		Voting:   voting,
		Acquired: c.acquired.Load(),
		Handed:   c.handed.Load(),
		Extended: c.extended.Load(),
		Held:     c.held.Load(),
		NoQuorum: c.noQuorum.Load(),
		Lost:     c.lost.Load(),
		Away:     c.away.Load(),
		Waited:   time.Duration(c.wait.Load()),
	}
}

type counters struct {
	acquired, handed, extended, held, noQuorum, lost, away atomic.Uint64
	wait                                                   atomic.Int64
}

func (c *counters) waited(d time.Duration) { c.wait.Add(int64(d)) }

// refused counts an attempt that was given up.
func (c *counters) refused(err error) {
	switch {
	case errors.Is(err, ErrHeld):
		c.held.Add(1)
	case errors.Is(err, ErrNoQuorum):
		c.noQuorum.Add(1)
	}
}
