package redlock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"retwis/internal/require"
)

// queued starts goroutines that wait in the local queue, and returns the locks they get.
func queued(t *testing.T, m *Manager, name string, n int) <-chan *Lock {
	t.Helper()
	got := make(chan *Lock, n)
	for i := range n {
		go func() {
			l, err := m.Lock(t.Context(), name)
			if err != nil {
				t.Error(err)
			}
			got <- l
		}()
		for wanting(m, name) <= i {
			time.Sleep(time.Millisecond)
		}
	}
	return got
}

// wanting returns how many goroutines of a process wait for a name, locally or on the servers.
func wanting(m *Manager, name string) int {
	m.localQueues.mu.Lock()
	defer m.localQueues.mu.Unlock()
	g := m.localQueues.byName[name]
	if g == nil {
		return 0
	}
	if g.asking {
		return len(g.line) + 1
	}
	return len(g.line)
}

// lockNow acquires a lock in a simulation.
func lockNow(t *testing.T, m *Manager, name string) *Lock {
	t.Helper()
	l, err := m.Lock(t.Context(), name)
	require.OK(t)(err)
	return l
}

func unlockNow(t *testing.T, l *Lock) {
	t.Helper()
	require.OK(t)(l.Unlock(t.Context()))
}

// A hold has fencing tokens for its caller and for the goroutines waiting when the servers are
// asked, and the next holder, in any process, has a greater token.
func TestTokensOfTurns(t *testing.T) {
	withManagers(t, Options{Fencing: true}, func(t *testing.T, ctx context.Context, ms []*Manager) {
		a, b := ms[0], ms[1]
		var last uint64
		next := func(l *Lock) {
			t.Helper()
			if l.Token() <= last {
				t.Errorf("token %d after %d", l.Token(), last)
			}
			last = l.Token()
			unlockNow(t, l)
		}
		for _, waiting := range []int{0, 1, 5, 2*maxTokens + 3} {
			first := lockNow(t, b, "name")
			got := queued(t, a, "name", waiting+1)
			next(first)
			holds := map[*hold]int{}
			for range waiting + 1 {
				l := <-got
				if holds[l.hold]++; l.tokens > maxTokens || holds[l.hold] > l.tokens {
					t.Errorf("turn %d of a hold with %d tokens", holds[l.hold], l.tokens)
				}
				next(l)
			}
			if most := waiting/maxTokens + 2; len(holds) > most {
				t.Errorf("%d goroutines had %d holds; want %d at most", waiting+1, len(holds), most)
			}
		}
		next(lockNow(t, b, "name"))

		// Two goroutines that come back immediately take turns, too.
		var all sync.WaitGroup
		before := a.voters.stats.turns.Load()
		for range 2 {
			all.Go(func() {
				for range 100 {
					l := lockNow(t, a, "name")
					time.Sleep(100 * time.Microsecond)
					unlockNow(t, l)
				}
			})
		}
		all.Wait()
		if turns := a.voters.stats.turns.Load() - before; turns < 150 {
			t.Errorf("%d turns of 200 locks", turns)
		}
	})
}

// A turn that starts a moment later notices that the servers lost the lock: its context ends, and
// no further turn is given.
func TestTurnNoticesLoss(t *testing.T) {
	calmly(t, func(t *testing.T, w *world) {
		m := w.managers[0]
		l := lockNow(t, m, "name")
		got := queued(t, m, "name", 2)
		time.Sleep(checkAfter + time.Millisecond)
		for _, s := range w.servers {
			s.change(func() { delete(s.data.keys, "name") })
		}
		lost := l.hold
		unlockNow(t, l)
		l = <-got
		if l.hold != lost {
			t.Fatal("the lock was not handed over: the test is void")
		}
		begun := time.Now()
		<-l.Context().Done()
		within(t, "the loss was noticed", time.Since(begun), 0, checkAfter)
		if cause := context.Cause(l.Context()); !errors.Is(cause, ErrLost) || l.Valid() {
			t.Errorf("the cause is %v, valid %v; want ErrLost", cause, l.Valid())
		}
		// The next waiter does not wait for that turn.
		next := <-got
		if next.hold == lost {
			t.Error("a turn was given on a lost hold")
		}
		if err := l.Unlock(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("Unlock: %v; want ErrLost", err)
		}
		if !next.Valid() {
			t.Error("the late end of one holder released the lock of the next")
		}
		unlockNow(t, next)
	})
}

// Turns are given only for a short time after a loss, even if each of them is too short to see
// the reply of the servers.
func TestShortTurnsNoticeLoss(t *testing.T) {
	calmly(t, func(t *testing.T, w *world) {
		m := w.managers[0]
		l := lockNow(t, m, "name")
		lost, got := l.hold, queued(t, m, "name", 64)
		for _, s := range w.servers {
			s.change(func() { delete(s.data.keys, "name") })
		}
		begun := time.Now()
		for l.hold == lost {
			time.Sleep(time.Millisecond / 2)
			_ = l.Unlock(t.Context())
			l = <-got
		}
		// The check, its reply, and the attempt of the next waiter.
		within(t, "the last turn on a lost hold", time.Since(begun), 0, 3*checkAfter)
		for range 64 {
			_ = l.Unlock(t.Context())
			if m.localQueues.waiting("name") == 0 && len(got) == 0 {
				break
			}
			l = <-got
		}
	})
}

// A process that is paused between the end of a turn and the start of the next one does not start
// that turn when it resumes: the hold may have expired.
func TestStoppedBeforeTurn(t *testing.T) {
	calmly(t, func(t *testing.T, w *world) {
		m, other := w.managers[0], w.managers[1]
		l := lockNow(t, m, "name")
		place := m.localQueues.join("name", simTTL)
		unlockNow(t, l)
		if len(place.given) != 1 {
			t.Fatal("the turn was not handed over")
		}
		time.Sleep(2 * simTTL)
		theirs := lockNow(t, other, "name")
		h, err := m.turn(t.Context(), "name", place)
		if h != nil || err != nil {
			t.Fatalf("it got the turn anyway (%v)", err)
		}
		m.localQueues.leave("name")
		if err := theirs.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		unlockNow(t, theirs)
		unlockNow(t, lockNow(t, m, "name"))
	})
}

// A loss that is noticed between two turns ends the hold, too.
func TestLossBetweenTurns(t *testing.T) {
	calmly(t, func(t *testing.T, w *world) {
		m := w.managers[0]
		l := lockNow(t, m, "name")
		got := queued(t, m, "name", 1)
		place := m.localQueues.join("name", simTTL)
		time.Sleep(checkAfter + time.Millisecond)
		for _, s := range w.servers {
			s.change(func() { delete(s.data.keys, "name") })
		}
		unlockNow(t, l)
		unlockNow(t, <-got)        // while the check is pending
		time.Sleep(4 * checkAfter) // the servers have answered
		h, err := m.turn(t.Context(), "name", place)
		if len(place.given) != 0 || h != nil || err != nil {
			t.Errorf("a turn on a lost hold (%v)", err)
		}
		m.localQueues.leave("name")
	})
}

// The goroutine whose turn it is may just have given up: the next one gets it.
func TestTurnOfCanceledGoroutine(t *testing.T) {
	calmly(t, func(t *testing.T, w *world) {
		m := w.managers[0]
		l := lockNow(t, m, "name")
		place := m.localQueues.join("name", simTTL)
		got := queued(t, m, "name", 2)
		before := l.hold
		unlockNow(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.turn(ctx, "name", place); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrHeld) {
			t.Errorf("%v; want Canceled and ErrHeld", err)
		}
		for i := range 2 {
			l = <-got
			if l.hold != before {
				t.Errorf("goroutine %d had to ask the servers", i)
			}
			unlockNow(t, l)
		}
	})
}

// If Extend finds the lock expired, the next goroutine does not wait.
func TestExtendOfExpiredLock(t *testing.T) {
	calmly(t, func(t *testing.T, w *world) {
		m := w.managers[0]
		l := lockNow(t, m, "name")
		got := queued(t, m, "name", 1)
		l.mu.Lock()
		l.until = time.Now()
		l.mu.Unlock()
		if err := l.Extend(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("Extend: %v; want ErrLost", err)
		}
		unlockNow(t, <-got) // without Unlock of the first
	})
}

// A process gives turns only for a short time while another process waits, however long the turns
// take.
func TestShareOfHold(t *testing.T) {
	for name, work := range map[string]time.Duration{"no work": 0, "short": time.Millisecond, "long": 3 * minShare} {
		t.Run(name, func(t *testing.T) {
			withManagers(t, Options{}, func(t *testing.T, ctx context.Context, ms []*Manager) {
				stop, cancel := context.WithCancel(ctx)
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						for stop.Err() == nil {
							l, err := ms[0].Lock(stop, "name")
							if err != nil {
								return
							}
							time.Sleep(work + time.Microsecond) // otherwise the simulated clock would stand still
							_ = l.Unlock(ctx)
						}
					})
				}
				for range 10 {
					begun := time.Now()
					l := lockNow(t, ms[1], "name")
					within(t, "another process waited", time.Since(begun), 0, minShare+work+gapTime+20*time.Millisecond)
					unlockNow(t, l)
				}
				cancel()
				all.Wait()
			})
		})
	}
}

// An unlocked lock leaves no timer behind.
func TestUnlockStopsTheTimer(t *testing.T) {
	calmly(t, func(t *testing.T, w *world) {
		l := lockNow(t, w.managers[0], "name")
		unlockNow(t, l)
		if l.timer.Stop() {
			t.Error("its timer still runs")
		}
	})
}

// A turn starts with most of its TTL, and a caller with another TTL gets its own.
func TestTurnGetsFullTTL(t *testing.T) {
	withManagers(t, Options{}, func(t *testing.T, ctx context.Context, ms []*Manager) {
		m := ms[0]
		l := lockNow(t, m, "name")
		got := queued(t, m, "name", 1)
		for i := range 5 {
			time.Sleep(simTTL / 10 * time.Duration(i))
			unlockNow(t, l)
			l = <-got
			if left := time.Until(l.Until()); left < simTTL/2 {
				t.Errorf("a turn has %v of %v", left, simTTL)
			}
			if i < 4 {
				got = queued(t, m, "name", 1)
			}
		}
		longer := make(chan *Lock)
		go func() {
			l, err := m.Lock(ctx, "name", LockOptions{TTL: 5 * simTTL})
			if err != nil {
				t.Error(err)
			}
			longer <- l
		}()
		for m.localQueues.waiting("name") == 0 {
			time.Sleep(time.Millisecond)
		}
		unlockNow(t, l)
		l = <-longer
		if left := time.Until(l.Until()); left < 4*simTTL {
			t.Errorf("a lock with a TTL of %v has %v", 5*simTTL, left)
		}
		unlockNow(t, l)
	})
}
