package redlock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"retwis/internal/require"
)

// withManagers runs a test in a simulation without faults, with two managers that have opt and a
// TTL of a second. The context ends after two minutes, so that a lock that never ends fails the
// test.
func withManagers(t *testing.T, opt Options, test func(t *testing.T, ctx context.Context, ms []*Manager)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, schedule{seed: 1})
		w.net.calm = true
		opt.TTL = simTTL
		for range 2 {
			w.managers = append(w.managers, w.manager(t, opt))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		defer func() { // even if the test fails early
			for _, m := range w.managers {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
			w.net.late.Wait()
		}()
		test(t, ctx, w.managers[simCount:])
	})
}

// checkWithin checks that a duration is at least want and at most want+tolerance.
func checkWithin(t *testing.T, what string, got, want, tolerance time.Duration) {
	t.Helper()
	if got < want || got > want+tolerance {
		t.Errorf("%s: after %v; want %v, or up to %v more", what, got, want, tolerance)
	}
}

// The context of a holder ends exactly after MaxHold, even between two extensions, and the next
// holder gets the name immediately.
func TestMaxHoldEndsInTime(t *testing.T) {
	withManagers(t, Options{MaxHold: 2 * time.Second}, func(t *testing.T, ctx context.Context, ms []*Manager) {
		for _, limit := range []time.Duration{
			time.Millisecond, simTTL / 3, simTTL, simTTL + time.Millisecond, 0, 10 * simTTL,
		} {
			want := limit
			if limit == 0 {
				want = 2 * time.Second // the limit of the manager
			}
			var begun time.Time
			err := ms[0].Do(ctx, "name", func(held context.Context, l *Lock) error {
				begun = time.Now()
				<-held.Done()
				checkWithin(t, "the context ended", time.Since(begun), want, 0)
				for _, err := range []error{context.Cause(held), context.Cause(l.Context()), l.Extend(ctx)} {
					if !errors.Is(err, ErrMaxHold) || !errors.Is(err, ErrLost) {
						t.Errorf("limit %v: %v; want ErrMaxHold and ErrLost", want, err)
					}
				}
				return nil
			}, LockOptions{MaxHold: limit})
			if !errors.Is(err, ErrMaxHold) {
				t.Errorf("limit %v: Do: %v", want, err)
			}
			l, err := ms[1].Lock(ctx, "name")
			require.OK(t)(err)
			checkWithin(t, "the next holder", time.Since(begun), want, simTTL/5)
			if err := l.Unlock(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

// A lock whose context is not used ends as well: Unlock and Extend return the reason.
func TestMaxHoldWithoutContext(t *testing.T) {
	withManagers(t, Options{MaxHold: simTTL / 2}, func(t *testing.T, ctx context.Context, ms []*Manager) {
		for what, use := range map[string]func(*Lock) error{
			"Extend": func(l *Lock) error { return l.Extend(ctx) },
			"Unlock": func(l *Lock) error { return l.Unlock(ctx) },
		} {
			for _, limited := range []bool{true, false} {
				opt := LockOptions{}
				if !limited {
					opt.MaxHold = time.Hour // its TTL ends earlier
				}
				l, err := ms[0].Lock(ctx, what, opt)
				require.OK(t)(err)
				if limited {
					checkWithin(t, "the lock", time.Until(l.Until()), simTTL/2, 0)
				}
				time.Sleep(2 * simTTL)
				if err := use(l); l.Valid() || !errors.Is(err, ErrLost) || errors.Is(err, ErrMaxHold) != limited {
					t.Errorf("%s, limited %v: %v; want ErrLost, and ErrMaxHold if limited", what, limited, err)
				}
			}
		}
	})
}

// Each goroutine to which a lock is handed over gets a full MaxHold.
func TestMaxHoldStartsWithHandover(t *testing.T) {
	const limit, work, count = simTTL * 3 / 2, simTTL * 7 / 5, 20
	withManagers(t, Options{MaxHold: limit}, func(t *testing.T, ctx context.Context, ms []*Manager) {
		var all sync.WaitGroup
		begun := time.Now()
		for range count {
			all.Go(func() {
				err := ms[0].Do(ctx, "name", func(held context.Context, l *Lock) error {
					time.Sleep(work)
					if held.Err() != nil || !l.Valid() {
						t.Errorf("lost after %v: %v", work, context.Cause(held))
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		checkWithin(t, "all turns", time.Since(begun), count*work, simTTL/2)
	})
}

// A holder that ignores the end of its context blocks other callers for at most about a TTL more.
func TestMaxHoldOfHangingHolder(t *testing.T) {
	withManagers(t, Options{MaxHold: 3 * simTTL}, func(t *testing.T, ctx context.Context, ms []*Manager) {
		for i, next := range ms { // in the same process, and in another process
			held, stop, done := make(chan time.Time), make(chan struct{}), make(chan error)
			go func() {
				done <- ms[0].Do(ctx, "name", func(context.Context, *Lock) error {
					held <- time.Now()
					<-stop
					return nil
				})
			}()
			begun := <-held
			l, err := next.Lock(ctx, "name")
			require.OK(t)(err)
			checkWithin(t, []string{"the same process", "another process"}[i], time.Since(begun), 3*simTTL, simTTL+simTTL/2)
			close(stop)
			if err := <-done; !errors.Is(err, ErrMaxHold) {
				t.Errorf("Do: %v", err)
			}
			if !l.Valid() {
				t.Error("the late Unlock of the first holder released the lock of the next holder")
			}
			if err := l.Unlock(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

// While a machine is suspended, timers stand still but the wall clock advances: the context of an
// expired lock ends within a second of the resume.
func TestContextAfterSuspension(t *testing.T) {
	withManagers(t, Options{}, func(t *testing.T, ctx context.Context, ms []*Manager) {
		l, err := ms[0].Lock(ctx, "name")
		require.OK(t)(err)
		set := func(until time.Time) {
			l.mu.Lock()
			l.until = until
			l.mu.Unlock()
		}
		set(time.Now().Add(time.Hour))
		held := l.Context()
		set(time.Now().Round(0))
		begun := time.Now()
		<-held.Done()
		checkWithin(t, "the context ended", time.Since(begun), 0, time.Second)
		if err := context.Cause(held); !errors.Is(err, ErrLost) {
			t.Errorf("the cause is %v; want ErrLost", err)
		}
	})
}
