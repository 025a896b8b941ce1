package redlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// What a node answers without asking its server.
var (
	errNotAsked  = errors.New("not asked")
	errNeverHeld = errors.New("never held")
	errNotLock   = errors.New("the key holds another type")
)

const (
	// maxBatch is how many ops go out at once: fewer than what rueidis would
	// give a connection of its own.
	maxBatch = 1000
	// A server that cannot be reached is tried again after redialMin, then
	// half as much later each time, up to redialMax.
	redialMin = 5 * time.Millisecond
	redialMax = 250 * time.Millisecond
)

// node sends what many goroutines ask of one server in batches: while one is on
// its way the next one collects. A server that does not answer within the node
// timeout, or cannot be reached, is asked nothing new until it is back, so that
// it costs the others no time; what has to be released there is kept until it
// has expired.
type node struct {
	server server
	index  int
	m      *Manager

	mu    sync.Mutex
	queue []*round
	// since is when the batch on its way was sent, zero when there is none.
	since time.Time
	// The server cannot be reached before downUntil, because of downErr.
	downUntil time.Time
	downErr   error
	closed    bool
	wake      chan struct{}
	// heard says that the word of releases comes through.
	heard atomic.Bool
	// voting says that the server answered when it was last asked, and votes.
	voting atomic.Bool

	// These belong to the worker.
	redial  time.Duration
	young   bool // it was quarantined when it was last asked
	learned bool
	owed    []*round
	ops     []*op
	replies []reply
}

func newNode(m *Manager, index int, s server) *node {
	return &node{m: m, index: index, server: s, wake: make(chan struct{}, 1)}
}

// send hands a round to the worker, or answers it at once where the server is
// known not to answer in time. It returns whether the server may get to see it.
func (n *node) send(r *round) bool {
	n.mu.Lock()
	if err := n.unfit(r.start); err != nil && (r.kind != opRelease || n.closed) {
		n.mu.Unlock()
		r.vote(n.index, reply{answer: failed, err: err})
		return false
	}
	n.queue = append(n.queue, r)
	n.mu.Unlock()
	n.rouse()
	return true
}

// unfit returns why nothing new is sent at present.
func (n *node) unfit(now time.Time) error {
	if n.closed {
		return ErrClosed
	}
	if now.Before(n.downUntil) {
		return n.downErr
	}
	if waited := now.Sub(n.since); !n.since.IsZero() && waited > n.m.opt.NodeTimeout {
		return fmt.Errorf("no answer for %v", waited.Round(time.Millisecond))
	}
	return nil
}

// answers says whether the server answers, as far as is known, and is not done.
func (n *node) answers(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.unfit(now) == nil
}

func (n *node) rouse() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// work sends batches until the manager closes and nothing is left to do.
func (n *node) work(ctx context.Context) {
	var batch, spare []*round
	retry := time.NewTimer(0)
	retry.Stop()
	defer retry.Stop()
	draining := n.m.draining
	defer n.abandon()
	for {
		select {
		case <-n.wake:
		case <-retry.C:
		case <-draining:
			draining = nil // once is enough
		case <-ctx.Done():
			return
		}
		for {
			batch, spare = n.take(spare), batch
			if len(batch) == 0 {
				break
			}
			n.serve(ctx, batch)
			clear(batch)
		}
		if len(n.owed) > 0 {
			retry.Reset(max(n.redial, redialMin))
		} else if draining == nil && n.idle() {
			return
		}
	}
}

// take returns what there is to do: releases that failed before, then what has
// been asked since.
func (n *node) take(into []*round) []*round {
	n.mu.Lock()
	defer n.mu.Unlock()
	into = into[:0]
	now := time.Now()
	if !now.Before(n.downUntil) {
		for _, r := range n.owed {
			if now.Before(r.until) && len(into) < maxBatch {
				into = append(into, r)
			}
		}
		n.owed = n.owed[:0]
	}
	taken := min(len(n.queue), maxBatch-len(into))
	into = append(into, n.queue[:taken]...)
	rest := copy(n.queue, n.queue[taken:])
	clear(n.queue[rest:])
	n.queue = n.queue[:rest]
	if len(into) > 0 {
		n.since = now
	}
	return into
}

func (n *node) idle() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.queue) == 0
}

// serve sends one batch and passes the replies on.
func (n *node) serve(ctx context.Context, batch []*round) {
	n.mu.Lock()
	down := n.downErr
	if !n.since.Before(n.downUntil) {
		down = nil
	}
	n.mu.Unlock()
	if down != nil {
		n.answerAll(batch, reply{answer: failed, err: down})
		n.settled()
		return
	}
	if !n.learned {
		if err := n.learn(ctx); err != nil {
			n.unreachable(err)
			n.answerAll(batch, reply{answer: failed, err: err})
			n.settled()
			return
		}
	}

	n.ops = n.ops[:0]
	late := n.since.Add(-n.m.opt.NodeTimeout)
	for _, r := range batch {
		if r.kind != opRelease && r.start.Before(late) {
			// Decided without this server long ago: do not trouble it.
			r.vote(n.index, reply{answer: failed, err: errNotAsked})
			continue
		}
		batch[len(n.ops)] = r
		n.ops = append(n.ops, &r.op)
	}
	batch = batch[:len(n.ops)]
	n.replies = append(n.replies[:0], make([]reply, len(batch))...)
	n.server.run(ctx, n.ops, n.replies)
	n.settled()
	n.pass(batch)
}

// settled notes that no batch is on its way.
func (n *node) settled() {
	n.mu.Lock()
	n.since = time.Time{}
	n.mu.Unlock()
}

// pass gives each round its reply, and keeps the releases that have to be sent
// again.
func (n *node) pass(batch []*round) {
	var broken error
	for i, r := range batch {
		answered := n.replies[i]
		if answered.broken {
			broken = answered.err
			n.owe(r)
		}
		n.noteVote(r.kind, answered)
		r.vote(n.index, answered)
	}
	switch {
	case broken != nil:
		n.unreachable(broken)
	case n.redial != 0:
		n.redial = 0
		n.mu.Lock()
		n.downErr, n.downUntil = nil, time.Time{}
		n.mu.Unlock()
		n.log(slog.LevelInfo, "server is back", nil)
	}
}

// noteVote notes whether the server votes, where a reply says so.
func (n *node) noteVote(asked kind, answered reply) {
	young := answered.young
	if quarantined := (youngError{}); errors.As(answered.err, &quarantined) {
		young = quarantined.left
	}
	switch {
	case answered.broken:
		n.voting.Store(false)
	case young > 0:
		n.voting.Store(false)
		if !n.young {
			n.young = true
			n.log(slog.LevelWarn, "server does not vote", youngError{young})
		}
	case answered.answer != failed && (asked == opAcquire || asked == opLearn):
		n.voting.Store(true)
		if n.young {
			n.young = false
			n.log(slog.LevelInfo, "server votes", nil)
		}
	}
}

// owe keeps a release for another try.
func (n *node) owe(r *round) {
	if r.kind == opRelease && time.Now().Before(r.until) {
		n.owed = append(n.owed, r)
	}
}

// learn makes the server known to the manager, once a connection.
func (n *node) learn(ctx context.Context) error {
	ask := op{kind: opLearn, ttl: n.m.opt.TTL}
	told := make([]reply, 1)
	n.server.run(ctx, []*op{&ask}, told)
	if told[0].answer != yes {
		return told[0].err
	}
	if err := n.m.meet(n.index, told[0]); err != nil {
		return err
	}
	n.learned = true
	n.noteVote(opLearn, told[0])
	return nil
}

// unreachable notes that the server is not to be asked for a while.
func (n *node) unreachable(err error) {
	n.voting.Store(false)
	if n.redial == 0 {
		n.log(slog.LevelWarn, "server is away", err)
		n.m.stats.away.Add(1)
	}
	n.learned = false
	n.redial = min(max(redialMin, n.redial*3/2), redialMax)
	n.mu.Lock()
	n.downErr, n.downUntil = err, time.Now().Add(n.redial)
	n.mu.Unlock()
}

func (n *node) answerAll(batch []*round, answered reply) {
	for _, r := range batch {
		n.owe(r)
		r.vote(n.index, answered)
	}
}

// abandon answers everything that is left when the manager has closed.
func (n *node) abandon() {
	n.mu.Lock()
	left := n.queue
	n.queue, n.closed = nil, true
	n.mu.Unlock()
	for _, r := range left {
		r.vote(n.index, reply{answer: failed, err: ErrClosed})
	}
}

// listen hears which waiters of this manager have got their lock, on a
// connection of its own, until the manager closes.
func (n *node) listen(ctx context.Context) {
	pause := redialMin
	for ctx.Err() == nil {
		begun := time.Now()
		_ = n.server.listen(ctx, channel(n.m.id), n.listening, func(message string, fit bool) {
			value, attempt := parseGrant(message)
			n.m.told(n.index, value, attempt, fit)
		})
		n.heard.Store(false)
		if time.Since(begun) > redialMax {
			pause = redialMin
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(pause*2, redialMax)
	}
}

// listening notes that the word of releases comes through.
func (n *node) listening() {
	n.heard.Store(true)
	n.m.waiting.listening()
}

func (n *node) log(level slog.Level, message string, err error) {
	if n.m.opt.Logger == nil {
		return
	}
	args := []any{"server", n.server.name()}
	if err != nil {
		args = append(args, "err", err)
	}
	n.m.opt.Logger.Log(context.Background(), level, "redlock: "+message, args...)
}
