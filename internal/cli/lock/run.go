package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"retwis/internal/cli/shell"
	"retwis/redlock"
)

// lockedCommand is a command that runs under a lock.
type lockedCommand struct {
	program string
	args    []string // including the name
	env     shell.Env
	grace   time.Duration
	maxTime time.Duration // 0 for no limit
	guard   *guard
}

// run runs the command and returns its exit code as an error.
func (c lockedCommand) run(ctx context.Context, l *redlock.Lock, signals <-chan os.Signal) error {
	// A signal ends the wait for a lock, but not a running command: supervise passes the signal on
	// to the command.
	var code int
	var runErr, lost error
	err := l.Keep(context.WithoutCancel(ctx), func(held context.Context, l *redlock.Lock) error {
		code, lost, runErr = c.supervise(held, l, signals)
		return nil
	})
	switch {
	case lost != nil: // already reported
		return shell.Exit(exitOfLost(lost), nil)
	case err != nil:
		return shell.Exit(exitOfLost(err), c.explain(l, err))
	case runErr != nil || code != 0:
		return shell.Exit(code, runErr)
	}
	return nil
}

// explain names --max-time in the error if that flag ended the lock.
func (c lockedCommand) explain(l *redlock.Lock, lost error) error {
	if errors.Is(lost, redlock.ErrMaxHold) {
		return fmt.Errorf("%q: held for %v, the most that --max-time allows", l.Name(), c.maxTime)
	}
	return lost
}

// supervise starts the command and returns its exit code, and the reason if the lock was lost
// before the command ended.
func (c lockedCommand) supervise(held context.Context, l *redlock.Lock, signals <-chan os.Signal) (code int, lost, err error) {
	// On Linux the command gets a signal when the thread that started the command ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := &exec.Cmd{
		Path: c.program, Args: c.args, Env: c.environment(l),
		Stdin: c.env.Stdin, Stdout: c.env.Stdout, Stderr: c.env.Stderr,
	}
	// An interactive command must stay in the foreground process group of its terminal. Any other
	// command joins the guard's group, so that its child processes can be ended, too.
	terminal, shared := c.terminal()
	group, err := c.guard.group()
	if err != nil {
		return shell.ExitFailure, nil, err
	}
	cmd.SysProcAttr = attributes(group, !shared)
	if err := cmd.Start(); err != nil {
		return exitNotExecutable, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	pid := -group
	if shared {
		pid = cmd.Process.Pid
		c.guard.watch(pid)
	}
	lostLock := held.Done()
	var kill <-chan time.Time
	for {
		select {
		case err := <-ended:
			if lost != nil && !shared {
				c.guard.end()
				endProcesses(pid, kill)
			}
			code, err = exitCode(cmd, err)
			return code, lost, err
		case s := <-signals:
			// The terminal sends Ctrl-C to the command, too. Many programs take a second SIGINT as
			// a request to quit at once.
			if shared && (s == syscall.SIGINT || s == syscall.SIGQUIT) && inForeground(terminal) {
				continue
			}
			_ = syscall.Kill(pid, s.(syscall.Signal))
		case <-lostLock:
			lostLock, lost = nil, context.Cause(held)
			fmt.Fprintf(c.env.Stderr, "retwis: %s; ending the command\n", shell.OneLine(c.explain(l, lost)))
			_ = syscall.Kill(pid, syscall.SIGTERM)
			kill = time.After(c.grace)
		case <-kill:
			kill = nil
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// environment returns the environment of the command: the environment of retwis, without the token
// of an outer lock, plus the variables of this lock.
func (c lockedCommand) environment(l *redlock.Lock) []string {
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "RETWIS_LOCK_TOKEN=") {
			env = append(env, variable)
		}
	}
	env = append(env, "RETWIS_LOCK_NAME="+l.Name())
	if l.Token() != 0 {
		env = append(env, "RETWIS_LOCK_TOKEN="+strconv.FormatUint(l.Token(), 10))
	}
	return env
}

// exitCode returns the exit code of a command as a shell would.
func exitCode(cmd *exec.Cmd, err error) (int, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return shell.ExitFailure, err
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// terminal returns the terminal on which the command runs, if any.
func (c lockedCommand) terminal() (fd int, ok bool) {
	for _, stream := range []any{c.env.Stdin, c.env.Stdout, c.env.Stderr} {
		if shell.IsTerminal(stream) {
			return int(stream.(interface{ Fd() uintptr }).Fd()), true
		}
	}
	return 0, false
}

// inForeground reports whether the terminal sends Ctrl-C to the process group of retwis.
func inForeground(terminal int) bool {
	group, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
