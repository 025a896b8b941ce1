package record

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"retwis/model/internal/schema"
)

// clock estimates the time of a server from the replies of scripts. A write with an estimate
// that is wrong by more than half a second is refused, and repeated with the time in the reply.
// Stored times therefore do not depend on the clock of a client, and can be part of index
// entries, which the client computes.
type clock struct{ ahead atomic.Int64 } // ahead of this process, in milliseconds

// now returns the estimated time of the server in milliseconds.
func (c *clock) now() int64 { return time.Now().UnixMilli() + c.ahead.Load() }

// set sets the time of the server in milliseconds.
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

// errClock is returned if the estimated time of a write was wrong. Nothing was written.
var errClock = errors.New("the estimated time of the server was wrong")

// maxClockRetries limits retries after a clock mismatch.
const maxClockRetries = 20

// WithClock calls do until the estimate of the time is right.
func WithClock(do func() error) error {
	for range maxClockRetries {
		if err := do(); !errors.Is(err, errClock) {
			return err
		}
	}
	return fmt.Errorf("%w: a write did not reach the server within half a second, %d times", schema.ErrConflict, maxClockRetries)
}
