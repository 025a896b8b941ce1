//go:build !linux

package lock

import "syscall"

// attributes puts a command into a process group of its own, if asked to.
func attributes(group bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: group} }
