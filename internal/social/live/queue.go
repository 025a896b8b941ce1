package live

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Queue is a Conn with a goroutine of its own. It is meant for a connection that cannot be taken
// over from its server, such as an HTTP/2 connection. The zero value is not usable; see NewQueue.
type Queue struct {
	mu      sync.Mutex
	pending []byte
	closed  bool
	wake    chan struct{}
}

// NewQueue returns a Queue; the caller must call Run.
func NewQueue() *Queue { return &Queue{wake: make(chan struct{}, 1)} }

var errQueue = errors.New("live: the connection is closed, or too slow")

// Write queues a message.
func (q *Queue) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.pending)+len(p) > maxPending && len(q.pending) > 0 {
		return 0, errQueue
	}
	q.pending = append(q.pending, p...)
	q.signal()
	return len(p), nil
}

// WriteAll queues a message.
func (q *Queue) WriteAll(p []byte, _ time.Time) error {
	_, err := q.Write(p)
	return err
}

// Alive reports whether the queue is open.
func (q *Queue) Alive() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.closed
}

// Close makes Run return once it has written the queued messages.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run writes queued messages until the queue is closed, ctx ends or write fails.
func (q *Queue) Run(ctx context.Context, write func(p []byte) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		}
		q.mu.Lock()
		message, closed := q.pending, q.closed
		q.pending = nil
		q.mu.Unlock()
		if len(message) > 0 && write(message) != nil || closed {
			return
		}
	}
}
