// Package elapsed measures time within a process. Unlike [time.Time.UnixNano], its values do not
// jump when the clock is set, which could make a timeout of a second last an hour longer.
package elapsed

import "time"

// start is a hundred years ago, so that the zero value of a time is in the distant past, even by
// the simulated clock of tests, which starts in 2000. AddDate would drop the monotonic clock.
var start = time.Now().Add(-100 * 365 * 24 * time.Hour)

// Now returns the current time in nanoseconds. The value is meaningless to other processes.
func Now() int64 { return At(time.Now()) }

// At returns the time of a [time.Now] of this process, in nanoseconds.
func At(t time.Time) int64 { return int64(t.Sub(start)) }
