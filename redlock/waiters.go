package redlock

import (
	"sync"

	"retwis/redlock/internal/server"
)

// waiter is a waiter in the queue of a name.
type waiter struct {
	value  string
	asked  nodeSet       // servers that may have the value from any attempt; used only by the goroutine of Lock
	agreed nodeSet       // servers that gave the lock in reply to the last attempt
	grants nodeSet       // servers that have granted the lock since the last attempt
	soon   chan struct{} // signals that a server has granted the lock, or may have granted it
	ready  chan struct{} // signals that a majority has granted the lock
}

// wake makes the waiter ask again: immediately if a majority has granted the lock, and otherwise
// soon.
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

// renew resets a waiter and gives it a new value.
func (w *waiters) renew(t *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byValue, t.value)
	*t = waiter{value: server.NewValue(), soon: make(chan struct{}, 1), ready: make(chan struct{}, 1)}
	w.byValue[t.value] = t
}

func (w *waiters) remove(t *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byValue, t.value)
}

// next prepares a waiter for another attempt.
func (w *waiters) next(t *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.agreed, t.grants = 0, 0
	for _, c := range []chan struct{}{t.soon, t.ready} {
		select {
		case <-c:
		default:
		}
	}
}

// note records which servers gave the lock in reply to the last attempt.
func (w *waiters) note(t *waiter, r *round) {
	agreed := r.withAnswer(server.Yes)
	w.mu.Lock()
	defer w.mu.Unlock()
	t.agreed = agreed
	if t.grants != 0 {
		t.wake(r.need)
	}
}

// granted processes a message of a server that it granted the lock to a value. The waiter then asks
// again, because the message may be arbitrarily old and does not prove that the lock is held.
func (w *waiters) granted(from int, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.byValue[value]; t != nil {
		t.grants |= 1 << from
		t.wake(w.quorum)
	}
}

// listening is called when the messages of a server start to arrive. It makes all waiters ask again
// soon, because earlier messages may have been missed.
func (w *waiters) listening() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.byValue {
		t.hurry()
	}
}
