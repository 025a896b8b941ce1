package site

import (
	"context"
	"log/slog"
	"time"

	"retwis/internal/redis/store"
)

// watchEvery is how often the memory of the servers is checked.
const watchEvery = 15 * time.Second

// WatchMemory logs warnings well before a server runs out of memory and refuses writes, until ctx
// ends.
func WatchMemory(ctx context.Context, db *store.Store, log *slog.Logger) {
	w := memoryWatch{log: log, reported: map[string]int{}}
	for {
		w.check(store.Memory(ctx, db.Client()))
		select {
		case <-time.After(watchEvery):
		case <-ctx.Done():
			return
		}
	}
}

// memoryWatch stores the level that was last reported for each server, so that each level is logged
// once.
type memoryWatch struct {
	log      *slog.Logger
	reported map[string]int // levels by server address, in percent
}

// levels are the memory usages, in percent, that are logged. Once the usage has been below calm,
// they are logged again.
var levels = []int{100, 90, 80}

const calm = 75

func (w *memoryWatch) check(servers []store.MemoryUse) {
	for _, s := range servers {
		percent := int(100 * s.Share())
		if percent < calm {
			delete(w.reported, s.Address)
			continue
		}
		for _, level := range levels {
			if percent < level {
				continue
			}
			if w.reported[s.Address] < level {
				w.reported[s.Address] = level
				w.report(s, percent)
			}
			break
		}
	}
}

func (w *memoryWatch) report(s store.MemoryUse, percent int) {
	attributes := []any{"server", s.Address, "used", s.Used, "maxmemory", s.Max, "percent", percent}
	switch {
	case percent >= 100:
		w.log.Error("the memory of the database is full: it refuses writes; pages can be read, and posts can be deleted", attributes...)
	case percent >= 90:
		w.log.Error("the memory of the database is nearly full: raise the limit (--max-memory, or maxmemory of your own server)", attributes...)
	default:
		w.log.Warn("the memory of the database is filling up: raise the limit in time (--max-memory, or maxmemory of your own server)", attributes...)
	}
}
