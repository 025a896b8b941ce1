package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// shortTTL returns options for locks that expire soon.
func shortTTL() redlock.Options { return redlock.Options{TTL: 400 * time.Millisecond} }

// countKeys returns how many servers have a key.
func countKeys(t testing.TB, clients []rueidis.Client, name string) (n int) {
	t.Helper()
	for _, client := range clients {
		found, err := client.Do(t.Context(), client.B().Exists().Key(name).Build()).AsInt64()
		require.OK(t)(err)
		n += int(found)
	}
	return n
}

func clientsOf(t testing.TB, servers []*redistest.Server) []rueidis.Client {
	t.Helper()
	clients := make([]rueidis.Client, len(servers))
	for i, s := range servers {
		clients[i] = s.Client(t)
	}
	return clients
}

func TestMinorityGone(t *testing.T) {
	t.Parallel()
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		servers := redistest.Nodes(t, 5)
		m := dial(t, servers, redlock.Options{})
		l := lock(t, m, "held before")
		servers[1].Kill(t)
		servers[4].Kill(t)
		unlock(t, l)
		for i := range 20 {
			unlock(t, lock(t, m, fmt.Sprint("job", i)))
		}
	})
	t.Run("frozen", func(t *testing.T) {
		t.Parallel()
		servers := redistest.Nodes(t, 5)
		m := dial(t, servers, redlock.Options{})
		l := lock(t, m, "held before")
		// No call waits for the frozen servers: at the end of a wait, the client disconnects. A
		// stall of this process has the same effect, and is retried.
		wait(t, "locks without waiting", func() bool {
			awaitAnswers(t, m)
			before := redlock.CountsOf(m).Disconnected
			servers[1].Freeze(t)
			servers[4].Freeze(t)
			unlock(t, l)
			l = lock(t, m, "job")
			unlock(t, l)
			l = lock(t, m, "held before")
			waited := redlock.CountsOf(m).Disconnected > before
			servers[1].Thaw(t)
			servers[4].Thaw(t)
			return !waited
		})
		servers[1].Freeze(t)
		servers[4].Freeze(t)
		defer servers[1].Thaw(t)
		defer servers[4].Thaw(t)
		unlock(t, l)
		for i := range 20 {
			unlock(t, lock(t, m, fmt.Sprint("job", i)))
		}
	})
}

// awaitAnswers waits until all servers answer.
func awaitAnswers(t *testing.T, m *redlock.Manager) {
	t.Helper()
	wait(t, "all servers to answer", func() bool {
		status, err := m.Status(t.Context(), "job")
		return err == nil && !slices.ContainsFunc(status.Servers, func(s redlock.ServerStatus) bool { return s.Err != nil })
	})
}

func TestMajorityFrozen(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 5)
	clients := clientsOf(t, servers)
	m := dial(t, servers, redlock.Options{NodeTimeout: nodeTimeout})
	for _, s := range servers[:3] {
		s.Freeze(t)
	}
	for range 20 {
		if _, err := m.TryLock(t.Context(), "job"); !errors.Is(err, redlock.ErrNoQuorum) {
			t.Fatalf("TryLock: %v; want ErrNoQuorum", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := m.Lock(ctx, "job")
		ended <- err
	}()
	awaitListener(t, clients[3:], m) // the first attempt was refused
	cancel()
	if err := <-ended; !errors.Is(err, redlock.ErrNoQuorum) || !errors.Is(err, context.Canceled) {
		t.Errorf("Lock: %v; want ErrNoQuorum and Canceled", err)
	}
	for _, s := range servers[:3] {
		s.Thaw(t)
	}
	// The TTL has not passed: the manager has withdrawn its attempts.
	wait(t, "the attempts to be withdrawn", func() bool {
		return countKeys(t, clients, "job") == 0 && countKeys(t, clients, "redlock:waiters:{job}") == 0
	})
	unlock(t, lock(t, m, "job"))
}

// awaitListener waits until a manager listens for grants, as it does once a Lock was refused.
func awaitListener(t testing.TB, clients []rueidis.Client, m *redlock.Manager) {
	t.Helper()
	channel := redlock.Channel(m)
	wait(t, "the waiter to listen", func() bool {
		return !slices.ContainsFunc(clients, func(c rueidis.Client) bool {
			n, err := c.Do(t.Context(), c.B().PubsubNumsub().Channel(channel).Build()).AsIntMap()
			return err != nil || n[channel] != 1
		})
	})
}

// A server that restarts without its data must not grant a name while a lost lock of that name has
// not expired.
func TestForgottenLock(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n, " servers"), func(t *testing.T) {
			t.Parallel()
			servers := redistest.Nodes(t, n)
			opt := redlock.Options{TTL: 1500 * time.Millisecond}
			a, b := dial(t, servers, opt), dial(t, servers, opt)
			l := lock(t, a, "job")
			for _, s := range servers[:n/2+1] {
				s.Restart(t, false)
			}
			other := lock(t, b, "job")
			if now := time.Now(); now.Before(l.Until()) {
				t.Errorf("another client got the lock %v before the lock expired", l.Until().Sub(now))
			}
			unlock(t, other)
			if err := l.Unlock(t.Context()); !errors.Is(err, redlock.ErrLost) {
				t.Errorf("Unlock of a forgotten lock: %v; want ErrLost", err)
			}
		})
	}
}

func TestLost(t *testing.T) {
	t.Parallel()
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		servers := redistest.Nodes(t, 3)
		clients := clientsOf(t, servers)
		m := dial(t, servers, redlock.Options{ExtendEvery: 20 * time.Millisecond})
		err := m.Do(t.Context(), "job", func(ctx context.Context, l *redlock.Lock) error {
			// Wait for all three servers: two are enough for the lock, and a slow server that
			// grants the lock later would make up for a server that loses it.
			wait(t, "all servers to have the lock", func() bool { return countKeys(t, clients, "job") == 3 })
			for _, client := range clients[:2] {
				client.Do(ctx, client.B().Del().Key("job").Build())
			}
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, redlock.ErrLost) {
				t.Errorf("the cause is %v; want ErrLost", cause)
			}
			return errors.New("stopped")
		})
		if !errors.Is(err, redlock.ErrLost) || err.Error()[:7] != "stopped" {
			t.Errorf("Do: %v; want the error of the function and ErrLost", err)
		}
	})
	t.Run("acquired by another client", func(t *testing.T) {
		t.Parallel()
		servers := redistest.Nodes(t, 3)
		clients := clientsOf(t, servers)
		l := lock(t, dial(t, servers, shortTTL()), "job")
		other := lock(t, dial(t, servers, redlock.Options{}), "job")
		for what, err := range map[string]error{
			"Extend": l.Extend(t.Context()), "Unlock": l.Unlock(t.Context()), "Unlock again": l.Unlock(t.Context()),
		} {
			if !errors.Is(err, redlock.ErrLost) {
				t.Errorf("%s: %v; want ErrLost", what, err)
			}
		}
		count := 0
		for _, client := range clients {
			switch value, err := client.Do(t.Context(), client.B().Get().Key("job").Build()).ToString(); {
			case rueidis.IsRedisNil(err): // the first lock was still there
			case err != nil || value != redlock.Value(other):
				t.Errorf("a server has %q (%v), want %q", value, err, redlock.Value(other))
			default:
				count++
			}
		}
		if count < 2 {
			t.Errorf("%d servers have the lock, want at least 2", count)
		}
		unlock(t, other)
	})
}

// TestNothingLeaks locks repeatedly while a server is frozen. It is not parallel because it
// measures the memory and goroutines of the process.
func TestNothingLeaks(t *testing.T) {
	locks := redistest.Cases(500, 100_000)
	servers := redistest.Nodes(t, 5)
	clients := clientsOf(t, servers)
	m := dial(t, servers, redlock.Options{NodeTimeout: 500 * time.Millisecond})
	run := func(n int) {
		for i := range n {
			unlock(t, lock(t, m, fmt.Sprint("job", i)))
		}
	}
	run(100)
	servers[4].Freeze(t)
	run(100)
	memory := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before, goroutines := memory(), runtime.NumGoroutine()
	run(locks)
	if after := memory(); after > before+8<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	// The client of the frozen server replaces its connection again and again. A connection has
	// four goroutines, and old goroutines may still be ending; a leaked goroutine stays.
	wait(t, fmt.Sprint("the goroutines of two connections beside the ", goroutines, " before"), func() bool {
		return runtime.NumGoroutine() <= goroutines+8
	})
	servers[4].Thaw(t)
	wait(t, "empty servers", func() bool {
		for _, client := range clients {
			// The boot marker stays.
			if n, err := client.Do(t.Context(), client.B().Dbsize().Build()).AsInt64(); err != nil || n != 1 {
				return false
			}
		}
		return true
	})
}
