package httpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"retwis/internal/redis/store"
)

const (
	// grace is how long a request may take before the database is probed.
	grace = 300 * time.Millisecond
	// probeLimit bounds a probe. Both together are less than a second, within
	// which a request fails without a database.
	probeLimit = 600 * time.Millisecond
)

// ErrSilent: the database does not answer, or answers with an error.
var ErrSilent = errors.New("web: the database does not answer")

// Breaker tracks whether the database answers, so that no request waits for its
// timeout when the database is down (a circuit breaker). Nothing runs in the
// background: a request that takes longer than grace probes, and after a failure
// each request probes first. Concurrent requests share one probe.
type Breaker struct {
	ping func(context.Context) error // it returns as soon as its context ends

	down     atomic.Bool  // the last probe got no answer from any part of the database
	answered atomic.Int64 // when a request last succeeded, in nanoseconds
	mu       sync.Mutex
	running  *probe
}

type probe struct {
	done chan struct{} // closed when err is set
	err  error
}

func NewBreaker(ping func(context.Context) error) *Breaker { return &Breaker{ping: ping} }

// Admit returns an error at once, or within probeLimit, while no part of the
// database answers.
func (d *Breaker) Admit() error {
	if !d.down.Load() {
		return nil
	}
	if err := d.check(); err != nil && d.down.Load() {
		return err
	}
	return nil
}

// Guard returns a context that is cancelled when a probe fails, with the reason
// as its cause. The caller must call stop.
func (d *Breaker) Guard(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var timer *time.Timer
	var mu sync.Mutex // until timer is set
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(grace, func() {
		if err := d.check(); err != nil {
			cancel(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			timer.Reset(grace)
		}
	})
	return ctx, func() {
		cancel(nil)
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
	}
}

// Served records a success: the database is slow at worst.
func (d *Breaker) Served() { d.answered.Store(time.Now().UnixNano()) }

// check probes the database, or waits for the running probe.
func (d *Breaker) check() error {
	d.mu.Lock()
	p := d.running
	if p == nil {
		p = &probe{done: make(chan struct{})}
		d.running = p
		go d.run(p)
	}
	d.mu.Unlock()
	<-p.done
	return p.err
}

// run probes the database. It alone decides: a second timer beside that of the probe would
// now and then end first, and a Cluster of which a part is down would be down as a whole.
func (d *Breaker) run(p *probe) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
	defer cancel()
	err := d.ping(ctx)
	alive := d.answered.Load() > began.UnixNano() // another request has succeeded meanwhile
	partly := errors.Is(err, store.ErrPartly)
	if err != nil && (partly || !alive || ctx.Err() == nil) { // otherwise the database is slow
		p.err = fmt.Errorf("%w: %w", ErrSilent, err)
	}
	d.down.Store(err != nil && !partly && !alive)
	d.mu.Lock()
	d.running = nil
	d.mu.Unlock()
	close(p.done)
}
