// Package clock reads a clock that cannot be set.
package clock

import (
	"crypto/rand"
	"time"
)

// Clock is a monotonic clock: it runs at normal speed and cannot be set. It stops while the
// machine is suspended.
type Clock struct {
	// ID identifies the clock: processes that read the same clock have the same ID.
	ID string
	// Now returns the time in milliseconds.
	Now func() int64
}

// processClock returns a clock that only this process reads.
func processClock() Clock {
	start := time.Now()
	return Clock{ID: rand.Text(), Now: func() int64 { return time.Since(start).Milliseconds() }}
}
