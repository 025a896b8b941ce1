package redlock

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// A name that is handed on and on is never free, and clients of other libraries, which
// poll, would never get it. So it is left free for a moment now and then, and more
// often where another library was seen to use it: the line waits meanwhile.
const (
	gapTime  = 10 * time.Millisecond
	gapEvery = time.Second
	// gapAfter is how often a name is handed on at least before it is left free.
	gapAfter = 4
	// Where a lock of another library was seen within sharedFor.
	sharedGapTime  = 40 * time.Millisecond
	sharedGapEvery = 200 * time.Millisecond
	sharedFor      = 10 * time.Second
	// gapLook is how often the servers are asked, during a gap, who took the name.
	gapLook = 2 * time.Millisecond
)

// gaps remembers, roughly, when names were left free, and shared.
type gaps struct {
	seed  maphash.Seed
	slots [256]gapSlot
}

type gapSlot struct {
	last   atomic.Int64 // when it was left free
	turns  atomic.Int64 // how often it was handed on since
	shared atomic.Int64 // when another library was seen to have it
}

func (g *gaps) slot(name string) *gapSlot {
	return &g.slots[maphash.String(g.seed, name)%uint64(len(g.slots))]
}

// see notes that another library has the name.
func (g *gaps) see(name string, now time.Time) { g.slot(name).shared.Store(now.UnixNano()) }

// shared says whether another library uses the name.
func (g *gaps) shared(name string, now time.Time) bool {
	return now.UnixNano()-g.slot(name).shared.Load() < int64(sharedFor)
}

// next returns for how long a name that others wait for is left free now, as a rule
// not at all, unless another manager has left it free within every.
func (g *gaps) next(name string, now time.Time) (length, every time.Duration) {
	slot := g.slot(name)
	length, every = gapTime, gapEvery
	after := int64(gapAfter)
	if g.shared(name, now) {
		length, every, after = sharedGapTime, sharedGapEvery, 1
	}
	turns, last := slot.turns.Add(1), slot.last.Load()
	if turns < after || now.UnixNano()-last < int64(every) {
		return 0, 0
	}
	if !slot.last.CompareAndSwap(last, now.UnixNano()) || last == 0 {
		return 0, 0 // it was wanted for the first time just now
	}
	slot.turns.Store(0)
	return length, every
}

// after ends a gap: the servers give the name to the next in line, unless another one
// has taken it. Until then they are asked whether one has.
func (m *Manager) after(gap time.Duration, taken op, from nodeSet) {
	step := gap + time.Millisecond
	if !m.gaps.shared(taken.name, time.Now()) {
		step = min(step, gapLook)
	}
	time.AfterFunc(step, func() {
		r := newRound(m.nodes, m.quorum, taken, time.Now())
		r.all = true
		r.then = func(bool) {
			if r.foreign() {
				m.gaps.see(taken.name, time.Now())
			}
		}
		r.send(from)
		if gap > step {
			m.after(gap-step, taken, from)
		}
	})
}

// foreign says that a lock of another library has the name on some server.
func (r *round) foreign() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, answered := range r.replies {
		if answered.foreign || answered.answer == no && isForeign(answered.value) {
			return true
		}
	}
	return false
}

// isForeign says that a value is not one of randomText.
func isForeign(value string) bool { return value != "" && len(value) != valueLength }

// valueLength is how long a value of randomText is.
const valueLength = 27
