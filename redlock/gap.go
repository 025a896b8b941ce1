package redlock

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"retwis/internal/elapsed"
	"retwis/redlock/internal/server"
)

// A name that is always handed over is never free, so clients of other libraries, which poll, would
// starve. Therefore a name is left free now and then, for a gap, and more often if another library
// uses the name. Waiters wait during the gap.
const (
	gapTime  = 10 * time.Millisecond
	gapEvery = time.Second
	// gapAfter is the minimum number of handovers before a name is left free.
	gapAfter = 4
	// sharedGapTime and sharedGapEvery apply if a lock of another library was seen within sharedFor.
	sharedGapTime  = 40 * time.Millisecond
	sharedGapEvery = 200 * time.Millisecond
	sharedFor      = 10 * time.Second
	// gapPoll is the interval at which the servers are asked during a gap who acquired the name.
	gapPoll = 2 * time.Millisecond
)

// gaps records when names were left free, and which names are shared with other libraries. It is
// approximate, because several names share a slot.
type gaps struct {
	seed  maphash.Seed
	slots [256]gapSlot
}

type gapSlot struct {
	last      atomic.Int64 // when the name was last left free
	handovers atomic.Int64 // number of handovers since then
	shared    atomic.Int64 // when another library was last seen to hold the name
}

func (g *gaps) slot(name string) *gapSlot {
	return &g.slots[maphash.String(g.seed, name)%uint64(len(g.slots))]
}

// noteForeign records that another library holds the name.
func (g *gaps) noteForeign(name string, now time.Time) { g.slot(name).shared.Store(elapsed.At(now)) }

// shared reports whether another library uses the name.
func (g *gaps) shared(name string, now time.Time) bool {
	return elapsed.At(now)-g.slot(name).shared.Load() < int64(sharedFor)
}

// next returns the length of the gap at a handover, usually 0. The servers skip the gap if another
// manager left the name free within every.
func (g *gaps) next(name string, now time.Time) (length, every time.Duration) {
	slot := g.slot(name)
	length, every = gapTime, gapEvery
	after := int64(gapAfter)
	if g.shared(name, now) {
		length, every, after = sharedGapTime, sharedGapEvery, 1
	}
	handovers, last := slot.handovers.Add(1), slot.last.Load()
	if handovers < after || elapsed.At(now)-last < int64(every) {
		return 0, 0
	}
	if !slot.last.CompareAndSwap(last, elapsed.At(now)) || last == 0 {
		return 0, 0 // the first handover of this name
	}
	slot.handovers.Store(0)
	return length, every
}

// endGap ends a gap: the servers grant the name to the next waiter, unless another client has
// acquired the name. During the gap, endGap polls the servers for such a client.
func (m *Manager) endGap(gap time.Duration, acquired server.Op, from nodeSet) {
	step := gap + time.Millisecond
	if !m.gaps.shared(acquired.Name, time.Now()) {
		step = min(step, gapPoll)
	}
	time.AfterFunc(step, func() {
		r := newRound(m.voters.nodes, m.voters.quorum, acquired, time.Now())
		r.all = true
		r.onDecided = func(bool) {
			if r.foreign() {
				m.gaps.noteForeign(acquired.Name, time.Now())
			}
		}
		r.send(from)
		if gap > step {
			m.endGap(gap-step, acquired, from)
		}
	})
}
