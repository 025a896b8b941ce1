package httpserver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"retwis/internal/redis/store"
)

// What the probe says about the database, and what a request may do then. Each probe ends
// a little after its context, as on a busy machine.
func TestProbeDecides(t *testing.T) {
	t.Parallel()
	silent := errors.New("no answer")
	for _, test := range []struct {
		name          string
		err           error
		atOnce        bool // the probe does not wait for the end of its context
		served        bool // a request succeeds while the probe runs
		waits, admits bool // a request that takes long goes on; others may begin
	}{
		{name: "well", waits: true, admits: true},
		{name: "a part is away", err: store.ErrPartly, admits: true},
		{name: "a part is away, and another serves", err: store.ErrPartly, served: true, admits: true},
		{name: "silent", err: silent},
		{name: "slow", err: silent, served: true, waits: true, admits: true},
		{name: "refuses", err: silent, atOnce: true},
		{name: "refuses some", err: silent, atOnce: true, served: true, admits: true},
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
				case <-time.After(grace + probeLimit + 10*time.Millisecond):
				}
				if waits := ctx.Err() == nil; waits != test.waits {
					t.Errorf("after %v a request goes on: %t, want %t", time.Since(began), waits, test.waits)
				}
				if err := d.Admit(); (err == nil) != test.admits {
					t.Errorf("another request: %v, want it to begin: %t", err, test.admits)
				}
			})
		})
	}
}
