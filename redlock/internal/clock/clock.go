// Package clock reads a clock that nothing can set.
package clock

import (
	"crypto/rand"
	"time"
)

// Clock is a monotonic clock: it runs at the speed of time and cannot be set. It stops
// while the machine is suspended.
type Clock struct {
	// ID identifies the clock: processes that read the same one have the same ID.
	ID string
	// Now reads it, in milliseconds.
	Now func() int64
}

// process returns a clock that no other process reads.
func process() Clock {
	start := time.Now()
	return Clock{ID: rand.Text(), Now: func() int64 { return time.Since(start).Milliseconds() }}
}
