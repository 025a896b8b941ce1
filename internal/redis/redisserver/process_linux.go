package redisserver

import (
	"os"
	"runtime"
	"syscall"
)

// attributes puts the server into its own process group, so that Ctrl-C does not end the server
// before the program, and makes the kernel signal the server when its parent dies.
func attributes(death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
}

func lockThread() (unlock func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

func ownerOf(info os.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
