package redlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock/internal/server"
)

// schedule is one simulated history: managers compete for names while servers freeze, restart and
// lose data, and the network loses and delays messages.
type schedule struct {
	seed      uint64
	forgetful bool          // inject a bug: servers vote immediately after a restart
	byClock   bool          // inject a bug: a quarantine ends by the server's clock
	drift     time.Duration // 0: the default
	fencing   bool
	maxHold   time.Duration // 0: none
	unlimited bool          // inject a bug: locks do not end after maxHold
	length    time.Duration
	// outages limits the faults to paused processes and links that hold back their data, and makes
	// holders hold locks for a long time.
	outages bool
	// harmless is the number of servers in a schedule whose faults lose nothing; see
	// TestSimulationOfHarmlessFaults.
	harmless int
}

// simulate runs a schedule and returns the violations and the number of locks acquired.
func simulate(t *testing.T, s schedule) (violations []string, locks int) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, s)
		w.play()
		violations, locks = w.violations, w.locks
	})
	return violations, locks
}

// world is a running simulation.
type world struct {
	schedule
	servers  []*simServer
	managers []*Manager
	pace     time.Duration // maximum time between two faults
	net      *simNet
	links    []*simLink

	mu         sync.Mutex
	active     map[string][]*Lock // locks that may be held, by name
	since      map[*Lock]time.Time
	tokens     map[string]uint64 // the greatest token so far, by name
	violations []string
	locks      int       // number of locks acquired
	free       time.Time // when the name was last free, in a harmless schedule
}

const (
	simServers = 5
	simCount   = 4 // number of managers
	simTTL     = time.Second
	// simStep limits how far a clock may be set forward, once per simTTL. Together with the rate of
	// the clock, the step stays within the default Options.Drift.
	simStep = 3 * time.Millisecond
)

func newWorld(t *testing.T, s schedule) *world {
	rng := rand.New(rand.NewPCG(s.seed, 1))
	w := &world{
		pace:     300*time.Millisecond + time.Duration(rng.Int64N(int64(3*time.Second))),
		schedule: s, active: map[string][]*Lock{}, since: map[*Lock]time.Time{}, tokens: map[string]uint64{},
		net: &simNet{rng: rng, loss: rng.Float64() * 0.03, slow: rng.Float64() * 0.05, cuts: map[*simLink]bool{}, holds: map[*simLink]simHold{}},
	}
	count, ttl := simServers, simTTL
	if s.harmless > 0 {
		count, ttl = s.harmless, harmlessTTL
		w.net.loss, w.net.slow, w.net.harmless = 0, 0, true
	}
	for i := range count {
		// Clocks that are up to 0.8% fast end locks early.
		server := newSimServer(fmt.Sprint("server", i), 1+rng.Float64()*0.008)
		server.index, server.forgetful, server.byClock = i, s.forgetful, s.byClock
		w.servers = append(w.servers, server)
	}
	if s.outages { // outages need time to take effect
		w.pace += 700 * time.Millisecond
	}
	w.net.calm = true
	opt := Options{TTL: ttl, Drift: s.drift, Fencing: s.fencing, MaxHold: s.maxHold}
	if s.unlimited {
		opt.MaxHold = 0
	}
	for i := range simCount {
		if s.outages && i%2 == 1 { // grants the name for a shorter time than the others
			opt.NodeTimeout = simTTL / 100
		}
		w.managers = append(w.managers, w.manager(t, opt))
	}
	w.net.calm = false
	return w
}

// manager returns a manager with a link to each server.
func (w *world) manager(t *testing.T, opt Options) *Manager {
	links := make([]server.Server, len(w.servers))
	for i, s := range w.servers {
		l := &simLink{server: s, known: simMachine{name: strconv.Itoa(len(w.managers) % 2)}, net: w.net}
		links[i] = l
		w.links = append(w.links, l)
	}
	m, err := newManager(links, opt, func(m *Manager) {
		for _, l := range links {
			l.(*simLink).m = m
		}
	})
	require.OK(t)(err)
	return m
}

// play runs the schedule to its end.
func (w *world) play() {
	ctx, cancel := context.WithTimeout(context.Background(), w.length)
	defer cancel()
	var all sync.WaitGroup
	for i, m := range w.managers {
		for j := range 2 {
			rng := rand.New(rand.NewPCG(w.seed, uint64(100+10*i+j)))
			if w.harmless > 0 {
				all.Go(func() { w.competeHarmless(ctx, m, rng) })
				continue
			}
			all.Go(func() { w.compete(ctx, m, rng) })
		}
	}
	inject := w.injectFaults
	if w.harmless > 0 {
		inject = w.injectHarmlessFaults
	}
	all.Go(func() { inject(ctx, rand.New(rand.NewPCG(w.seed, 2))) })
	all.Wait()
	w.net.mu.Lock()
	w.net.calm = true
	w.net.mu.Unlock()
	for _, s := range w.servers {
		s.change(func() { s.frozen = false })
	}
	for _, m := range w.managers {
		_ = m.Close()
	}
	w.net.late.Wait()
}

// compete locks, holds, extends and unlocks names, or abandons locks.
func (w *world) compete(ctx context.Context, m *Manager, rng *rand.Rand) {
	for ctx.Err() == nil {
		name := fmt.Sprint("name", rng.IntN(2))
		waiting, cancel := context.WithTimeout(ctx, time.Duration(rng.Int64N(int64(3*time.Second))))
		var l *Lock
		var err error
		if rng.IntN(4) == 0 {
			l, err = m.TryLock(waiting, name)
		} else {
			l, err = m.Lock(waiting, name)
		}
		cancel()
		if err == nil {
			w.acquired(l)
			w.hold(ctx, l, rng)
		}
		time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Millisecond))))
	}
}

// hold simulates the holder of a lock.
func (w *world) hold(ctx context.Context, l *Lock, rng *rand.Rand) {
	kind := rng.IntN(12)
	if w.outages && kind > 5 {
		kind = 2
	}
	switch kind {
	case 0: // never unlocks, as if the process died
		time.Sleep(time.Until(l.Until()))
		return
	case 1: // holds the lock until it expires
		<-l.Context().Done()
	case 2: // extends the lock
		for range rng.IntN(4) {
			time.Sleep(time.Duration(rng.Int64N(int64(simTTL))))
			if l.Extend(ctx) == nil {
				w.checkHolders(l)
			}
		}
	default:
		time.Sleep(time.Duration(rng.Int64N(int64(30 * time.Millisecond))))
	}
	w.checkHolders(l)
	_ = l.Unlock(context.WithoutCancel(ctx))
}

// acquired checks a new lock: no other client holds the name, and the token is the greatest so
// far.
func (w *world) acquired(l *Lock) {
	w.mu.Lock()
	w.locks++
	if w.fencing {
		if last := w.tokens[l.Name()]; l.Token() <= last {
			w.violations = append(w.violations, fmt.Sprintf("%s: token %d after %d", l.Name(), l.Token(), last))
		}
		w.tokens[l.Name()] = max(w.tokens[l.Name()], l.Token())
	}
	w.active[l.Name()] = append(w.active[l.Name()], l)
	w.since[l] = time.Now()
	w.mu.Unlock()
	w.checkHolders(l)
}

// checkHolders checks that at most one lock of a name is held, and none for longer than maxHold.
func (w *world) checkHolders(l *Lock) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	var held []*Lock
	for _, other := range w.active[l.Name()] {
		if !other.validAt(now) {
			delete(w.since, other)
			continue
		}
		held = append(held, other)
		if took := now.Sub(w.since[other]); w.maxHold > 0 && took >= w.maxHold {
			w.violations = append(w.violations, fmt.Sprintf("%s has been held for %v; the limit is %v", l.Name(), took, w.maxHold))
		}
	}
	if len(held) > 1 {
		w.violations = append(w.violations, fmt.Sprintf("%s has %d holders", l.Name(), len(held)))
	}
	w.active[l.Name()] = held
	if l.validAt(now) && len(held) == 0 {
		w.active[l.Name()] = []*Lock{l}
	}
}

// injectFaults breaks servers and connections, and repairs some of them.
func (w *world) injectFaults(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rng.Int64N(int64(w.pace))))
		s := w.servers[rng.IntN(len(w.servers))]
		fault := rng.IntN(13)
		if w.outages {
			fault = 7 + fault%3
		}
		if w.byClock && rng.IntN(2) == 0 { // the bug then shows in tens of schedules, not hundreds
			fault = 12
		}
		switch fault {
		case 0:
			s.change(func() { s.frozen = true })
		case 1:
			s.restart(newSimData())
		case 2:
			s.mu.Lock()
			kept := s.data.clone()
			s.mu.Unlock()
			s.restart(kept)
		case 3: // with the data on its disk
			s.mu.Lock()
			kept := s.snapshot
			s.mu.Unlock()
			if kept.keys != nil {
				s.restart(kept.clone())
			}
		case 4:
			s.change(func() { s.snapshot = s.data.clone() })
		case 5:
			l := w.links[rng.IntN(len(w.links))]
			w.net.mu.Lock()
			w.net.cuts[l] = !w.net.cuts[l]
			w.net.mu.Unlock()
		case 6:
			s.change(func() { s.up = false; s.boot++; s.subscribers = nil })
			away := time.Duration(rng.Int64N(int64(time.Second)))
			w.net.late.Go(func() {
				time.Sleep(away)
				s.restart(newSimData())
			})
		case 7, 8: // a process pauses, and receives later what was sent meanwhile
			m := w.managers[rng.IntN(len(w.managers))]
			length := 500*time.Millisecond + time.Duration(rng.Int64N(int64(2500*time.Millisecond)))
			for _, l := range w.links {
				if l.m == m {
					w.net.hold(l, length, length+w.resumeDelay(rng))
				}
			}
		case 9: // an outage of a link that loses nothing
			length := time.Duration(rng.Int64N(int64(2 * time.Second)))
			w.net.hold(w.links[rng.IntN(len(w.links))], length, length+w.resumeDelay(rng))
		case 10: // a clock is set back: locks on the server last longer
			s := w.servers[rng.IntN(len(w.servers)/2)]
			s.change(func() { s.offset -= time.Duration(rng.Int64N(int64(5 * time.Second))) })
		case 11: // a clock is set forward, by less than Options.Drift allows
			if w.drift == 0 && time.Since(s.stepped) > simTTL {
				s.change(func() { s.offset += time.Duration(rng.Int64N(int64(simStep))); s.stepped = time.Now() })
			}
		case 12: // a machine boots with a slow clock, until NTP sets it
			behind := time.Duration(rng.Int64N(int64(10 * time.Second)))
			s.change(func() { s.offset -= behind })
			s.restart(newSimData())
			s.mu.Lock()
			boot := s.boot
			s.mu.Unlock()
			w.net.late.Go(func() {
				time.Sleep(simTTL / 2)
				s.change(func() {
					if s.boot == boot { // a later run may have granted locks by the slow clock
						s.offset += behind
					}
				})
			})
		}
		for _, s := range w.servers {
			if rng.IntN(3) == 0 {
				s.change(func() { s.frozen = false })
			}
		}
	}
}

// resumeDelay returns how much later the second connection of a link resumes.
func (w *world) resumeDelay(rng *rand.Rand) time.Duration {
	if rng.IntN(2) == 0 {
		return 0
	}
	return time.Duration(rng.Int64N(int64(300 * time.Millisecond)))
}

// schedules returns how many schedules to run: the long tests run three times RAPID_CHECKS.
func schedules(t *testing.T) int {
	t.Helper()
	const few = 48
	text := os.Getenv("RAPID_CHECKS")
	if text == "" || !redistest.Long {
		return few
	}
	checks, err := strconv.Atoi(text)
	require.OK(t)(err)
	return max(few, 3*checks)
}

// TestSimulationFindsInjectedBugs injects bugs, each of which some schedule must reveal.
func TestSimulationFindsInjectedBugs(t *testing.T) {
	t.Parallel()
	bugs := map[string]func(*schedule){
		"no quarantine": func(s *schedule) { s.forgetful = true },
		"its own clock": func(s *schedule) { s.byClock = true },
		"no drift":      func(s *schedule) { s.drift = time.Nanosecond },
		"no limit":      func(s *schedule) { s.maxHold, s.unlimited = simTTL/2, true },
	}
	for name, inject := range bugs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range 10_000 {
				s := schedule{seed: uint64(i), length: 10 * time.Second}
				inject(&s)
				if violations, _ := simulate(t, s); len(violations) > 0 {
					t.Logf("schedule %d: %s", i, violations[0])
					return
				}
			}
			t.Fatal("no schedule revealed the bug")
		})
	}
}

// TestSimulation checks that no name has two holders and no token decreases, whatever faults
// servers and network have.
func TestSimulation(t *testing.T) {
	t.Parallel()
	const shards = 4
	for shard := range shards {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			locks := 0
			for i := shard; i < schedules(t); i += shards {
				s := schedule{seed: uint64(i), fencing: i%8 < 4, outages: i%2 == 1, length: 10 * time.Second}
				if i%16 < 8 {
					s.maxHold = simTTL/10 + time.Duration(i)*simTTL/50
				}
				violations, n := simulate(t, s)
				locks += n
				if len(violations) > 0 {
					t.Fatalf("schedule %d: %v", i, violations)
				}
			}
			if locks < schedules(t) {
				t.Errorf("only %d locks were acquired", locks)
			}
		})
	}
}

// leftBehind makes managers ask for a name at the same time, so that votes are split, and returns
// how many keys remain. With keepLosers, failed attempts do not release their votes.
func leftBehind(t *testing.T, schedules int, keepLosers bool) (left int) {
	for i := range schedules {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, schedule{seed: uint64(i)})
			w.net.calm = true
			var mu sync.Mutex
			winners := map[string]bool{}
			if keepLosers {
				w.net.drops = func(o *server.Op) bool {
					mu.Lock()
					defer mu.Unlock()
					return o.Kind == server.Release && !winners[o.Value]
				}
			}
			var all sync.WaitGroup
			for _, m := range w.managers {
				all.Go(func() {
					l, err := m.TryLock(context.Background(), "name")
					if err != nil {
						return
					}
					mu.Lock()
					winners[l.value] = true
					mu.Unlock()
					_ = l.Unlock(context.Background())
				})
			}
			all.Wait()
			time.Sleep(simTTL / 10)
			for _, s := range w.servers {
				s.mu.Lock()
				if _, taken := s.holder("name"); taken {
					left++
				}
				s.mu.Unlock()
			}
			for _, m := range w.managers {
				_ = m.Close()
			}
		})
	}
	return left
}

// TestFailureLeavesNothing checks that a failed attempt releases its votes long before they expire,
// and that the test detects votes that are not released.
func TestFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	if left := leftBehind(t, 100, false); left > 0 {
		t.Errorf("%d keys left behind", left)
	}
	if left := leftBehind(t, 100, true); left == 0 {
		t.Error("the test does not detect unreleased votes")
	}
}
