package suggest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// maxRound is the maximum number of requests in a round.
const maxRound = batchTerms * pipeline

// writer combines the requests of concurrent callers for one partition into rounds: while
// one round is under way, the next collects. A request that comes when none is under way is
// sent at once.
type writer struct {
	mu    sync.Mutex
	busy  bool // a round is under way
	queue []*waiter
}

// waiter is a request that waits for its round.
type waiter struct {
	request
	round *round // nil: not sent yet
	gone  bool   // the caller has left
	done  chan result
}

// round is a batch of requests under way. When all callers have left, it is canceled.
type round struct {
	left   atomic.Int64
	cancel context.CancelFunc
}

// submit writes a request and returns its count.
func (up updates) submit(ctx context.Context, r request) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	w := &up.x.writers[r.part]
	w.mu.Lock()
	if !w.busy {
		w.busy = true
		w.mu.Unlock()
		got := up.write(ctx, []request{r})[0]
		if batch := w.next(); batch != nil {
			go up.rounds(w, batch) // ends with the last of its callers
		}
		if got.err != nil && ctx.Err() != nil {
			return 0, unsure(ctx)
		}
		return got.count, got.err
	}
	own := &waiter{request: r, done: make(chan result, 1)}
	w.queue = append(w.queue, own)
	w.mu.Unlock()
	select {
	case got := <-own.done:
		return got.count, got.err
	case <-ctx.Done():
		if w.leave(own) {
			return 0, unsure(ctx)
		}
		return 0, fmt.Errorf("the term was not counted: %w", context.Cause(ctx))
	}
}

// unsure returns the error for a request whose round the caller did not await.
func unsure(ctx context.Context) error {
	return fmt.Errorf("the term may have been counted: %w", context.Cause(ctx))
}

// leave gives a request up, and reports whether it was sent.
func (w *writer) leave(own *waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	own.gone = true
	if own.round == nil {
		return false
	}
	if own.round.left.Add(-1) == 0 {
		own.round.cancel()
	}
	return true
}

// next ends a round. It returns the requests of the next one, or nil if there are none.
func (w *writer) next() []*waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	var batch []*waiter
	taken := 0
	for _, own := range w.queue {
		if len(batch) == maxRound {
			break
		}
		taken++
		if !own.gone {
			batch = append(batch, own)
		}
	}
	rest := copy(w.queue, w.queue[taken:])
	clear(w.queue[rest:])
	w.queue = w.queue[:rest]
	w.busy = batch != nil
	return batch
}

// rounds sends one round after the other until no request waits.
func (up updates) rounds(w *writer, batch []*waiter) {
	for ; batch != nil; batch = w.next() {
		up.round(w, batch)
	}
}

// round sends the requests of a batch and passes the results on.
func (up updates) round(w *writer, batch []*waiter) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	requests := w.begin(batch, cancel)
	for i, got := range up.write(ctx, requests) {
		batch[i].done <- got
	}
}

// begin marks requests as sent.
func (w *writer) begin(batch []*waiter, cancel context.CancelFunc) []request {
	r := &round{cancel: cancel}
	requests := make([]request, len(batch))
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, own := range batch {
		requests[i] = own.request
		own.round = r
		if !own.gone {
			r.left.Add(1)
		}
	}
	if r.left.Load() == 0 {
		cancel()
	}
	return requests
}
