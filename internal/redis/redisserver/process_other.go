//go:build !linux

package redisserver

import (
	"os"
	"syscall"
)

// attributes puts the server into its own process group. Only Linux ends a child with its parent: on
// other systems a server survives a killed parent, and the next process that opens the data
// directory uses that server.
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
