//go:build long

package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

const (
	harmlessLength = 30 * time.Minute
	// harmlessGap limits how long the name may be free while a client waits. A stale value would
	// block the name for the TTL of ten seconds.
	harmlessGap = time.Second
)

// TestHarmlessHistories breaks connections, cuts links, stalls servers for up to 300 ms and
// flushes scripts, on real servers with default options, and injects no other faults. No holder
// finds its lock lost, unless the machine itself stalls, and no name is free for long while a
// client waits for it.
func TestHarmlessHistories(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 3} {
		t.Run(fmt.Sprint(count, " servers"), func(t *testing.T) {
			t.Parallel()
			h := newHarmless(t, count)
			h.play(harmlessLength, harmlessGap)
		})
	}
}

const (
	// confirmTime is the time in which a waiter must confirm a granted lock.
	confirmTime = 400 * time.Millisecond
	// harmfulStall is a stall of the machine that can lose a lock: a fault takes up to 300 ms of
	// confirmTime.
	harmfulStall = 90 * time.Millisecond
)

// loss is the error of a holder that finds its lock lost.
type loss struct {
	at  time.Time
	err error
}

// harmless is a history of one name.
type harmless struct {
	t        *testing.T
	servers  []*redistest.Server
	clients  []rueidis.Client
	links    [][]*relay // of each manager, to each server
	managers []*redlock.Manager
	rng      *rand.Rand
	faults   int

	mu         sync.Mutex
	holder     *redlock.Lock
	free       time.Time // when the name was last unlocked
	locks      int
	longest    time.Duration // longest time in which the name was free while a client waited
	stall      time.Duration // longest stall of this process
	stalls     []time.Time   // ends of stalls long enough to lose a lock
	lost       []loss
	violations []string
}

func newHarmless(t *testing.T, count int) *harmless {
	servers := redistest.Nodes(t, count)
	h := &harmless{t: t, servers: servers, clients: clientsOf(t, servers), rng: rand.New(rand.NewPCG(rand.Uint64(), 1)), free: time.Now()}
	for range 4 {
		var links []*relay
		var urls []string
		for _, s := range h.servers {
			link := startRelay(t, "unix", s.Socket())
			links, urls = append(links, link), append(urls, link.url())
		}
		m, err := redlock.Dial(urls, redlock.Options{})
		require.OK(t)(err)
		h.links, h.managers = append(h.links, links), append(h.managers, m)
	}
	wait(t, "the servers to be trusted", func() bool { return h.managers[0].SkipQuarantine(t.Context()) == nil })
	return h
}

// play runs the history and checks it.
func (h *harmless) play(length, gap time.Duration) {
	ctx, cancel := context.WithTimeout(h.t.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	for i, m := range h.managers {
		defer m.Close()
		for range 1 + i%2*4 { // one goroutine, or five with a local queue
			all.Go(func() { h.compete(ctx, m) })
		}
	}
	all.Go(func() { h.watchMachine(ctx) })
	for ctx.Err() == nil {
		h.fault()
		time.Sleep(500*time.Millisecond + rand.N(500*time.Millisecond)) // interval between faults
	}
	all.Wait()
	h.t.Logf("%d locks, %d faults, free for %v at most while a client waited, the machine stalled for %v", h.locks, h.faults, h.longest, h.stall)
	for _, violation := range h.violations {
		h.t.Error(violation)
	}
	for _, l := range h.lost {
		if !slices.ContainsFunc(h.stalls, func(end time.Time) bool { return l.at.Sub(end).Abs() < confirmTime }) {
			h.t.Error(l.err)
		}
	}
	if limit := gap + 3*h.stall; h.longest > limit {
		h.t.Errorf("the name was free for %v while a client waited, more than %v", h.longest, limit)
	}
	if h.locks < 100 {
		h.t.Errorf("only %d locks, want at least 100", h.locks)
	}
}

// compete locks the name continuously.
func (h *harmless) compete(ctx context.Context, m *redlock.Manager) {
	for {
		began := time.Now()
		l, err := m.Lock(ctx, "name")
		if ctx.Err() != nil {
			if l != nil {
				_ = l.Unlock(context.WithoutCancel(ctx))
			}
			return
		}
		if err != nil {
			h.addViolation("Lock: %v", err)
			continue
		}
		h.acquired(l, began)
		time.Sleep(rand.N(10 * time.Millisecond))
		if rand.N(4) == 0 {
			h.check("Extend", l.Extend(ctx))
		}
		h.mu.Lock()
		if h.holder == l {
			h.holder = nil
		}
		h.mu.Unlock()
		err = l.Unlock(context.WithoutCancel(ctx))
		h.mu.Lock()
		h.free = time.Now()
		h.mu.Unlock()
		h.check("Unlock", err)
	}
}

// acquired records a new lock.
func (h *harmless) acquired(l *redlock.Lock, began time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.locks++
	if h.free.After(began) {
		began = h.free
	}
	h.longest = max(h.longest, time.Since(began))
	if h.holder != nil && h.holder.Valid() && l.Valid() {
		h.violations = append(h.violations, "two valid locks of the name at the same time")
	}
	h.holder = l
}

// check records an error that says that a lock was lost.
func (h *harmless) check(what string, err error) {
	if errors.Is(err, redlock.ErrLost) {
		h.mu.Lock()
		h.lost = append(h.lost, loss{time.Now(), fmt.Errorf("%s: %w", what, err)})
		h.mu.Unlock()
	}
}

func (h *harmless) addViolation(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.violations = append(h.violations, fmt.Sprintf(format, args...))
}

// fault injects a fault that loses nothing.
func (h *harmless) fault() {
	h.faults++
	length := 80*time.Millisecond + rand.N(220*time.Millisecond)
	i := h.rng.IntN(len(h.servers))
	server, client := h.servers[i], h.clients[i]
	managerLinks := h.links[h.rng.IntN(len(h.links))]
	link := managerLinks[i]
	switch h.rng.IntN(6) {
	case 0:
		for _, kind := range []string{"normal", "pubsub"} {
			_ = client.Do(h.t.Context(), client.B().Arbitrary("CLIENT", "KILL", "TYPE", kind).Build()).Error()
		}
	case 1:
		link.cut()
	case 2:
		link.change(func() { link.refuses = true })
		link.cut()
		time.Sleep(length)
		link.change(func() { link.refuses = false })
	case 3: // one link, or all links of a process
		held := []*relay{link}
		if h.rng.IntN(2) == 0 {
			held = managerLinks
		}
		for _, link := range held {
			link.hold(commands, length)
			link.hold(messages, length)
		}
	case 4:
		server.Freeze(h.t)
		time.Sleep(length)
		server.Thaw(h.t)
	default:
		_ = client.Do(h.t.Context(), client.B().ScriptFlush().Build()).Error()
	}
}

// watchMachine measures the stalls of this process.
func (h *harmless) watchMachine(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		time.Sleep(time.Millisecond)
		h.mu.Lock()
		stall := time.Since(began) - time.Millisecond
		h.stall = max(h.stall, stall)
		if stall > harmfulStall {
			h.stalls = append(h.stalls, time.Now())
		}
		h.mu.Unlock()
	}
}
