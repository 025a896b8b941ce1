//go:build !linux

package lock

import "syscall"

// attributes returns the attributes of a command, which joins a process group if join is set.
func attributes(group int, join bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: join}
	if join {
		a.Pgid = group
	}
	return a
}
