package server

import (
	"sync"
	"time"
)

// Records holds what a manager knows about the runs of its servers and the TTLs in use on them.
type Records struct {
	mu   sync.Mutex
	own  time.Duration // the TTL of this manager
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

// NewRecords returns the records of a manager that uses TTL own.
func NewRecords(servers int, own time.Duration) *Records {
	return &Records{own: own, runs: make([]string, servers), ttls: make([]record, servers)}
}

// Observe records a reply of server i. It returns the index of the node that is the same server,
// or -1.
func (rs *Records) Observe(i int, answered Reply) (twin int) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	run := answered.Value
	for j, other := range rs.runs {
		if j != i && other == run && run != "" {
			return j
		}
	}
	if rs.runs[i] != run && answered.Quarantined > 0 {
		rs.restarts++
	}
	rs.runs[i], rs.ttls[i] = run, record{answered.TTL, time.Now()}
	return -1
}

// Longest returns the longest known TTL in use: a server that lost its keys must not vote for
// that long. An old report is dropped when boot.lua would drop it.
func (rs *Records) Longest() time.Duration {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	most := rs.own
	for _, r := range rs.ttls {
		if r.ttl > most && time.Since(r.at) <= 2*r.ttl+time.Minute {
			most = r.ttl
		}
	}
	return most
}

// round changes when a server was restarted: then all servers must be asked again for the TTLs in
// use, because that server may have lost its record.
func (rs *Records) round() uint64 {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.restarts
}
