//go:build !linux

package redisserver

import (
	"os"
	"syscall"
)

// attributes put the server in a process group of its own. Only Linux ends a
// child with its parent: elsewhere a server outlives a parent that is killed,
// and the next one that opens its directory joins it.
func attributes(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

func lockThread() (unlock func()) { return func() {} }

func ownerOf(info os.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
