package record

import (
	"sync"
	"time"
)

// writes are the records that a Store has written lately, each with a number that
// no other write has. The message by which a server takes a record out of the memory
// of the client comes on another connection than the reply to the write, and perhaps
// later: so reads after a write name its number, and are remembered by that. What was
// remembered before the write ends after the time that records are kept for, and the
// number with it.
type recentWrites struct {
	ttl  time.Duration // 0: nothing is remembered
	mu   sync.RWMutex
	last int64
	all  map[string]written
	most int     // how many to have before those that have ended are looked for
	base written // of every record
}

// written is a write.
type written struct {
	number int64
	at     time.Time
}

const (
	maxWrites   = 1 << 16     // records that are told apart
	writesSlack = time.Second // how much longer than that a number is kept
)

// of is the number of the last write of a record, or 0.
func (w *recentWrites) of(id string) int64 {
	w.mu.RLock()
	one, base := w.all[id], w.base
	w.mu.RUnlock()
	number := int64(0)
	if now := time.Now(); one.number > 0 && !w.ended(one, now) {
		number = one.number
	} else if base.number > 0 && !w.ended(base, now) {
		number = base.number
	}
	return number
}

func (w *recentWrites) ended(one written, now time.Time) bool {
	return now.Sub(one.at) > w.ttl+writesSlack
}

// add takes note of a write that is over, whatever came of it.
func (w *recentWrites) Add(id string) {
	if w.ttl == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.last++
	if w.all == nil {
		w.all, w.most = map[string]written{}, 1024
	}
	w.all[id] = written{w.last, now}
	if len(w.all) <= w.most {
		return
	}
	for id, one := range w.all {
		if w.ended(one, now) {
			delete(w.all, id)
		}
	}
	if len(w.all) > maxWrites {
		clear(w.all)
		w.base = written{w.last, now}
	}
	w.most = max(1024, min(2*len(w.all), maxWrites))
}
