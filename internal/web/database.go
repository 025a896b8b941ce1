package web

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"retwis/internal/store"
)

const (
	// grace is how long a page may take before it is asked whether the database
	// answers at all.
	grace = 300 * time.Millisecond
	// probeLimit is how long the database may take to answer that. Both together
	// are less than a second, in which a page fails without its database.
	probeLimit = 600 * time.Millisecond
)

// errSilent: the database does not answer, or answers with an error.
var errSilent = errors.New("web: the database does not answer")

// database knows whether the database answers, so that no page waits for one
// that is gone until its time is up. Nothing runs in the background: a page that
// takes longer than grace asks, and after a failure each page asks first. The
// pages that ask at one time share one probe.
type database struct {
	ping func(context.Context) error

	down     atomic.Bool  // no part of the database answered last
	answered atomic.Int64 // when a page was last served, in nanoseconds
	mu       sync.Mutex
	running  *probe
}

type probe struct {
	began time.Time
	done  chan struct{} // closed when err is set
	err   error
}

func newDatabase(ping func(context.Context) error) *database { return &database{ping: ping} }

// admit returns an error at once, or within probeLimit, while no part of the
// database answers.
func (d *database) admit() error {
	if !d.down.Load() {
		return nil
	}
	if err := d.check(); err != nil && d.down.Load() {
		return err
	}
	return nil
}

// guard returns a context that ends when the database turns out not to answer,
// with the reason as its cause. The caller calls stop.
func (d *database) guard(ctx context.Context) (_ context.Context, stop func()) {
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

// served notes that a page has come about: the database is slow at most.
func (d *database) served() { d.answered.Store(time.Now().UnixNano()) }

// check asks the database, or waits for the answer to who is asking.
func (d *database) check() error {
	d.mu.Lock()
	p := d.running
	if p == nil {
		p = &probe{began: time.Now(), done: make(chan struct{})}
		d.running = p
		go d.run(p)
	}
	d.mu.Unlock()
	timer := time.NewTimer(time.Until(p.began.Add(probeLimit)))
	defer timer.Stop()
	select {
	case <-p.done:
		return p.err
	case <-timer.C:
	}
	if d.answered.Load() > p.began.UnixNano() {
		return nil // slow: it has served another page meanwhile
	}
	d.down.Store(true)
	return errSilent
}

// run asks the database. It ends when ping does, soon after probeLimit.
func (d *database) run(p *probe) {
	ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
	defer cancel()
	if err := d.ping(ctx); err != nil {
		p.err = fmt.Errorf("%w: %w", errSilent, err)
	}
	d.down.Store(p.err != nil && !errors.Is(p.err, store.ErrPartly) && d.answered.Load() <= p.began.UnixNano())
	d.mu.Lock()
	d.running = nil
	d.mu.Unlock()
	close(p.done)
}
