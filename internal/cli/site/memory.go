package site

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
)

// MaxMemory is the value of --max-memory: how much memory an embedded server may use.
type MaxMemory struct{ bytes int64 }

// leastMemory is less than a server with a small site needs.
const leastMemory = 16 << 20

// AddMaxMemory adds the flag.
func AddMaxMemory(c *shell.Command, to *MaxMemory) {
	c.Flags().Var(to, "max-memory", "how much memory our own server may use: auto (60 % of the machine's), none, or a size such as 2GB")
}

// Bytes is store.Options.MaxMemory.
func (m *MaxMemory) Bytes() int64 { return m.bytes }

// Type implements pflag.Value.
func (m *MaxMemory) Type() string { return "size" }

func (m *MaxMemory) String() string {
	switch m.bytes {
	case 0:
		return "auto"
	case store.NoMemoryLimit:
		return "none"
	}
	size := shell.ByteSize(m.bytes)
	return size.String()
}

// Set implements pflag.Value.
func (m *MaxMemory) Set(text string) error {
	var size shell.ByteSize
	switch {
	case text == "auto":
		m.bytes = 0
	case text == "none":
		m.bytes = store.NoMemoryLimit
	case size.Set(text) != nil:
		return errors.New("use auto, none, or a size such as 512MB or 2GB")
	case size < leastMemory:
		return fmt.Errorf("%d bytes are too few: use at least 16MB", size)
	default:
		m.bytes = int64(size)
	}
	return nil
}

// watchEvery is how often the memory of the servers is looked at.
const watchEvery = 15 * time.Second

// WatchMemory warns in the log long before a server refuses writes because its memory is
// full, until ctx ends.
func WatchMemory(ctx context.Context, db *store.Store, log *slog.Logger) {
	w := memoryWatch{log: log, reported: map[string]int{}}
	for {
		w.look(store.Memory(ctx, db.Client()))
		select {
		case <-time.After(watchEvery):
		case <-ctx.Done():
			return
		}
	}
}

// memoryWatch remembers what it has reported of each server, so that a line is logged once.
type memoryWatch struct {
	log      *slog.Logger
	reported map[string]int // percent
}

// The shares of the memory at which a line is logged. Below calm, they are logged again.
var levels = []int{100, 90, 80}

const calm = 75

func (w *memoryWatch) look(servers []store.MemoryUse) {
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
		w.log.Error("the memory of the database is full: it takes no writes; pages can be read, and posts can be deleted", attributes...)
	case percent >= 90:
		w.log.Error("the memory of the database is nearly full: raise the limit (--max-memory, or maxmemory of your own server)", attributes...)
	default:
		w.log.Warn("the memory of the database fills up: raise the limit in time (--max-memory, or maxmemory of your own server)", attributes...)
	}
}
