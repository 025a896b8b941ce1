package lock

import (
	"syscall"
)

// attributes puts a command into its own process group if group is set. The command
// ends when retwis is killed, because then the lock is no longer extended.
func attributes(group bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: group, Pdeathsig: syscall.SIGTERM}
}
