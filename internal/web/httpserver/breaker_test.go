package httpserver

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"retwis/internal/redis/store"
)

// TestProbeDecides checks which requests continue or begin after a probe. Each probe ends shortly
// after its context, as on a busy machine.
func TestProbeDecides(t *testing.T) {
	t.Parallel()
	silent := errors.New("no answer")
	for _, test := range []struct {
		name          string
		err           error
		atOnce        bool // the probe does not wait for its context
		served        bool // a request succeeds during the probe
		waits, admits bool // a long request continues; new requests may begin
	}{
		{name: "healthy", waits: true, admits: true},
		{name: "partly down", err: store.ErrPartly, admits: true},
		{name: "partly down, served", err: store.ErrPartly, served: true, admits: true},
		{name: "silent", err: silent},
		{name: "slow", err: silent, served: true, waits: true, admits: true},
		{name: "refused", err: silent, atOnce: true},
		{name: "refused, served", err: silent, atOnce: true, served: true, admits: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var d *Breaker
				d = NewBreaker(func(ctx context.Context) error {
					time.Sleep(time.Millisecond)
					if test.served {
						d.Served()
					}
					if test.err != nil && !test.atOnce {
						<-ctx.Done()
						time.Sleep(time.Millisecond)
					}
					return test.err
				})
				began := time.Now()
				ctx, stop := d.Guard(t.Context())
				defer stop()
				select {
				case <-ctx.Done():
				case <-time.After(grace + probeTimeout + 10*time.Millisecond):
				}
				if waits := ctx.Err() == nil; waits != test.waits {
					t.Errorf("after %v a request continues: %t, want %t", time.Since(began), waits, test.waits)
				}
				if err := d.Admit(); (err == nil) != test.admits {
					t.Errorf("Admit: %v, want admitted: %t", err, test.admits)
				}
			})
		})
	}
}

// Concurrent requests that wait for the database share one probe, and all fail with it.
func TestProbeIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var probes atomic.Int32
		d := NewBreaker(func(ctx context.Context) error {
			probes.Add(1)
			<-ctx.Done()
			return ctx.Err()
		})
		for range 150 {
			go func() {
				ctx, stop := d.Guard(t.Context())
				defer stop()
				<-ctx.Done()
				if err := context.Cause(ctx); !errors.Is(err, ErrSilent) {
					t.Error(err)
				}
			}()
		}
		time.Sleep(grace + probeTimeout)
		synctest.Wait()
		if n := probes.Load(); n != 1 {
			t.Errorf("%d probes, want 1", n)
		}
	})
}

// If the process gets no CPU time, the probe is repeated, up to maxProbes times, before the
// database counts as down.
func TestProbeOfABusyProcess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers int // the probe that is answered, counted from 1
		late    time.Duration
		down    bool
		probes  int
	}{
		"not busy, not answered":   {answers: 2, late: maxLateness, down: true, probes: 1},
		"busy, answered":           {answers: 1, late: time.Second, probes: 1},
		"busy, answered later":     {answers: 3, late: maxLateness + 1, probes: 3},
		"busy, and never answered": {answers: 100, late: time.Second, down: true, probes: maxProbes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				probes := 0
				d := NewBreaker(func(ctx context.Context) error {
					if probes++; probes == test.answers {
						return nil
					}
					<-ctx.Done()
					return ctx.Err()
				})
				d.lateness = func() func() time.Duration { return func() time.Duration { return test.late } }
				if err := d.check(); (err != nil) != test.down || probes != test.probes {
					t.Errorf("%d probes: %v, want %d and down %t", probes, err, test.probes, test.down)
				}
			})
		})
	}
}

// An idle process is not late.
func TestLateness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		worst := watchLateness()
		time.Sleep(time.Second)
		if late := worst(); late != 0 {
			t.Errorf("a timer was %v late", late)
		}
	})
}

// A process with more runnable goroutines than CPUs is late, although its timers are on time.
func TestLatenessOfBusyProcess(t *testing.T) {
	t.Parallel()
	var done atomic.Bool
	defer done.Store(true)
	for range 16 * runtime.GOMAXPROCS(0) {
		go func() {
			for !done.Load() {
			}
		}()
	}
	for worst := time.Duration(0); worst <= maxLateness; {
		measured := watchLateness()
		for range 5 {
			runtime.Gosched() // waits for the other goroutines
		}
		worst = measured()
	}
}
