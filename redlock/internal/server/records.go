package server

import (
	"sync"
	"time"
)

// Records holds the last known runs of a manager's servers, and the TTLs in use on the servers.
type Records struct {
	mu   sync.Mutex
	ttl  time.Duration // the TTL of this manager
	runs []string      // by server
	ttls []record      // by server
	// restarts counts the quarantined runs seen.
	restarts uint64
}

// record is the longest TTL in use that a server reported, and the time of the report.
type record struct {
	ttl time.Duration
	at  time.Time
}

// NewRecords returns the records of a manager with a TTL.
func NewRecords(servers int, ttl time.Duration) *Records {
	return &Records{ttl: ttl, runs: make([]string, servers), ttls: make([]record, servers)}
}

// Observe records a reply of server i. If another node has the same server, Observe returns the
// index of that node, and otherwise -1.
func (rs *Records) Observe(i int, reply Reply) (twin int) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	run := reply.Value
	for j, other := range rs.runs {
		if j != i && other == run && run != "" {
			return j
		}
	}
	if rs.runs[i] != run && reply.Quarantined > 0 {
		rs.restarts++
	}
	rs.runs[i], rs.ttls[i] = run, record{reply.TTL, time.Now()}
	return -1
}

// Longest returns the longest TTL that is known to be in use: a server that lost its keys must not
// vote for that long. It ignores reports as old as the records that boot.lua removes.
func (rs *Records) Longest() time.Duration {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	longest := rs.ttl
	for _, r := range rs.ttls {
		if r.ttl > longest && time.Since(r.at) <= 2*r.ttl+time.Minute {
			longest = r.ttl
		}
	}
	return longest
}

// round returns a number that changes when a server was restarted. All servers must then be asked
// again for the TTLs in use, because the restarted server may have lost its record.
func (rs *Records) round() uint64 {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.restarts
}
