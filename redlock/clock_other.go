//go:build !linux

package redlock

// machineClock returns the clock of this process: there is none that all systems
// share in the same way.
func machineClock() monotonic { return processClock() }
