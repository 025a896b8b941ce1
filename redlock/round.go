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

// round sends the same op to a set of servers. It is decided as soon as a majority agrees or can no
// longer agree. Later replies are still recorded.
type round struct {
	server.Op
	start time.Time
	need  int
	nodes []*node
	// all waits for every reply, not only for a majority. untilMajority waits until a majority
	// agrees, or for every reply.
	all, untilMajority bool
	// onDecided, if not nil, is called once when the round is decided.
	onDecided func(won bool)

	mu      sync.Mutex
	replies []server.Reply
	yes     int
	others  int // number of replies other than Yes
	over    bool
	won     bool
	end     time.Time
	sent    nodeSet
	decided chan struct{}
	// raise is called for servers that did not give a token of at least resolved, including servers
	// that answer later.
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
			r.vote(i, r.unaskedReply())
			continue
		}
		if n.send(r) {
			r.mu.Lock()
			r.sent |= 1 << i
			r.mu.Unlock()
		}
	}
}

// unaskedReply returns the reply on behalf of a server that is not asked. Such a server does not
// hold the lock.
func (r *round) unaskedReply() server.Reply {
	if r.Kind == server.Extend || r.Kind == server.Release {
		return server.Reply{Answer: server.No, Err: errNeverHeld}
	}
	return server.Reply{Answer: server.Failed, Err: errNotAsked}
}

// vote records the reply of server i. Only the first reply counts.
func (r *round) vote(i int, reply server.Reply) {
	r.mu.Lock()
	if r.replies[i].Answer != server.Unanswered {
		r.mu.Unlock()
		return
	}
	r.replies[i] = reply
	if reply.Answer == server.Yes {
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
	if reply.Answer == server.Yes && reply.Token >= r.resolved {
		raise = nil
	}
	r.mu.Unlock()
	if raise != nil {
		raise(i)
	}
	if over {
		if r.onDecided != nil {
			r.onDecided(r.won)
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
	for i, reply := range r.replies {
		switch {
		case reply.Answer == server.Yes:
			agreed++
		case reply.Answer == server.No:
			refused++
		}
		if reply.Maybe || reply.Answer == server.Unanswered && r.sent.has(i) {
			unsure++
		}
	}
	return agreed, refused, unsure
}

// maxToken returns the greatest token, how many servers gave it, and whether only some servers had
// a counter. The other servers have lost their counters, or were not reached when an earlier token
// was given.
func (r *round) maxToken() (token uint64, agreed int, mixed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fresh, counted bool
	for _, reply := range r.replies {
		if reply.Answer != server.Yes {
			continue
		}
		fresh, counted = fresh || reply.Fresh, counted || !reply.Fresh
		switch {
		case reply.Token > token:
			token, agreed = reply.Token, 1
		case reply.Token == token:
			agreed++
		}
	}
	return token, agreed, fresh && counted
}

// withAnswer returns the servers that gave an answer.
func (r *round) withAnswer(answer server.Answer) nodeSet {
	r.mu.Lock()
	defer r.mu.Unlock()
	var set nodeSet
	for i, reply := range r.replies {
		if reply.Answer == answer {
			set |= 1 << i
		}
	}
	return set
}

// hasLeader reports whether another client has the lock on a majority of the servers.
func (r *round) hasLeader() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	votes := make(map[string]int, 1)
	for _, reply := range r.replies {
		if reply.Answer == server.No && reply.Value != "" {
			votes[reply.Value]++
			if votes[reply.Value] >= r.need {
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
	for _, reply := range r.replies {
		if reply.Foreign || reply.Answer == server.No && isForeign(reply.Value) {
			return true
		}
	}
	return false
}

// isForeign reports whether another library created a value.
func isForeign(value string) bool { return value != "" && !server.IsValue(value) }

// duration returns how long the decision took, or the time since the start if the round is not
// decided.
func (r *round) duration() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end.IsZero() {
		return time.Since(r.start)
	}
	return r.end.Sub(r.start)
}

// raiseBelow calls raise for every server that gave no token or a smaller token, including servers
// that answer later.
func (r *round) raiseBelow(token uint64, raise func(i int)) {
	r.mu.Lock()
	r.resolved, r.raise = token, raise
	var behind []int
	for i, reply := range r.replies {
		if reply.Answer != server.Unanswered && (reply.Answer != server.Yes || reply.Token < token) {
			behind = append(behind, i)
		}
	}
	r.mu.Unlock()
	for _, i := range behind {
		raise(i)
	}
}

// sentTo returns the servers that may have received the op.
func (r *round) sentTo() nodeSet {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// freeIn returns the time until the locks have expired on enough servers for a majority, or -1 if
// the time is unknown.
func (r *round) freeIn() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := make([]time.Duration, 0, len(r.replies))
	for _, reply := range r.replies {
		if reply.Answer == server.No || reply.Answer == server.Failed && reply.TTL > 0 {
			known = append(known, reply.TTL)
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

// err returns an error with the number of servers that agreed, and why the other servers did not.
// It wraps the matching sentinel error.
func (r *round) err(timeout time.Duration) error {
	reasons := r.reasons(timeout)
	r.mu.Lock()
	defer r.mu.Unlock()
	var refused, notLocks, denied int
	var notLock error
	for _, reply := range r.replies {
		switch {
		case errors.Is(reply.Err, ErrRefused):
			denied++
		case reply.Answer == server.No:
			refused++
		case errors.Is(reply.Err, ErrNotLock):
			notLocks++
			notLock = reply.Err // names the key
		}
	}
	cause := ErrNoQuorum
	switch {
	case notLocks > len(r.nodes)-r.need:
		cause = notLock
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
	for i, reply := range r.replies {
		var why string
		switch {
		case reply.Answer == server.Yes:
			continue
		case reply.Answer == server.Failed:
			why = reply.Err.Error()
		case reply.Answer == server.No && r.Kind == server.Acquire && reply.TTL > 0:
			why = "held for " + reply.TTL.String()
		case reply.Answer == server.No && r.Kind == server.Acquire:
			why = "held"
		case reply.Err == errNeverHeld:
			why = reply.Err.Error()
		case reply.Answer == server.No:
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
