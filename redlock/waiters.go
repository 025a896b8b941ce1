package redlock

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"retwis/redlock/internal/server"
)

// waiter is one waiter in the queue of a name.
type waiter struct {
	value string
	asked nodeSet // the servers that may have the value, of any attempt; the caller of Lock owns it
	// attempt is the number of the last attempt, which was sent at sentAt. A
	// server that refused it keeps the number in the queue and repeats it in the
	// message with the grant: such a grant is later than sentAt, and lives for the
	// time in the message. A message with another number may be of any age.
	attempt uint64
	sentAt  time.Time
	refused nodeSet       // the servers that refused this attempt
	agreed  nodeSet       // the servers that gave the lock in reply
	grants  nodeSet       // the servers that granted the lock later
	lasts   time.Duration // the shortest of these grants
	voting  nodeSet       // those of them whose message counts as a vote
	soon    chan struct{} // the first server has granted it, or may have
	ready   chan struct{} // a majority has
}

// wake wakes the waiter: immediately if a majority has given it the lock.
func (t *waiter) wake(quorum int) {
	if (t.grants | t.agreed).len() < quorum {
		t.hurry()
		return
	}
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

// hurry makes the waiter ask again soon.
func (t *waiter) hurry() {
	select {
	case t.soon <- struct{}{}:
	default:
	}
}

// waiters holds the waiters of a Manager by value.
type waiters struct {
	quorum  int
	mu      sync.Mutex
	byValue map[string]*waiter
}

func (w *waiters) init(quorum int) { w.quorum, w.byValue = quorum, make(map[string]*waiter) }

// renew gives a waiter a new value.
func (w *waiters) renew(t *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byValue, t.value)
	*t = waiter{value: server.NewValue(), attempt: t.attempt, soon: make(chan struct{}, 1), ready: make(chan struct{}, 1)}
	w.byValue[t.value] = t
}

func (w *waiters) remove(t *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byValue, t.value)
}

// next starts another attempt and returns its number.
func (w *waiters) next(t *waiter, now time.Time) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.attempt++
	t.sentAt = now
	t.refused, t.agreed, t.grants, t.voting, t.lasts = 0, 0, 0, 0, maxTTL
	for _, c := range []chan struct{}{t.soon, t.ready} {
		select {
		case <-c:
		default:
		}
	}
	return t.attempt
}

// note records the replies to the last attempt.
func (w *waiters) note(t *waiter, r *round) {
	agreed, refused := r.withAnswer(server.Yes), r.withAnswer(server.No)
	w.mu.Lock()
	defer w.mu.Unlock()
	t.agreed, t.refused = agreed, refused
	if t.grants != 0 {
		t.wake(r.need)
	}
}

// granted processes the message of one server.
func (w *waiters) granted(from int, g grant, votes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.byValue[g.value]
	switch {
	case t == nil:
		return
	case g.attempt != t.attempt || g.lasts == 0:
		t.hurry() // the grant may have expired: ask
		return
	}
	t.grants |= 1 << from
	t.lasts = min(t.lasts, g.lasts)
	if votes {
		t.voting |= 1 << from
	}
	t.wake(w.quorum)
}

// listening is called when the messages of a server start to arrive. Earlier ones
// may have been missed.
func (w *waiters) listening() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.byValue {
		t.hurry()
	}
}

// grant is the message of a server that it has granted the lock to a value, whose waiter
// it had refused in this attempt.
type grant struct {
	value   string
	attempt uint64
	lasts   time.Duration // how long it is kept for the waiter
}

// parseGrant parses the message of grant.lua. Scripts of earlier versions send no time;
// then the waiter has to ask.
func parseGrant(message string) grant {
	value, rest, _ := strings.Cut(message, " ")
	number, ttl, _ := strings.Cut(rest, " ")
	attempt, _ := strconv.ParseUint(number, 10, 64)
	lasts, _ := strconv.ParseInt(ttl, 10, 64)
	return grant{value, attempt, time.Duration(max(lasts, 0)) * time.Millisecond}
}
