package lock

import (
	"syscall"
)

// attributes puts a command into a process group of its own, if asked to. When
// retwis is killed, nobody extends the lock any more, and the command ends too.
func attributes(group bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: group, Pdeathsig: syscall.SIGTERM}
}
