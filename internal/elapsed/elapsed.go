// Package elapsed measures time within a process. A clock that somebody sets does not change
// it, which [time.Time.UnixNano] follows: what was to last a second would last an hour more.
package elapsed

import "time"

// start is a hundred years ago, so that the zero value of a time is long ago, by the simulated
// clock of tests, which begins in 2000, too. AddDate would drop the monotonic clock.
var start = time.Now().Add(-100 * 365 * 24 * time.Hour)

// Now is the present time, in nanoseconds. It means nothing to other processes.
func Now() int64 { return At(time.Now()) }

// At is the time of a [time.Now] of this process, in nanoseconds.
func At(t time.Time) int64 { return int64(t.Sub(start)) }
