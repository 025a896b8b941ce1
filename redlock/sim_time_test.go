package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"retwis/internal/require"
)

// withWorld runs a test in a simulation whose only faults are those that the test injects.
func withWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, schedule{seed: 1})
		w.net.calm = true
		defer func() {
			for _, s := range w.servers {
				s.change(func() { s.frozen = false })
			}
			for _, m := range w.managers {
				_ = m.Close()
			}
			w.net.late.Wait()
		}()
		test(t, w)
	})
}

// freeze freezes the first servers.
func (w *world) freeze(n int) {
	for _, s := range w.servers[:n] {
		s.change(func() { s.frozen = true })
	}
}

// A lock that cannot be extended is held until it expires, and its context ends then.
func TestContextEndsWithTheLock(t *testing.T) {
	withWorld(t, func(t *testing.T, w *world) {
		l, err := w.managers[0].Lock(t.Context(), "name")
		require.OK(t)(err)
		held, until := l.Context(), l.Until()
		w.freeze(simServers/2 + 1)
		if err := l.Extend(t.Context()); !errors.Is(err, ErrNoQuorum) || !l.Valid() {
			t.Errorf("Extend: %v, valid %v; want ErrNoQuorum and a held lock", err, l.Valid())
		}
		<-held.Done()
		checkWithin(t, "the context ended", time.Since(until), 0, 0)
		if cause := context.Cause(held); !errors.Is(cause, ErrLost) || l.Valid() {
			t.Errorf("the cause is %v, valid %v; want ErrLost", cause, l.Valid())
		}
		if err := l.Unlock(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("Unlock: %v; want ErrLost", err)
		}
	})
}

// A lock is extended up to MaxExtensions times, and then expires.
func TestMaxExtensions(t *testing.T) {
	withManagers(t, Options{MaxExtensions: 2}, func(t *testing.T, ctx context.Context, ms []*Manager) {
		var begun time.Time
		err := ms[0].Do(ctx, "name", func(ctx context.Context, _ *Lock) error {
			begun = time.Now()
			<-ctx.Done()
			return nil
		})
		if !errors.Is(err, ErrLost) {
			t.Errorf("Do: %v; want ErrLost", err)
		}
		checkWithin(t, "the lock expired", time.Since(begun), simTTL*5/3-simTTL/20, simTTL/20)
		if n := ms[0].voters.stats.extended.Load(); n != 2 {
			t.Errorf("%d extensions; want 2", n)
		}
	})
}

// Close does not wait for a server that does not answer.
func TestCloseWithFrozenServer(t *testing.T) {
	withWorld(t, func(t *testing.T, w *world) {
		l, err := w.managers[0].Lock(t.Context(), "name")
		require.OK(t)(err)
		w.freeze(1)
		if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		begun := time.Now()
		if err := w.managers[0].Close(); err != nil {
			t.Error(err)
		}
		checkWithin(t, "Close", time.Since(begun), 0, discoverTimeout/2)
	})
}

// Lock waits out temporary conditions. When its context ends, Lock reports the conditions rather
// than the interruption of the last attempt.
func TestLockReportsLastReason(t *testing.T) {
	withWorld(t, func(t *testing.T, w *world) {
		for _, s := range w.servers {
			s.restart(newSimData())
		}
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), simTTL/2+time.Duration(i)*time.Millisecond)
				defer cancel()
				_, err := w.managers[0].Lock(ctx, fmt.Sprint("name", i))
				if !errors.Is(err, ErrNoQuorum) || strings.Count(err.Error(), "quarantined") <= simServers/2 {
					t.Errorf("Lock: %v; want ErrNoQuorum and a quarantined majority", err)
				}
			})
		}
		all.Wait()
	})
}

// Status asks twice, but waits for a frozen server only once.
func TestStatusWithFrozenServer(t *testing.T) {
	withWorld(t, func(t *testing.T, w *world) {
		m := w.managers[0]
		w.freeze(1)
		begun := time.Now()
		status, err := m.Status(t.Context(), "name")
		if err != nil || status.Voting != simServers-1 || status.Servers[0].Err == nil || status.Undecided {
			t.Errorf("Status = %+v, %v; want an error of one server", status, err)
		}
		checkWithin(t, "Status", time.Since(begun), m.opt.NodeTimeout, 0)
	})
}
