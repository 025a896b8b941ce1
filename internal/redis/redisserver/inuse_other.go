//go:build !linux

package redisserver

// inUse is not supported on this system.
func inUse(string) string { return "" }
