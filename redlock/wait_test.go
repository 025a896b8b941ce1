package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// awaitWaiters waits until n processes wait for a name on a majority of the servers.
func awaitWaiters(t testing.TB, m *redlock.Manager, name string, n int64) {
	t.Helper()
	awaitWaitersOn(t, 0, m, name, n)
}

// awaitWaitersOn is like awaitWaiters for a given number of servers; 0: a majority.
func awaitWaitersOn(t testing.TB, servers int, m *redlock.Manager, name string, n int64) {
	t.Helper()
	wait(t, fmt.Sprint(n, " waiters"), func() bool {
		status, err := m.Status(t.Context(), name)
		agreed := 0
		for _, s := range status.Servers {
			if s.Err == nil && s.Holder.Waiters == n {
				agreed++
			}
		}
		return err == nil && agreed >= max(servers, status.Quorum)
	})
}

// patientPause limits how soon a waiter with the options patient asks again.
const patientPause = 5 * time.Second

// patient returns options with such long pauses between attempts that only the message of a
// release wakes a waiter.
func patient() redlock.Options {
	return redlock.Options{RetryMin: 2 * patientPause, RetryMax: 2 * patientPause}
}

func TestFirstComeFirstServed(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	holder := dial(t, servers, redlock.Options{})
	l := lock(t, holder, "job")
	var order []int
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 5 {
		m := dial(t, servers, redlock.Options{})
		all.Go(func() {
			l, err := m.Lock(t.Context(), "job")
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			if err := l.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
		// Wait for all servers: the next waiter must not come first on a slow server.
		awaitWaitersOn(t, len(servers), holder, "job", int64(i+1))
	}
	unlock(t, l)
	all.Wait()
	if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
		t.Errorf("the waiters got the lock in the order %v, want the order of arrival", order)
	}
}

// A release wakes the next waiter before the waiter asks again.
func TestNotified(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5} {
		t.Run(fmt.Sprint(n, " servers"), func(t *testing.T) {
			t.Parallel()
			servers := redistest.Nodes(t, n)
			a, b := dial(t, servers, redlock.Options{}), dial(t, servers, patient())
			notified := 0
			wait(t, "locks that were granted before the waiter asked again", func() bool {
				l := lock(t, a, "job")
				begun := time.Now()
				got := make(chan *redlock.Lock)
				go func() { got <- lock(t, b, "job") }()
				awaitWaiters(t, a, "job", 1)
				awaitListener(t, clientsOf(t, servers), b)
				unlock(t, l)
				unlock(t, <-got)
				if time.Since(begun) < patientPause { // retry on a machine that stalls
					notified++
				}
				return notified == 10
			})
		})
	}
}

func TestCanceledWaiterLeavesTheQueue(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	a, b := dial(t, servers, redlock.Options{}), dial(t, servers, redlock.Options{})
	l := lock(t, a, "job")
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := b.Lock(ctx, "job")
		ended <- err
	}()
	awaitListener(t, clientsOf(t, servers), b) // all servers have answered
	awaitWaiters(t, a, "job", 1)
	cancel(enough)
	if err := <-ended; !errors.Is(err, redlock.ErrHeld) || !errors.Is(err, enough) {
		t.Errorf("Lock: %v; want ErrHeld and the cause of the context", err)
	}
	awaitWaiters(t, a, "job", 0)
	unlock(t, l)
	unlock(t, lock(t, a, "job"))
}

// A process that was killed while it waited does not get the name.
func TestWaiterKilled(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	// A grant lasts ten minutes.
	a := dial(t, servers, redlock.Options{})
	var held []*redlock.Lock
	for i := range 3 { // all names that the worker wants
		held = append(held, lock(t, a, fmt.Sprint("name", i)))
	}
	w := &workers{t: t, locks: map[string]holding{}}
	p := w.start(urls(servers), false)
	clients := clientsOf(t, servers)
	awaitListening(t, clients, "name0", 1)
	p.end(true)
	w.all.Wait()
	awaitSubscribers(t, clients, 0)
	for _, l := range held {
		unlock(t, l)
	}
	unlock(t, lock(t, a, "name0"))
}

// Goroutines of a process take turns without asking the servers.
func TestHandedOver(t *testing.T) {
	t.Parallel()
	for _, fencing := range []bool{false, true} {
		t.Run(fmt.Sprint("fencing ", fencing), func(t *testing.T) {
			t.Parallel()
			servers := redistest.Nodes(t, 3)
			clients := clientsOf(t, servers)
			m := dial(t, servers, redlock.Options{Fencing: fencing})
			var last uint64
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 20 {
						l := lock(t, m, "job")
						if fencing && l.Token() <= last {
							t.Errorf("token %d after %d", l.Token(), last)
						}
						last = l.Token()
						unlock(t, l)
					}
				})
			}
			all.Wait()
			if counts := redlock.CountsOf(m); counts.Turns < counts.Acquired {
				t.Errorf("%d turns, but the servers were asked for %d locks", counts.Turns, counts.Acquired)
			}
			// A hold that is handed over is refreshed on the servers before long.
			l := lock(t, m, "job")
			next := make(chan *redlock.Lock)
			go func() { next <- lock(t, m, "job") }()
			wait(t, "the hand-over", func() bool {
				if l != nil && l.Unlock(t.Context()) == nil {
					l = nil
				}
				return l == nil
			})
			l = <-next
			wait(t, "the value on the servers", func() bool {
				for _, client := range clients {
					if value, err := client.Do(t.Context(), client.B().Get().Key("job").Build()).ToString(); err != nil || value != redlock.Value(l) {
						return false
					}
				}
				return true
			})
			unlock(t, l)
			wait(t, "the name to be free", func() bool { return countKeys(t, clients, "job") == 0 })
		})
	}
}

// A process whose goroutines hand a lock over repeatedly still lets other processes in.
func TestHandoversLetOthersIn(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	a, b := dial(t, servers, redlock.Options{}), dial(t, servers, redlock.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				if l, err := a.Lock(ctx, "job"); err == nil {
					_ = l.Unlock(t.Context())
				}
			}
		})
	}
	for range 5 {
		unlock(t, lock(t, b, "job"))
	}
	cancel()
	all.Wait()
}

// Waiters behind a holder that never unlocks continue when the lock expires.
func TestHolderNeverUnlocks(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 1)
	m := dial(t, servers, redlock.Options{NodeTimeout: 100 * time.Millisecond})
	first := lock(t, m, "job", redlock.LockOptions{TTL: 400 * time.Millisecond})
	second := lock(t, m, "job")
	if now := time.Now(); now.Before(first.Until()) {
		t.Errorf("the second caller got the lock %v before the first lock expired", first.Until().Sub(now))
	}
	unlock(t, second)
}

// On a Cluster, the master of the slot of a name grants its locks.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	managers := make([]*redlock.Manager, 2)
	for i := range managers {
		opt := patient()
		opt.TTL, opt.NodeTimeout, opt.Fencing = 2*time.Second, 400*time.Millisecond, i == 0
		m, err := redlock.New([]rueidis.Client{cluster.Client(t)}, opt)
		require.OK(t)(err)
		t.Cleanup(func() { _ = m.Close() })
		managers[i] = m
	}
	a, b := managers[0], managers[1]
	for i := range 6 { // in slots of all masters
		name := fmt.Sprint("job", i)
		wait(t, "the masters to have been up for the ttl", func() bool {
			l, err := a.TryLock(t.Context(), name)
			if err != nil {
				return false
			}
			if l.Token() == 0 {
				t.Error("no token")
			}
			release(t, l)
			return true
		})
		wait(t, "a lock that does not expire in the meantime", func() bool {
			l := lock(t, a, name)
			other, err := b.TryLock(t.Context(), name)
			valid := l.Valid()
			if valid && !errors.Is(err, redlock.ErrHeld) && !errors.Is(err, redlock.ErrNoQuorum) {
				t.Errorf("TryLock: %v; want ErrHeld", err)
			}
			for _, l := range []*redlock.Lock{l, other} {
				if l != nil {
					release(t, l)
				}
			}
			return valid && errors.Is(err, redlock.ErrHeld)
		})
		release(t, lock(t, b, name))
	}
	if _, err := a.TryLock(t.Context(), "a}b"); err == nil {
		t.Error("a name whose keys lie in several slots was locked")
	}
	release(t, lock(t, a, "{a}b"))
}

// release unlocks a lock that may have expired.
func release(t *testing.T, l *redlock.Lock) {
	t.Helper()
	if err := l.Unlock(t.Context()); err != nil && !errors.Is(err, redlock.ErrLost) && !errors.Is(err, redlock.ErrNoQuorum) {
		t.Fatal(err)
	}
}
