//go:build !linux

package lock

import "syscall"

// attributes puts a command into its own process group if group is set.
func attributes(group bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: group} }
