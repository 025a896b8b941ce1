package record

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"retwis/model/internal/schema"
)

// clock estimates the time of a server, from the replies of scripts. What is written with
// an estimate that is wrong by more than half a second is refused, and written again with
// the time in the reply. So no time depends on the clock of a client, and a record can
// have it in its index entries, which the client computes.
type clock struct{ ahead atomic.Int64 } // of this process, in milliseconds

// now returns the time in milliseconds.
func (c *clock) now() int64 { return time.Now().UnixMilli() + c.ahead.Load() }

func (c *clock) set(now int64) { c.ahead.Store(now - time.Now().UnixMilli()) }

// clockOf returns the clock of the server of a partition.
func (t *Table) clockOf(p *schema.Partition) *clock {
	for i := range t.Layout.Parts {
		if p == &t.Layout.Parts[i] {
			return &t.clocks[i]
		}
	}
	return &t.clocks[0]
}

// errClock is returned if the estimate was wrong. Nothing was written.
var errClock = errors.New("the clock of the server shows another time")

// maxClock is how often a write is repeated because of that.
const maxClock = 20

// WithClock calls do until its estimate of the time is right.
func WithClock(do func() error) error {
	for range maxClock {
		if err := do(); !errors.Is(err, errClock) {
			return err
		}
	}
	return fmt.Errorf("%w: a write did not reach the server within half a second, %d times", schema.ErrConflict, maxClock)
}
