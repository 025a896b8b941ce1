package lock

import (
	"syscall"
)

// attributes returns the attributes of a command, which joins a process group if join is set. The
// command gets SIGTERM when retwis is killed, even if the guard is killed, too.
func attributes(group int, join bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: join, Pdeathsig: syscall.SIGTERM}
	if join {
		a.Pgid = group
	}
	return a
}
