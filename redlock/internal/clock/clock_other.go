//go:build !linux

package clock

// Machine returns a clock of this process, because not all systems have a clock that processes
// share.
func Machine() Clock { return processClock() }
