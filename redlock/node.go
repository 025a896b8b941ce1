package redlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"retwis/redlock/internal/server"
)

// Errors for requests that a node does not send.
var (
	errNotAsked  = errors.New("not asked")
	errNeverHeld = errors.New("never held")
)

const (
	// maxBatch is the maximum number of ops in a batch: rueidis would send a larger batch on a
	// separate connection.
	maxBatch = 1000
	// An unreachable server is retried after redialMin, then after 1.5 times the previous pause,
	// up to redialMax.
	redialMin = 5 * time.Millisecond
	redialMax = 250 * time.Millisecond
)

// node sends the requests of many goroutines to one server in batches: while one batch is in
// flight, requests for the next batch are collected. A server that does not answer within the node
// timeout, or cannot be reached, gets no new requests until it answers, so it does not slow down the
// other servers; releases for it are kept until the lock has expired.
type node struct {
	server server.Server
	index  int
	voters *voters

	mu    sync.Mutex
	queue []*round
	// since is when the batch in flight was sent, or zero if no batch is in flight.
	since time.Time
	// The server gets no requests before downUntil, because of downErr.
	downUntil time.Time
	downErr   error
	closed    bool
	wake      chan struct{}
	// subscribed means that the listener receives the grants of the server.
	subscribed atomic.Bool

	// Only the worker uses the following fields.
	redial      time.Duration
	quarantined bool // according to the last reply
	identified  bool
	retries     []*round
	ops         []*server.Op
	replies     []server.Reply
}

func newNode(v *voters, index int, s server.Server) *node {
	return &node{voters: v, index: index, server: s, wake: make(chan struct{}, 1)}
}

// send passes a round to the worker, or votes immediately with an error if the server is
// unavailable. It reports whether the server may receive the request.
func (n *node) send(r *round) bool {
	n.mu.Lock()
	if err := n.unavailable(r.start); err != nil && (r.Kind != server.Release || n.closed) {
		n.mu.Unlock()
		r.vote(n.index, server.Reply{Answer: server.Failed, Err: err})
		return false
	}
	n.queue = append(n.queue, r)
	n.mu.Unlock()
	n.signal()
	return true
}

// unavailable returns why no new requests are sent to the server, or nil.
func (n *node) unavailable(now time.Time) error {
	if n.closed {
		return ErrClosed
	}
	if now.Before(n.downUntil) {
		return n.downErr
	}
	if waited := now.Sub(n.since); !n.since.IsZero() && waited > n.voters.opt.NodeTimeout {
		if n.downErr != nil { // the node is reconnecting
			return fmt.Errorf("no answer for %v; before: %w", waited.Round(time.Millisecond), n.downErr)
		}
		return fmt.Errorf("no answer for %v", waited.Round(time.Millisecond))
	}
	return nil
}

// answers reports whether the server is available.
func (n *node) answers(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.unavailable(now) == nil
}

func (n *node) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// work sends batches until the manager closes and no work is left.
func (n *node) work(ctx context.Context) {
	var batch, spare []*round
	retry := time.NewTimer(0)
	retry.Stop()
	defer retry.Stop()
	draining := n.voters.draining
	defer n.rejectAll()
	for {
		select {
		case <-n.wake:
		case <-retry.C:
		case <-draining:
			draining = nil // closed: receive only once
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
		if len(n.retries) > 0 {
			retry.Reset(max(n.redial, redialMin))
		} else if draining == nil && n.idle() {
			return
		}
	}
}

// take returns the next batch: failed releases to retry, then new requests.
func (n *node) take(into []*round) []*round {
	n.mu.Lock()
	defer n.mu.Unlock()
	into = into[:0]
	now := time.Now()
	if !now.Before(n.downUntil) {
		for _, r := range n.retries {
			if now.Before(r.Until) && len(into) < maxBatch {
				into = append(into, r)
			}
		}
		n.retries = n.retries[:0]
	}
	queued := min(len(n.queue), maxBatch-len(into))
	into = append(into, n.queue[:queued]...)
	rest := copy(n.queue, n.queue[queued:])
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

// serve sends one batch and distributes the replies.
func (n *node) serve(ctx context.Context, batch []*round) {
	n.mu.Lock()
	down := n.downErr
	if !n.since.Before(n.downUntil) {
		down = nil
	}
	n.mu.Unlock()
	if down != nil {
		n.answerAll(batch, server.Reply{Answer: server.Failed, Err: down})
		n.batchDone()
		return
	}
	if !n.identified {
		if err := n.identify(ctx); err != nil {
			n.unreachable(err)
			n.answerAll(batch, server.Reply{Answer: server.Failed, Err: err})
			n.batchDone()
			return
		}
	}

	n.ops = n.ops[:0]
	oldest := n.since.Add(-n.voters.opt.NodeTimeout)
	for _, r := range batch {
		if r.Kind != server.Release && r.start.Before(oldest) {
			// The round was decided without this server.
			r.vote(n.index, server.Reply{Answer: server.Failed, Err: errNotAsked})
			continue
		}
		batch[len(n.ops)] = r
		n.ops = append(n.ops, &r.Op)
	}
	batch = batch[:len(n.ops)]
	n.replies = append(n.replies[:0], make([]server.Reply, len(batch))...)
	n.server.Run(ctx, n.ops, n.replies)
	n.batchDone()
	n.pass(batch)
}

// batchDone records that no batch is in flight.
func (n *node) batchDone() {
	n.mu.Lock()
	n.since = time.Time{}
	n.mu.Unlock()
}

// pass gives each round its reply, and keeps failed releases to retry.
func (n *node) pass(batch []*round) {
	var broken error
	for i, r := range batch {
		reply := n.replies[i]
		if reply.Broken {
			broken = reply.Err
			n.retryLater(r)
		}
		n.noteVote(r.Kind, reply)
		r.vote(n.index, reply)
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

// noteVote logs when the server starts or stops voting.
func (n *node) noteVote(asked server.Kind, reply server.Reply) {
	left := reply.Quarantined
	if reply.Err != nil { // avoids errors.As, which allocates
		if refusal := (server.QuarantineError{}); errors.As(reply.Err, &refusal) {
			left = refusal.Left
		}
	}
	switch {
	case left > 0:
		if !n.quarantined {
			n.quarantined = true
			n.log(slog.LevelWarn, "server does not vote", server.QuarantineError{Left: left})
		}
	case reply.Answer != server.Failed && (asked == server.Acquire || asked == server.Boot):
		if n.quarantined {
			n.quarantined = false
			n.log(slog.LevelInfo, "server votes", nil)
		}
	}
}

// retryLater keeps a release for another attempt.
func (n *node) retryLater(r *round) {
	if r.Kind == server.Release && time.Now().Before(r.Until) {
		n.retries = append(n.retries, r)
	}
}

// identify asks the server for its identity, once per connection.
func (n *node) identify(ctx context.Context) error {
	ask := server.Op{Kind: server.Boot, TTL: n.voters.opt.TTL}
	replies := make([]server.Reply, 1)
	n.server.Run(ctx, []*server.Op{&ask}, replies)
	if replies[0].Answer != server.Yes {
		return replies[0].Err
	}
	if err := n.voters.checkIdentity(n.index, replies[0]); err != nil {
		return err
	}
	n.identified = true
	n.noteVote(server.Boot, replies[0])
	return nil
}

// unreachable records an error after which the server gets no requests for a while.
func (n *node) unreachable(err error) {
	if n.redial == 0 {
		n.log(slog.LevelWarn, "server disconnected", err)
		n.voters.stats.disconnected.Add(1)
	}
	n.identified = false
	n.redial = min(max(redialMin, n.redial*3/2), redialMax)
	n.mu.Lock()
	n.downErr, n.downUntil = err, time.Now().Add(n.redial)
	n.mu.Unlock()
}

func (n *node) answerAll(batch []*round, reply server.Reply) {
	for _, r := range batch {
		n.retryLater(r)
		r.vote(n.index, reply)
	}
}

// rejectAll answers the remaining requests after the manager was closed.
func (n *node) rejectAll() {
	n.mu.Lock()
	left := n.queue
	n.queue, n.closed = nil, true
	n.mu.Unlock()
	for _, r := range left {
		r.vote(n.index, server.Reply{Answer: server.Failed, Err: ErrClosed})
	}
}

// listen receives the grants of this manager's waiters on a separate connection, until the manager
// closes.
func (n *node) listen(ctx context.Context) {
	pause := redialMin
	for ctx.Err() == nil {
		begun := time.Now()
		_ = n.server.Listen(ctx, server.Channel(n.voters.id), n.listening, func(value string) {
			n.voters.waiters.granted(n.index, value)
		})
		n.subscribed.Store(false)
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

// listening records that the subscription is active.
func (n *node) listening() {
	n.subscribed.Store(true)
	n.voters.waiters.listening()
}

func (n *node) log(level slog.Level, message string, err error) {
	if n.voters.opt.Logger == nil {
		return
	}
	args := []any{"server", n.server.Name()}
	if err != nil {
		args = append(args, "err", err)
	}
	n.voters.opt.Logger.Log(context.Background(), level, "redlock: "+message, args...)
}

// voters are the servers of a Manager, which decide by majority.
type voters struct {
	opt     Options
	id      string // ID of the Manager
	nodes   []*node
	quorum  int
	all     nodeSet
	records *server.Records
	waiters waiters
	timers  sync.Pool // of the rounds
	stats   counters

	draining chan struct{} // closed when no calls of Lock or TryLock are left
}

// checkIdentity records the identity of server i. It returns an error if another node has the same
// server.
func (v *voters) checkIdentity(i int, reply server.Reply) error {
	if twin := v.records.Observe(i, reply); twin >= 0 {
		return &duplicateError{v.nodes[twin].server.Name(), v.nodes[i].server.Name()}
	}
	return nil
}

// duplicateError means that two nodes are the same server.
type duplicateError struct{ first, second string }

func (e *duplicateError) Error() string {
	return fmt.Sprintf("nodes are the same server twice: %s and %s", e.first, e.second)
}
