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
		for countWaiting(m, name) <= i {
			time.Sleep(time.Millisecond)
		}
	}
	return got
}

// countWaiting returns how many goroutines of a process wait for a name, locally or on the servers.
func countWaiting(m *Manager, name string) int {
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

// mustLock acquires a lock, and ends the test on an error.
func mustLock(t *testing.T, m *Manager, name string) *Lock {
	t.Helper()
	l, err := m.Lock(t.Context(), name)
	require.OK(t)(err)
	return l
}

// mustUnlock unlocks a lock, and ends the test on an error.
func mustUnlock(t *testing.T, l *Lock) {
	t.Helper()
	require.OK(t)(l.Unlock(t.Context()))
}

// A hold has fencing tokens for the caller and for the goroutines that wait when the servers are
// asked. The next holder, in any process, has a greater token.
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
			mustUnlock(t, l)
		}
		for _, waiting := range []int{0, 1, 5, 2*maxTokens + 3} {
			first := mustLock(t, b, "name")
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
			if maxHolds := waiting/maxTokens + 2; len(holds) > maxHolds {
				t.Errorf("%d goroutines had %d holds; want at most %d", waiting+1, len(holds), maxHolds)
			}
		}
		next(mustLock(t, b, "name"))

		// Two goroutines that lock the name again immediately also take turns.
		var all sync.WaitGroup
		before := a.voters.stats.turns.Load()
		for range 2 {
			all.Go(func() {
				for range 100 {
					l := mustLock(t, a, "name")
					time.Sleep(100 * time.Microsecond)
					mustUnlock(t, l)
				}
			})
		}
		all.Wait()
		if turns := a.voters.stats.turns.Load() - before; turns < 150 {
			t.Errorf("%d turns for 200 locks, want at least 150", turns)
		}
	})
}

// A turn that starts after checkAfter detects that the servers have lost the hold: the context of
// the turn ends, and no further turn is given.
func TestTurnNoticesLoss(t *testing.T) {
	withWorld(t, func(t *testing.T, w *world) {
		m := w.managers[0]
		l := mustLock(t, m, "name")
		got := queued(t, m, "name", 2)
		time.Sleep(checkAfter + time.Millisecond)
		for _, s := range w.servers {
			s.change(func() { delete(s.data.keys, "name") })
		}
		lost := l.hold
		mustUnlock(t, l)
		l = <-got
		if l.hold != lost {
			t.Fatal("the lock was not handed over: the test is void")
		}
		begun := time.Now()
		<-l.Context().Done()
		checkWithin(t, "the loss was noticed", time.Since(begun), 0, checkAfter)
		if cause := context.Cause(l.Context()); !errors.Is(cause, ErrLost) || l.Valid() {
			t.Errorf("the cause is %v, valid %v; want ErrLost", cause, l.Valid())
		}
		// The next waiter does not wait for the end of that turn.
		next := <-got
		if next.hold == lost {
			t.Error("a turn was given on a lost hold")
		}
		if err := l.Unlock(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("Unlock: %v; want ErrLost", err)
		}
		if !next.Valid() {
			t.Error("the late Unlock of the first holder released the lock of the next holder")
		}
		mustUnlock(t, next)
	})
}

// Turns are given only for a short time after a loss, even if each turn is too short to receive the
// reply of the servers.
func TestShortTurnsNoticeLoss(t *testing.T) {
	withWorld(t, func(t *testing.T, w *world) {
		m := w.managers[0]
		l := mustLock(t, m, "name")
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
		checkWithin(t, "the last turn on a lost hold", time.Since(begun), 0, 3*checkAfter)
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
	withWorld(t, func(t *testing.T, w *world) {
		m, other := w.managers[0], w.managers[1]
		l := mustLock(t, m, "name")
		place := m.localQueues.join("name", simTTL)
		mustUnlock(t, l)
		if len(place.given) != 1 {
			t.Fatal("the turn was not handed over")
		}
		time.Sleep(2 * simTTL)
		otherLock := mustLock(t, other, "name")
		h, err := m.turn(t.Context(), "name", place)
		if h != nil || err != nil {
			t.Fatalf("the paused process started its turn (%v)", err)
		}
		m.localQueues.leave("name")
		if err := otherLock.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		mustUnlock(t, otherLock)
		mustUnlock(t, mustLock(t, m, "name"))
	})
}

// A loss that is detected between two turns also ends the hold.
func TestLossBetweenTurns(t *testing.T) {
	withWorld(t, func(t *testing.T, w *world) {
		m := w.managers[0]
		l := mustLock(t, m, "name")
		got := queued(t, m, "name", 1)
		place := m.localQueues.join("name", simTTL)
		time.Sleep(checkAfter + time.Millisecond)
		for _, s := range w.servers {
			s.change(func() { delete(s.data.keys, "name") })
		}
		mustUnlock(t, l)
		mustUnlock(t, <-got)       // while the check is pending
		time.Sleep(4 * checkAfter) // the servers have answered
		h, err := m.turn(t.Context(), "name", place)
		if len(place.given) != 0 || h != nil || err != nil {
			t.Errorf("a turn was given on a lost hold (%v)", err)
		}
		m.localQueues.leave("name")
	})
}

// If the goroutine that is given a turn has just given up, the next goroutine gets the turn.
func TestTurnOfCanceledGoroutine(t *testing.T) {
	withWorld(t, func(t *testing.T, w *world) {
		m := w.managers[0]
		l := mustLock(t, m, "name")
		place := m.localQueues.join("name", simTTL)
		got := queued(t, m, "name", 2)
		before := l.hold
		mustUnlock(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.turn(ctx, "name", place); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrHeld) {
			t.Errorf("turn: %v; want Canceled and ErrHeld", err)
		}
		for i := range 2 {
			l = <-got
			if l.hold != before {
				t.Errorf("goroutine %d had to ask the servers", i)
			}
			mustUnlock(t, l)
		}
	})
}

// If Extend finds the lock expired, the next goroutine does not wait.
func TestExtendOfExpiredLock(t *testing.T) {
	withWorld(t, func(t *testing.T, w *world) {
		m := w.managers[0]
		l := mustLock(t, m, "name")
		got := queued(t, m, "name", 1)
		l.mu.Lock()
		l.until = time.Now()
		l.mu.Unlock()
		if err := l.Extend(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("Extend: %v; want ErrLost", err)
		}
		mustUnlock(t, <-got) // without Unlock of the first lock
	})
}

// A process gives turns only for a short time while another process waits, however long each turn
// takes.
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
					l := mustLock(t, ms[1], "name")
					checkWithin(t, "another process waited", time.Since(begun), 0, minShare+work+gapTime+20*time.Millisecond)
					mustUnlock(t, l)
				}
				cancel()
				all.Wait()
			})
		})
	}
}

// An unlocked lock leaves no timer behind.
func TestUnlockStopsTheTimer(t *testing.T) {
	withWorld(t, func(t *testing.T, w *world) {
		l := mustLock(t, w.managers[0], "name")
		mustUnlock(t, l)
		if l.timer.Stop() {
			t.Error("the timer of an unlocked lock still runs")
		}
	})
}

// A turn starts with at least half of its TTL, and a caller with another TTL gets that TTL.
func TestTurnGetsFullTTL(t *testing.T) {
	withManagers(t, Options{}, func(t *testing.T, ctx context.Context, ms []*Manager) {
		m := ms[0]
		l := mustLock(t, m, "name")
		got := queued(t, m, "name", 1)
		for i := range 5 {
			time.Sleep(simTTL / 10 * time.Duration(i))
			mustUnlock(t, l)
			l = <-got
			if left := time.Until(l.Until()); left < simTTL/2 {
				t.Errorf("a turn has %v left of a TTL of %v", left, simTTL)
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
		mustUnlock(t, l)
		l = <-longer
		if left := time.Until(l.Until()); left < 4*simTTL {
			t.Errorf("a lock has %v left of a TTL of %v", left, 5*simTTL)
		}
		mustUnlock(t, l)
	})
}
