package rows

import (
	"sync"
	"time"
)

// recentWrites holds the records that a Store has recently written, each with a unique number.
// The server's invalidation of a cached record arrives on another connection than the reply to
// the write, possibly later. Reads after a write therefore include the number of the write in
// the command, and are cached separately. Entries cached before the write expire after
// Options.Cache; then the number is dropped.
type recentWrites struct {
	ttl     time.Duration // 0: no caching
	mu      sync.RWMutex
	last    int64
	all     map[string]written
	sweepAt int     // size at which expired entries are removed
	base    written // applies to every record
}

// written is a finished write.
type written struct {
	number int64
	at     time.Time
}

const (
	maxWrites   = 1 << 16     // records with their own number
	writesSlack = time.Second // time a number is kept beyond Options.Cache
)

// numberOf returns the number of the last write of a record, or 0.
func (w *recentWrites) numberOf(id string) int64 {
	w.mu.RLock()
	write, base := w.all[id], w.base
	w.mu.RUnlock()
	number := int64(0)
	if now := time.Now(); write.number > 0 && !w.expired(write, now) {
		number = write.number
	} else if base.number > 0 && !w.expired(base, now) {
		number = base.number
	}
	return number
}

// expired reports whether the number of a write is no longer needed.
func (w *recentWrites) expired(write written, now time.Time) bool {
	return now.Sub(write.at) > w.ttl+writesSlack
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
		w.all, w.sweepAt = map[string]written{}, 1024
	}
	w.all[id] = written{w.last, now}
	if len(w.all) <= w.sweepAt {
		return
	}
	for id, write := range w.all {
		if w.expired(write, now) {
			delete(w.all, id)
		}
	}
	if len(w.all) > maxWrites {
		clear(w.all)
		w.base = written{w.last, now}
	}
	w.sweepAt = max(1024, min(2*len(w.all), maxWrites))
}
