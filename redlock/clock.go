package redlock

import "time"

// monotonic is a clock that only runs forward, at the speed of time: nobody can set
// it. It stands still while the machine is suspended.
type monotonic struct {
	// id names the clock: processes that read the same one have the same id.
	id string
	// now reads it, in milliseconds.
	now func() int64
}

// processClock returns a clock that no other process reads.
func processClock() monotonic {
	start := time.Now()
	return monotonic{id: randomText(), now: func() int64 { return time.Since(start).Milliseconds() }}
}
