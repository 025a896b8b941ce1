package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"retwis/redlock/internal/server"
)

// round sends the same op to every server. It is decided as soon as a majority agrees or can no
// longer agree. Later replies still reach vote.
type round struct {
	server.Op
	start time.Time
	need  int
	nodes []*node
	// all waits for every reply, not only for a majority; untilMajority does so unless a majority
	// agrees first.
	all, untilMajority bool
	// then, if not nil, is called once when the round is decided.
	then func(won bool)

	mu      sync.Mutex
	replies []server.Reply
	yes     int
	others  int // replies that are not yes
	over    bool
	won     bool
	end     time.Time
	sent    nodeSet
	decided chan struct{}
	// raise is called for servers that gave a smaller token than resolved, including servers that
	// answer later.
	resolved uint64
	raise    func(i int)
}

// nodeSet is a set of servers by index.
type nodeSet uint64

func (s nodeSet) has(i int) bool { return s&(1<<i) != 0 }

func (s nodeSet) len() int { return bits.OnesCount64(uint64(s)) }

// maxNodes is the capacity of a nodeSet.
const maxNodes = 64

func newRound(nodes []*node, need int, o server.Op, now time.Time) *round {
	return &round{
		Op: o, need: need, nodes: nodes, start: now,
		replies: make([]server.Reply, len(nodes)),
		decided: make(chan struct{}, 1),
	}
}

// send sends the op to a set of servers.
func (r *round) send(to nodeSet) {
	for i, n := range r.nodes {
		if !to.has(i) {
			r.vote(i, r.never())
			continue
		}
		if n.send(r) {
			r.mu.Lock()
			r.sent |= 1 << i
			r.mu.Unlock()
		}
	}
}

// never returns the reply on behalf of a server that is not asked: it cannot hold what it was
// never asked to give.
func (r *round) never() server.Reply {
	if r.Kind == server.Extend || r.Kind == server.Release {
		return server.Reply{Answer: server.No, Err: errNeverHeld}
	}
	return server.Reply{Answer: server.Failed, Err: errNotAsked}
}

// vote records the reply of server i. Only the first one counts.
func (r *round) vote(i int, answered server.Reply) {
	r.mu.Lock()
	if r.replies[i].Answer != server.Unanswered {
		r.mu.Unlock()
		return
	}
	r.replies[i] = answered
	if answered.Answer == server.Yes {
		r.yes++
	} else {
		r.others++
	}
	over := false
	switch {
	case r.over:
	case r.yes+r.others == len(r.nodes):
		over = true
	case r.all:
	case r.untilMajority:
		over = r.yes >= r.need
	default:
		over = r.yes >= r.need || r.others > len(r.nodes)-r.need
	}
	if over {
		r.over, r.won, r.end = true, r.yes >= r.need, time.Now()
	}
	raise := r.raise
	if answered.Answer == server.Yes && answered.Token >= r.resolved {
		raise = nil
	}
	r.mu.Unlock()
	if raise != nil {
		raise(i)
	}
	if over {
		if r.then != nil {
			r.then(r.won)
		}
		r.decided <- struct{}{}
	}
}

// await reports whether a majority agreed within the timeout, or returns the cause if the context
// ended. Servers may still answer later.
func (r *round) await(ctx context.Context, timeout time.Duration) (bool, error) {
	select {
	case <-r.decided: // saves the timer
		return r.won, nil
	default:
	}
	timers := &r.nodes[0].voters.timers
	timer := timers.Get().(*time.Timer)
	timer.Reset(timeout)
	defer func() {
		timer.Stop()
		timers.Put(timer)
	}()
	select {
	case <-r.decided:
		return r.won, nil
	case <-timer.C:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.yes >= r.need, nil
}

// tally returns how many servers agreed, how many refused, and how many may have executed the op
// without confirming it.
func (r *round) tally() (agreed, refused, unsure int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, answered := range r.replies {
		switch {
		case answered.Answer == server.Yes:
			agreed++
		case answered.Answer == server.No:
			refused++
		}
		if answered.Maybe || answered.Answer == server.Unanswered && r.sent.has(i) {
			unsure++
		}
	}
	return agreed, refused, unsure
}

// maxToken returns the greatest token, how many servers gave it, and whether some servers had a
// counter and others did not: those have lost it, or were not reached when an earlier token was
// given.
func (r *round) maxToken() (token uint64, agreed int, mixed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fresh, counted bool
	for _, answered := range r.replies {
		if answered.Answer != server.Yes {
			continue
		}
		fresh, counted = fresh || answered.Fresh, counted || !answered.Fresh
		switch {
		case answered.Token > token:
			token, agreed = answered.Token, 1
		case answered.Token == token:
			agreed++
		}
	}
	return token, agreed, fresh && counted
}

// withAnswer returns the servers that gave this answer.
func (r *round) withAnswer(what server.Answer) nodeSet {
	r.mu.Lock()
	defer r.mu.Unlock()
	var set nodeSet
	for i, answered := range r.replies {
		if answered.Answer == what {
			set |= 1 << i
		}
	}
	return set
}

// hasLeader reports whether another client has the lock on a majority of the
// servers.
func (r *round) hasLeader() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	votes := make(map[string]int, 1)
	for _, answered := range r.replies {
		if answered.Answer == server.No && answered.Value != "" {
			votes[answered.Value]++
			if votes[answered.Value] >= r.need {
				return true
			}
		}
	}
	return false
}

// foreign reports whether a lock of another library holds the name on some server.
func (r *round) foreign() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, answered := range r.replies {
		if answered.Foreign || answered.Answer == server.No && isForeign(answered.Value) {
			return true
		}
	}
	return false
}

// isForeign reports whether another library created a value.
func isForeign(value string) bool { return value != "" && !server.IsValue(value) }

// duration returns how long the decision took.
func (r *round) duration() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end.IsZero() {
		return time.Since(r.start)
	}
	return r.end.Sub(r.start)
}

// raiseBelow calls raise for every server that gave no token or a smaller one, now or later.
func (r *round) raiseBelow(token uint64, raise func(i int)) {
	r.mu.Lock()
	r.resolved, r.raise = token, raise
	var late []int
	for i, answered := range r.replies {
		if answered.Answer != server.Unanswered && (answered.Answer != server.Yes || answered.Token < token) {
			late = append(late, i)
		}
	}
	r.mu.Unlock()
	for _, i := range late {
		raise(i)
	}
}

// sentTo returns the servers that may have received the op.
func (r *round) sentTo() nodeSet {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// freeIn returns how long it takes until the locks have expired on enough servers for a majority,
// or -1 if that is unknown.
func (r *round) freeIn() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := make([]time.Duration, 0, len(r.replies))
	for _, answered := range r.replies {
		if answered.Answer == server.No || answered.Answer == server.Failed && answered.TTL > 0 {
			known = append(known, answered.TTL)
		}
	}
	missing := r.need - r.yes
	if missing < 1 || missing > len(known) {
		return -1
	}
	return nth(known, missing-1)
}

// nth returns the n-th smallest duration, counting from 0.
func nth(durations []time.Duration, n int) time.Duration {
	slices.Sort(durations)
	return durations[n]
}

// agreed returns how many servers agreed.
func (r *round) agreed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.yes
}

// err returns an error that lists who agreed and why the others did not, wrapping the sentinel
// that fits.
func (r *round) err(timeout time.Duration) error {
	reasons := r.reasons(timeout)
	r.mu.Lock()
	defer r.mu.Unlock()
	var refused, notLocks, denied int
	for _, answered := range r.replies {
		switch {
		case errors.Is(answered.Err, ErrRefused):
			denied++
		case answered.Answer == server.No:
			refused++
		case errors.Is(answered.Err, ErrNotLock):
			notLocks++
		}
	}
	cause := ErrNoQuorum
	switch {
	case notLocks > len(r.nodes)-r.need:
		cause = ErrNotLock
	case denied > len(r.nodes)-r.need:
		cause = ErrRefused
	case r.yes+refused >= r.need && r.Kind == server.Acquire:
		cause = ErrHeld
	case refused > len(r.nodes)-r.need:
		cause = ErrLost
	}
	return fmt.Errorf("redlock: %q: %w: %d of %d agreed (%s)", r.Name, cause, r.yes, len(r.nodes), reasons)
}

// reasons returns the reason of each server that did not agree.
func (r *round) reasons(timeout time.Duration) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var reasons []string
	for i, answered := range r.replies {
		var why string
		switch {
		case answered.Answer == server.Yes:
			continue
		case answered.Answer == server.Failed:
			why = answered.Err.Error()
		case answered.Answer == server.No && r.Kind == server.Acquire && answered.TTL > 0:
			why = "held for " + answered.TTL.String()
		case answered.Answer == server.No && r.Kind == server.Acquire:
			why = "held"
		case answered.Err == errNeverHeld:
			why = answered.Err.Error()
		case answered.Answer == server.No:
			why = "no longer held"
		case r.over || time.Since(r.start) < timeout:
			why = "has not answered yet"
		default:
			why = fmt.Sprintf("timeout after %v", timeout)
		}
		reasons = append(reasons, r.nodes[i].server.Name()+": "+why)
	}
	return strings.Join(reasons, "; ")
}
