//go:build !linux

package clock

// Machine returns the clock of this process: not all systems have one that processes
// share.
func Machine() Clock { return process() }
