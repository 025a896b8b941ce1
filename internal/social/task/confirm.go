package task

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// Work is finished when it can no longer be lost, not when it is written: a master
// that dies takes with it what its replicas did not have. So a member stays in its
// sorted set until two things are certain.
//
//   - The masters are still the processes that they were before the first
//     write. After a failover, or a restart, a part may be gone: the work is
//     repeated from its beginning.
//   - A replica of each master has acknowledged an offset that the master
//     reached after the last write. WAIT reports this too, but only for the
//     writes of one connection, and it blocks the commands that follow on that
//     connection. INFO reports it for every connection, and for all work at
//     once.
//
// Without replicas the second condition always holds.

const (
	// confirmEvery is how often replicas are asked for, while work waits for
	// them; they acknowledge once a second.
	confirmEvery = 100 * time.Millisecond
	// renewEvery is how often the time of each member of this process is renewed.
	renewEvery = 2 * time.Second
	// StaleAfter is how long work stays claimed after its last renewal. Then its
	// process counts as dead. A process whose clock is late by more than that is
	// taken for dead too, and its work is done once more.
	StaleAfter = 8 * time.Second
	// replicaTimeout bounds the wait for a replica that
	// acknowledges nothing, and how long a replica that disconnected still
	// counts.
	replicaTimeout = 5 * time.Minute
	// maxUnconfirmed bounds what waits for replicas. The rest is left to a later
	// Stale.
	maxUnconfirmed = 1 << 13
	// maxBatch bounds the members that one command changes.
	maxBatch = 500
)

// written is work that is written and not confirmed.
type written struct {
	Work
	since   time.Time
	offsets map[string]int64 // of each master, after the last write
	once    sync.Once
	looked  chan struct{} // closed after the first look at the replicas: callers of Finish wait no longer
	dropped chan struct{} // closed when it is confirmed, or left to Stale
}

func (w *written) release() { w.once.Do(func() { close(w.looked) }) }

// take adds work and all that was submitted meanwhile.
func (l *Ledger) take(w *written) {
	for {
		if len(l.waiting) < maxUnconfirmed {
			l.waiting = append(l.waiting, w)
		} else {
			l.log.Warn("too much waits for replicas, some to be repeated later", l.key, w.Member)
			l.drop(w)
		}
		select {
		case w = <-l.unconfirmed:
		default:
			return
		}
	}
}

func (l *Ledger) drop(w *written) {
	l.claims.remove(w.Member)
	w.release()
	close(w.dropped)
}

// look asks the masters for their state and returns the connection on which to
// change the set. Where there is one master it is the same connection: a
// master that takes over in between does not get the change.
func (l *Ledger) look(ctx context.Context) (masters, rueidis.CoreClient, error) {
	if l.observer.cluster {
		now, err := l.observer.observe(ctx)
		return now, l.client, err
	}
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	if l.conn != nil && l.conn.address != l.address() {
		l.hangUp()
	}
	if l.conn == nil {
		client, _ := l.client.Dedicate()
		l.conn = &pinned{address: l.address(), client: client}
	}
	var err error
	if l.conn.process.run == "" {
		l.conn.process, err = identify(ctx, l.conn.client)
	}
	var m master
	if err == nil {
		m, err = l.conn.process.observe(ctx, l.conn.client)
	}
	if err == nil && m.id == "" {
		err = errors.New("the server is a replica")
	}
	now, err := l.observer.record([]master{m}, err)
	if err != nil {
		l.hangUp()
		return now, nil, err
	}
	return now, l.conn.client, nil
}

// pinned is a connection to a master that is kept, because as long as it lives
// it leads to the same server process.
type pinned struct {
	address string
	process process
	client  rueidis.DedicatedClient
}

// address is that of the master to which the client leads at present.
func (l *Ledger) address() string {
	for address := range l.client.Nodes() {
		return address
	}
	return ""
}

// hangUp closes the connection. One that is given back gets UNSUBSCRIBE and PING, and
// rueidis panics where the server refuses PING: one that cannot write its snapshot, or
// has lost its master.
func (l *Ledger) hangUp() {
	if l.conn != nil {
		l.conn.client.Close()
		l.conn = nil
	}
}

// round looks at the masters once and finishes all that is safe.
func (l *Ledger) round(ctx context.Context) {
	now, conn, err := l.look(ctx)
	if err != nil {
		if ctx.Err() == nil && !l.failing {
			l.log.Warn("cannot confirm what was written, trying again", "waiting", len(l.waiting), "error", err)
		}
		l.failing = true
		for _, w := range l.waiting {
			w.release() // no caller waits for a server that is down
		}
		return
	}
	l.failing = false
	l.noteReplicas(now)
	var confirmed []*written
	rest := l.waiting[:0]
	for _, w := range l.waiting {
		switch {
		case w.Masters != now.identity:
			l.repeat(w)
		case !l.isConfirmed(w, now):
			w.release()
			rest = append(rest, w)
		case w.watched:
			l.drop(w)
		default:
			confirmed = append(confirmed, w)
		}
	}
	clear(l.waiting[len(rest):])
	l.waiting = rest
	for some := range slices.Chunk(confirmed, maxBatch) {
		l.finish(ctx, conn, some)
	}
}

// finish removes what is confirmed from the set; on an error it waits for the next
// round.
func (l *Ledger) finish(ctx context.Context, conn rueidis.CoreClient, some []*written) {
	members := make([]string, len(some))
	for i, w := range some {
		members[i] = w.Member
	}
	if err := l.remove(ctx, conn, members); err != nil {
		l.hangUp()
		l.waiting = append(l.waiting, some...)
		for _, w := range some {
			w.release()
		}
		return
	}
	for _, w := range some {
		l.drop(w)
	}
}

// noteReplicas remembers where masters have replicas. A master that has started again at
// the same address inherits that: its replica may be about to replace it.
func (l *Ledger) noteReplicas(now masters) {
	for _, m := range now.all {
		if m.replicas > 0 {
			l.replicaSeen[m.address] = time.Now()
		}
	}
	maps.DeleteFunc(l.replicaSeen, func(_ string, at time.Time) bool { return time.Since(at) > replicaTimeout })
}

// isConfirmed reports whether a replica of each master that has one has all of it. The first look records the offset to be reached.
func (l *Ledger) isConfirmed(w *written, now masters) bool {
	if w.offsets == nil {
		w.offsets = make(map[string]int64, len(now.all))
		for _, m := range now.all {
			w.offsets[m.id] = m.offset
		}
	}
	for _, m := range now.all {
		if _, ok := l.replicaSeen[m.address]; !ok || m.replicas > 0 && m.acked >= w.offsets[m.id] {
			continue
		}
		if time.Since(w.since) < replicaTimeout {
			return false
		}
		l.log.Warn("a replica does not confirm what was written, which counts as done without it",
			l.key, w.Member, "waited", replicaTimeout.String())
	}
	return true
}

// repeat repeats work from its beginning, because a master has restarted or failed
// over.
func (l *Ledger) repeat(w *written) {
	l.log.Warn("repeated, as a server has restarted or failed over", l.key, w.Member)
	w.Repeat()
	l.drop(w)
}
