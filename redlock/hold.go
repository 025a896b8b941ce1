package redlock

import (
	"fmt"
	"os"
	"sync"
	"time"

	"retwis/redlock/internal/server"
)

const (
	// maxTokens is the maximum number of fencing tokens, and so of turns, per hold.
	maxTokens = 32
	// A hold is shared for minShare, plus shareRounds times as long as the acquisition took, but
	// at most an eighth of its TTL.
	minShare    = 8 * time.Millisecond
	shareRounds = 4
	// checkAfter is the maximum age of the servers' last reply when a turn starts.
	checkAfter = 5 * time.Millisecond
)

// hold is a name that this process holds on the servers, under one value. Goroutines take turns on
// a hold without asking the servers; each turn is a Lock.
//
// A hold is shared only briefly and then released for other processes. So a hold need not be
// extended between two turns, and a process need not know whether other processes wait.
type hold struct {
	m       *Manager
	name    string
	value   string
	servers nodeSet // the servers that may have granted the hold
	ttl     time.Duration
	queued  bool      // acquired by waiting: the value may still be in the queue of a server
	share   time.Time // no further turns start after this time
	token   uint64    // the fencing token of the first turn, or 0
	tokens  int       // the number of tokens

	mu    sync.Mutex // also guards the turns
	until time.Time
	turn  *Lock // the current or last turn
	turns int
	// answered is when a majority last confirmed the hold; checking means that another reply is
	// pending.
	answered time.Time
	checking bool
	failed   string // why the last extension failed; empty if it succeeded
	gone     bool   // the servers have lost the hold
	owner    string // as recorded on the servers
	since    time.Time
	// timer fires when the turn expires.
	timer *time.Timer
}

// op returns an op for the servers that hold the name.
func (h *hold) op(kind server.Kind) server.Op {
	return server.Op{Kind: kind, Name: h.name, Value: h.value, TTL: h.ttl, Queue: kind == server.Release && h.queued}
}

// canShare reports whether another turn with this TTL can start.
func (h *hold) canShare(ttl time.Duration, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ttl == ttl && now.Before(h.share) && (h.token == 0 || h.turns < h.tokens) && h.lastsLocked(now)
}

// lasts reports whether enough time is left for a turn.
func (h *hold) lasts(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lastsLocked(now)
}

func (h *hold) lastsLocked(now time.Time) bool {
	return !h.gone && validFor(h.until, now) > h.ttl/2
}

// validFor returns the time left according to both clocks: the monotonic clock stops while the
// machine is suspended, and the wall clock may be set back.
func validFor(until, now time.Time) time.Duration {
	return min(until.Sub(now), until.Round(0).Sub(now.Round(0)))
}

// begin starts a turn.
func (h *hold) begin(l *Lock, owner string) {
	now := time.Now()
	h.mu.Lock()
	if h.token != 0 {
		l.token = h.token + uint64(h.turns)
	}
	h.turn = l
	h.turns++
	if l.maxHold > 0 {
		l.limit = now.Add(l.maxHold)
	}
	if h.timer == nil {
		h.timer = time.AfterFunc(l.nextCheck(now), h.expire)
	} else {
		h.timer.Reset(l.nextCheck(now))
	}
	check := !h.checking && now.Sub(h.answered) > checkAfter
	h.checking = h.checking || check
	record, gone := owner != h.owner, owner == ""
	if record {
		h.owner, h.since = owner, now
	}
	h.mu.Unlock()
	if check {
		h.check()
	}
	if record {
		h.recordOwner(gone)
	}
}

// expire ends a turn whose time is over, and lets the next goroutine ask the servers.
func (h *hold) expire() {
	h.mu.Lock()
	l, now := h.turn, time.Now()
	if l.heldLocked(now) {
		h.timer.Reset(l.nextCheck(now))
		h.mu.Unlock()
		return
	}
	if l.ctx != nil {
		l.stop(l.expiredError())
	}
	h.mu.Unlock()
	h.m.localQueues.drop(l)
}

// check extends the hold in the background, so that a turn soon notices if the servers have lost
// the hold.
func (h *hold) check() {
	r := newRound(h.m.voters.nodes, h.m.voters.quorum, h.op(server.Extend), time.Now())
	r.onDecided = func(won bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.checking = false
		_, refused, _ := r.tally()
		switch {
		case won:
			h.prolong(r)
		case refused > len(r.nodes)-r.need:
			h.lose(h.turn.lostError("a majority of the servers had lost it"))
		}
	}
	r.send(h.servers)
}

// prolong records that a round has extended the hold.
func (h *hold) prolong(r *round) {
	now := time.Now()
	if l := h.turn; l.over == nil && !l.heldLocked(now) { // an expired lock stays expired
		l.stop(l.expiredError())
	}
	h.answered, h.failed = now, ""
	if until := h.m.voters.validUntil(r); until.After(h.until) {
		h.until = until
	}
	if h.owner != "" {
		h.recordOwner(false)
	}
}

// lose records that the servers have lost the hold.
func (h *hold) lose(why error) {
	h.gone = true
	h.turn.stop(why)
}

// recordOwner records the holder on the servers, or removes the record if gone is set. The record
// expires with the lock. recordOwner does not wait for the servers.
func (h *hold) recordOwner(gone bool) {
	host, _ := os.Hostname()
	record := h.op(server.RecordOwner)
	record.Owner = &server.Owner{Host: host, PID: os.Getpid(), Since: h.since, Text: h.owner, Gone: gone}
	h.m.voters.ask(record, h.servers)
}

// heldError returns the error for other callers of this process.
func (h *hold) heldError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Errorf("redlock: %q: %w: by this process for another %v",
		h.name, ErrHeld, max(0, time.Until(h.until)).Round(time.Millisecond))
}

// release releases a hold on the servers. If allowGap is set, it may leave the name free for a
// moment, for clients of other libraries.
func (m *Manager) release(h *hold, allowGap bool) *round {
	now, freed := time.Now(), h.op(server.Release)
	h.mu.Lock()
	h.timer.Stop()
	contended, owned := h.queued || h.turns > 1, h.owner != ""
	h.mu.Unlock()
	if allowGap && (contended || m.localQueues.waiting(h.name) > 0) {
		freed.Free, freed.Every = m.gaps.next(h.name, now)
	}
	r := m.voters.release(freed, h.servers)
	if owned {
		h.recordOwner(true)
	}
	if freed.Free > 0 {
		m.hints.note(h.name, now) // so that no goroutine of this process takes the free name
		m.endGap(freed.Free, r.Op, h.servers)
	}
	return r
}
