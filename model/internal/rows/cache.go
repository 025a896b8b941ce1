package rows

import (
	"sync"
	"time"
)

// recentWrites holds the records that a Store has recently written, each with a unique number.
// The server's invalidation of a cached record arrives on another connection than the reply to
// the write, possibly later. So reads after a write include its number in the command, and are
// cached separately. Entries cached before the write expire after Options.Cache; then the
// number is dropped.
type recentWrites struct {
	ttl  time.Duration // 0: no caching
	mu   sync.RWMutex
	last int64
	all  map[string]written
	most int     // size at which expired entries are removed
	base written // applies to every record
}

// written is one write.
type written struct {
	number int64
	at     time.Time
}

const (
	maxWrites   = 1 << 16     // maximum records with their own number
	writesSlack = time.Second // time a number is kept beyond Options.Cache
)

// numberOf returns the number of the last write of a record, or 0.
func (w *recentWrites) numberOf(id string) int64 {
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

// Add records a finished write, whatever its outcome.
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
