package redlock

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// machineClock returns the clock that all processes of this machine share from boot
// to shutdown.
func machineClock() monotonic {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return processClock()
	}
	// A container may have a clock that starts elsewhere. Before Linux 5.6 there
	// is no such file, and none does.
	space, _ := os.Readlink("/proc/self/ns/time")
	now := func() int64 {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // fails for other clocks only
		return ts.Nano() / 1e6
	}
	return monotonic{id: sha1Hex(strings.TrimSpace(string(boot)) + space)[:16], now: now}
}
