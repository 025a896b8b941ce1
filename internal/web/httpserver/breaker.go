package httpserver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"retwis/internal/elapsed"
	"retwis/internal/redis/store"
)

const (
	// grace is how long a request may take before the database is probed.
	grace = 300 * time.Millisecond
	// probeTimeout is the timeout of a probe. The sum of grace and probeTimeout is less than a
	// second, so a request without a database fails within a second.
	probeTimeout = 600 * time.Millisecond
	// maxLateness is the delay above which a process counts as short of CPU time. maxProbes is the
	// maximum number of probes in that case.
	maxLateness = 50 * time.Millisecond
	maxProbes   = 5
)

// ErrSilent means that the database does not answer, or answers with an error.
var ErrSilent = errors.New("web: the database does not answer")

// Breaker is a circuit breaker for the database: while the database is down, requests fail without
// waiting for their timeouts. Nothing runs in the background. A request that takes longer than
// grace triggers a probe, and after a failed probe each request starts with one. Concurrent
// requests share a probe.
type Breaker struct {
	ping     func(context.Context) error // returns as soon as its context ends
	lateness func() (worst func() time.Duration)

	down     atomic.Bool  // no part of the database answered the last probe
	answered atomic.Int64 // when a request last succeeded, in nanoseconds
	mu       sync.Mutex
	running  *probe
}

type probe struct {
	done chan struct{} // closed when err is set
	err  error
}

func NewBreaker(ping func(context.Context) error) *Breaker {
	return &Breaker{ping: ping, lateness: watchLateness}
}

// Admit returns an error while no part of the database answers. If no part has answered the last
// probe, Admit probes the database again.
func (d *Breaker) Admit() error {
	if !d.down.Load() {
		return nil
	}
	if err := d.check(); err != nil && d.down.Load() {
		return err
	}
	return nil
}

// Guard returns a context that is canceled when a probe fails, with the failure as its cause. The
// caller must call stop.
func (d *Breaker) Guard(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var timer *time.Timer
	var mu sync.Mutex // guards timer
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

// Served records that a request has succeeded: the database is at worst slow.
func (d *Breaker) Served() { d.answered.Store(elapsed.Now()) }

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

// run probes the database. The timeout of the probe is the only timer: a second timer would
// sometimes fire first, and a Cluster that is partly down would count as down.
//
// A late reply says nothing about the database if this process is short of CPU time, so the probe
// is repeated in that case.
func (d *Breaker) run(p *probe) {
	began := elapsed.Now()
	timedOut, late, err := d.probe()
	for try := 1; timedOut && late && try < maxProbes; try++ {
		timedOut, late, err = d.probe()
	}
	alive := d.answered.Load() > began // another request has succeeded in the meantime
	partly := errors.Is(err, store.ErrPartly)
	if err != nil && (partly || !alive || !timedOut) { // otherwise the database is slow
		p.err = fmt.Errorf("%w: %w", ErrSilent, err)
	}
	d.down.Store(err != nil && !partly && !alive)
	d.mu.Lock()
	d.running = nil
	d.mu.Unlock()
	close(p.done)
}

// probe probes the database once. It reports whether the probe timed out and whether this process
// was short of CPU time.
func (d *Breaker) probe() (timedOut, late bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	lateness := d.lateness()
	err = d.ping(ctx)
	return err != nil && ctx.Err() != nil, lateness() > maxLateness, err
}

// watchLateness measures the maximum delay with which this process handles events until worst is
// called. worst returns that delay.
func watchLateness() (worst func() time.Duration) {
	const every = 20 * time.Millisecond
	done, result := make(chan struct{}), make(chan time.Duration)
	due := time.Now().Add(every) // not in the goroutine, which may start late
	go func() {
		var maxDelay time.Duration
		timer := time.NewTimer(every)
		defer timer.Stop()
		for ; ; due = time.Now().Add(every) {
			select {
			case <-timer.C:
				// A timer wakes this goroutine ahead of the goroutines that wait for a CPU. A reply
				// queues behind those goroutines.
				runtime.Gosched()
				maxDelay = max(maxDelay, time.Since(due))
				timer.Reset(every)
			case <-done:
				result <- max(maxDelay, time.Since(due))
				return
			}
		}
	}()
	return func() time.Duration {
		close(done)
		return <-result
	}
}
