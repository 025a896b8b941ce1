package redlock

import (
	"testing"
	"time"
	"unsafe"
)

// laterBy returns a time that is later by the monotonic clock only.
func laterBy(d time.Duration, t time.Time) time.Time {
	(*struct {
		wall uint64
		ext  int64 // the reading of the monotonic clock
	})(unsafe.Pointer(&t)).ext += int64(d)
	return t
}

// A lock is valid until the first of both clocks reaches its end: the monotonic clock stands still
// while a machine is suspended, and the wall clock can be set back.
func TestValidByBothClocks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, test := range []struct {
		name            string
		monotonic, wall time.Duration // how much of the lock is left
		valid           bool
	}{
		{"both clocks have time left", time.Hour, time.Hour, true},
		{"the machine was suspended", time.Hour, -time.Minute, false},
		{"the wall clock was set back", -time.Minute, time.Hour, false},
	} {
		until := laterBy(test.monotonic-test.wall, now.Add(test.wall))
		if until.Sub(now) != test.monotonic || until.Round(0).Sub(now.Round(0)) != test.wall {
			t.Fatalf("%s: %v left by the monotonic clock, %v by the wall clock", test.name, until.Sub(now), until.Round(0).Sub(now.Round(0)))
		}
		if l := (&Lock{hold: &hold{until: until}}); l.Valid() != test.valid {
			t.Errorf("%s: Valid = %v, want %v", test.name, l.Valid(), test.valid)
		}
	}
}
