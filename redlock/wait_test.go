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
	"retwis/redlock"
)

// waiters waits until so many processes wait for a name, on a majority of the servers.
func waiters(t testing.TB, m *redlock.Manager, name string, n int64) {
	t.Helper()
	quorum, _ := m.Quorum()
	wait(t, fmt.Sprint(n, " waiters"), func() bool {
		status, err := m.Status(t.Context(), name)
		agreed := 0
		for _, s := range status {
			if s.Err == nil && s.Waiters == n {
				agreed++
			}
		}
		return err == nil && agreed >= quorum
	})
}

// patient polls so seldom that only the word of a release comes in time.
func patient() redlock.Options {
	return redlock.Options{RetryMin: 30 * time.Second, RetryMax: time.Minute}
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
		waiters(t, holder, "job", int64(i+1))
	}
	unlock(t, l)
	all.Wait()
	if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
		t.Errorf("they got it in the order %v", order)
	}
}

// A release notifies the next waiter, which does not have to poll.
func TestNotified(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5} {
		t.Run(fmt.Sprint(n, " servers"), func(t *testing.T) {
			t.Parallel()
			servers := redistest.Nodes(t, n)
			a, b := dial(t, servers, redlock.Options{}), dial(t, servers, patient())
			for range 20 {
				l := lock(t, a, "job")
				got := make(chan *redlock.Lock)
				go func() { got <- lock(t, b, "job") }()
				waiters(t, a, "job", 1)
				unlock(t, l)
				unlock(t, <-got) // lock gives up sooner than b would ask again
			}
		})
	}
}

func TestCanceledWaiterLeavesTheQueue(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	a, b := dial(t, servers, redlock.Options{}), dial(t, servers, redlock.Options{})
	l := lock(t, a, "job")
	enough := errors.New("enough")
	for try := 1; ; try++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() {
			_, err := b.Lock(ctx, "job")
			ended <- err
		}()
		waiters(t, a, "job", 1)
		cancel(enough)
		err := <-ended
		waiters(t, a, "job", 0)
		if errors.Is(err, redlock.ErrHeld) && errors.Is(err, enough) {
			break
		}
		// Or the servers have it in the queue, and did not answer yet.
		if try == 20 || !errors.Is(err, redlock.ErrNoQuorum) || !errors.Is(err, enough) {
			t.Fatalf("Lock: %v; want the cause, and ErrHeld", err)
		}
	}
	unlock(t, l)
	unlock(t, lock(t, a, "job"))
}

// A process that is killed while it waits delays the next one only briefly.
func TestWaiterKilled(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	// A grant is for 2 s.
	a := dial(t, servers, redlock.Options{NodeTimeout: 200 * time.Millisecond})
	var held []*redlock.Lock
	for i := range 3 { // all that the worker wants
		held = append(held, lock(t, a, fmt.Sprint("name", i)))
	}
	w := &workers{t: t, locks: map[string]holding{}}
	p := w.start(urls(servers), false)
	waiters(t, a, "name0", 1)
	p.end(true)
	w.all.Wait()
	begun := time.Now()
	for _, l := range held {
		unlock(t, l)
	}
	unlock(t, lock(t, a, "name0"))
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the next one waited %v for the dead", took)
	}
}

// Within a process the lock is handed over, with a new value each time.
func TestHandedOver(t *testing.T) {
	t.Parallel()
	for _, fencing := range []bool{false, true} {
		t.Run(fmt.Sprint("fencing ", fencing), func(t *testing.T) {
			t.Parallel()
			servers := redistest.Nodes(t, 3)
			clients := clientsOf(t, servers)
			m := dial(t, servers, redlock.Options{Fencing: fencing, NodeTimeout: 2 * time.Second})
			var last uint64
			values := map[string]bool{}
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 20 {
						l := lock(t, m, "job")
						if values[l.Value()] || fencing && l.Token() <= last {
							t.Errorf("value %s, token %d after %d", l.Value(), l.Token(), last)
						}
						values[l.Value()], last = true, l.Token()
						unlock(t, l)
					}
				})
			}
			all.Wait()
			if stats := m.Stats(); stats.Handed < stats.Acquired {
				t.Errorf("%d locks were handed on, and %d asked for", stats.Handed, stats.Acquired)
			}
			// What is handed on is on the servers too, before long.
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
					if value, err := client.Do(t.Context(), client.B().Get().Key("job").Build()).ToString(); err != nil || value != l.Value() {
						return false
					}
				}
				return true
			})
			unlock(t, l)
			wait(t, "the name to be free", func() bool { return keys(t, clients, "job") == 0 })
		})
	}
}

// A process that hands its lock on and on lets others have theirs.
func TestHandedOnWithBounds(t *testing.T) {
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
		begun := time.Now()
		unlock(t, lock(t, b, "job"))
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("the other manager waited %v: a release was lost", took)
		}
	}
	cancel()
	all.Wait()
}

// The waiters after a holder that never unlocks continue when its time is over.
func TestHolderForgets(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 1)
	m := dial(t, servers, short())
	first := lock(t, m, "job")
	second := lock(t, m, "job")
	if now := time.Now(); now.Before(first.Until()) {
		t.Errorf("the second got it %v before the first ran out", first.Until().Sub(now))
	}
	unlock(t, second)
}

func TestLockAll(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	clients := clientsOf(t, servers)
	opt := redlock.Options{NodeTimeout: 2 * time.Second}
	a, b := dial(t, servers, opt), dial(t, servers, opt)
	var all sync.WaitGroup
	for m, names := range map[*redlock.Manager][]string{a: {"x", "y", "z"}, b: {"z", "y", "x", "y"}} {
		all.Go(func() {
			for range 50 {
				locks, err := m.LockAll(t.Context(), names...)
				if err != nil {
					t.Error(err)
					return
				}
				if len(locks) != 3 || time.Until(locks.Until()) < time.Second {
					t.Errorf("%d locks until %v", len(locks), locks.Until())
				}
				if err := locks.Extend(t.Context()); err != nil {
					t.Error(err)
				}
				if err := locks.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()

	l := lock(t, a, "z")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := b.LockAll(ctx, "x", "y", "z"); !errors.Is(err, redlock.ErrHeld) {
		t.Errorf("LockAll: %v; want ErrHeld", err)
	}
	wait(t, "nothing to be held", func() bool { return keys(t, clients, "x")+keys(t, clients, "y") == 0 })
	unlock(t, l)
	if _, err := a.LockAll(t.Context()); err == nil {
		t.Error("LockAll of nothing is no error")
	}
}

// A name that is lost while LockAll waits for another one is not returned as held.
func TestLockAllLost(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	a, b := dial(t, servers, redlock.Options{ExtendEvery: 20 * time.Millisecond}), dial(t, servers, redlock.Options{})
	l := lock(t, b, "y")
	got := make(chan error)
	go func() {
		_, err := a.LockAll(t.Context(), "x", "y")
		got <- err
	}()
	waiters(t, b, "y", 1)
	if _, err := b.Break(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	other := lock(t, b, "x")
	wait(t, "the loss to be noticed", func() bool { return a.Stats().Lost == 1 })
	unlock(t, l)
	if err := <-got; !errors.Is(err, redlock.ErrLost) {
		t.Errorf("LockAll: %v; want ErrLost", err)
	}
	unlock(t, other)
}

func TestMaxExtensions(t *testing.T) {
	t.Parallel()
	opt := short()
	opt.MaxExtensions = 2
	m := dial(t, redistest.Nodes(t, 1), opt)
	begun := time.Now()
	err := m.Do(t.Context(), "job", func(ctx context.Context, _ *redlock.Lock) error {
		<-ctx.Done()
		return nil
	})
	if !errors.Is(err, redlock.ErrLost) {
		t.Errorf("Do: %v; want ErrLost", err)
	}
	if took := time.Since(begun); took < opt.TTL || took > 3*opt.TTL+5*time.Second {
		t.Errorf("the lock lived for %v", took)
	}
}

// On a Cluster a name has one master.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	managers := make([]*redlock.Manager, 2)
	for i := range managers {
		opt := patient()
		opt.TTL, opt.NodeTimeout, opt.Fencing = 2*time.Second, 400*time.Millisecond, i == 0
		m, err := redlock.New([]rueidis.Client{cluster.Client(t)}, opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		managers[i] = m
	}
	a, b := managers[0], managers[1]
	for i := range 10 { // in slots of all masters
		name := fmt.Sprint("job", i)
		wait(t, "the masters to have been up for the ttl", func() bool {
			l, err := a.TryLock(t.Context(), name)
			if err != nil {
				return false
			}
			if l.Token() == 0 {
				t.Error("no token")
			}
			unlock(t, l)
			return true
		})
		l := lock(t, a, name)
		if _, err := b.TryLock(t.Context(), name); !errors.Is(err, redlock.ErrHeld) {
			t.Errorf("TryLock: %v; want ErrHeld", err)
		}
		unlock(t, l)
		unlock(t, lock(t, b, name))
	}
	if _, err := a.TryLock(t.Context(), "a}b"); err == nil {
		t.Error("a name whose keys lie in several slots was taken")
	}
	unlock(t, lock(t, a, "{a}b"))
}
