package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"retwis/redlock/internal/server"
)

const (
	// harmlessTTL is so long that a name that is blocked for a TTL is a violation.
	harmlessTTL = 10 * time.Second
	// harmlessGap is how long a name may be free while a client waits for it: a few consecutive
	// faults.
	harmlessGap = time.Second
)

// competeHarmless locks one name continuously, and checks that the name is never free for long and
// that no lock is lost.
func (w *world) competeHarmless(ctx context.Context, m *Manager, rng *rand.Rand) {
	for ctx.Err() == nil {
		began := time.Now()
		l, err := m.Lock(ctx, "name")
		if err != nil {
			continue // the simulation ends
		}
		w.acquired(l)
		w.mu.Lock()
		if w.free.After(began) {
			began = w.free
		}
		if waited := time.Since(began); waited > harmlessGap {
			w.violations = append(w.violations, fmt.Sprintf("the name was free for %v while a client waited", waited))
		}
		w.mu.Unlock()
		time.Sleep(time.Duration(rng.Int64N(int64(10 * time.Millisecond))))
		if rng.IntN(4) == 0 {
			w.checkLost(l.Extend(ctx))
		}
		w.checkHolders(l)
		w.checkLost(l.Unlock(context.WithoutCancel(ctx)))
	}
}

// checkLost checks the error of Extend or Unlock, after which the name may be free.
func (w *world) checkLost(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free = time.Now()
	if errors.Is(err, ErrLost) {
		w.violations = append(w.violations, err.Error())
	}
}

// injectHarmlessFaults breaks connections and stalls servers, for less than a third of a second.
func (w *world) injectHarmlessFaults(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		time.Sleep(harmlessGap/2 + time.Duration(rng.Int64N(int64(w.pace))))
		length := 80*time.Millisecond + time.Duration(rng.Int64N(int64(220*time.Millisecond)))
		if rng.IntN(2) == 0 {
			s := w.servers[rng.IntN(len(w.servers))]
			s.change(func() { s.frozen = true })
			time.Sleep(length)
			s.change(func() { s.frozen = false })
			continue
		}
		cut := []*simLink{w.links[rng.IntN(len(w.links))]}
		if rng.IntN(2) == 0 { // all connections of a process
			cut = cut[:0]
			for _, l := range w.links {
				if l.m == w.managers[0] {
					cut = append(cut, l)
				}
			}
		}
		w.cut(cut, true)
		time.Sleep(length)
		w.cut(cut, false)
	}
}

// cut breaks or repairs links.
func (w *world) cut(links []*simLink, cut bool) {
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	for _, l := range links {
		w.net.cuts[l] = cut
	}
}

// TestSimulationOfHarmlessFaults breaks connections and stalls servers, and injects no other
// faults: no name is blocked, and no lock is lost.
func TestSimulationOfHarmlessFaults(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprint(servers, " servers"), func(t *testing.T) {
			t.Parallel()
			for i := range schedules(t) / 8 {
				violations, n := simulate(t, schedule{seed: uint64(i), fencing: i%4 == 3, harmless: servers, length: 15 * time.Second})
				if len(violations) > 0 {
					t.Fatalf("schedule %d: %d locks, %v", i, n, violations)
				}
			}
		})
	}
}

// TestVoteOfSlowServer gives a waiter the vote of a server that then does not answer for a moment,
// while the other servers make the waiter start over. The waiter must withdraw the vote: otherwise
// the name would be blocked on the slow server for a TTL.
func TestVoteOfSlowServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, schedule{harmless: 3})
		a, b, c := w.servers[0], w.servers[1], w.servers[2]
		set := func(s *simServer, value string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if delete(s.data.keys, "name"); value != "" {
				s.set("name", value, harmlessTTL)
			}
		}
		holder := func(s *simServer) string {
			s.mu.Lock()
			defer s.mu.Unlock()
			key, _ := s.holder("name")
			return key.value
		}
		first, second := server.NewValue(), server.NewValue()
		for _, s := range w.servers {
			set(s, first)
		}
		var acquired time.Time
		var waiting sync.WaitGroup
		waiting.Go(func() {
			l, err := w.managers[0].Lock(t.Context(), "name")
			if err != nil {
				t.Error(err)
				return
			}
			acquired = time.Now()
			_ = l.Unlock(t.Context())
		})
		time.Sleep(time.Second)
		set(a, "")
		time.Sleep(time.Second)
		vote := holder(a)
		if vote == "" || vote == first {
			t.Fatalf("the first server has %q: the waiter has not asked", vote)
		}
		a.change(func() { a.frozen = true })
		time.Sleep(harmlessGap / 2)
		set(b, second)
		set(c, "")
		time.Sleep(harmlessGap / 2)
		a.change(func() { a.frozen = false })
		thawed := time.Now()
		waiting.Wait()
		if took := acquired.Sub(thawed); took > harmlessGap {
			t.Errorf("the waiter got the lock after %v: the first server kept the old vote", took)
		}
		time.Sleep(harmlessGap)
		for _, s := range []*simServer{a, c} {
			if left := holder(s); left != "" {
				t.Errorf("%s still has %q", s.label, left)
			}
		}
		for _, m := range w.managers {
			_ = m.Close()
		}
		w.net.late.Wait()
	})
}
