//go:build !linux

package main

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func lockThread() (unlock func()) { return func() {} }
