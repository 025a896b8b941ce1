package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/term"

	"retwis/redlock"
)

// lockedCommand is a command that runs under a lock.
type lockedCommand struct {
	program string
	args    []string // with the name first
	env     Env
	grace   time.Duration
}

// passedSignals are those that are passed on to the command.
func passedSignals() []os.Signal {
	return []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	}
}

// run runs the command, and ends with its exit code.
func (c lockedCommand) run(ctx context.Context, l *redlock.Lock) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, passedSignals()...)
	defer signal.Stop(signals)
	// A signal that ends the waiting for a lock does not end a command that runs:
	// the command is told, and decides.
	var code int
	var why error
	told := false
	err := l.Keep(context.WithoutCancel(ctx), func(held context.Context, l *redlock.Lock) error {
		code, why = c.supervise(held, l, signals)
		told = held.Err() != nil
		return nil
	})
	switch {
	case told:
		return &exitError{code: exitLost}
	case err != nil:
		return &exitError{exitLost, err}
	case why != nil || code != 0:
		return &exitError{code, why}
	}
	return nil
}

// supervise starts the command, and returns how it ended.
func (c lockedCommand) supervise(held context.Context, l *redlock.Lock, signals <-chan os.Signal) (code int, err error) {
	// On Linux the command is told when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	shared := c.onTerminal()
	cmd := exec.Command(c.program)
	cmd.Args = c.args
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.env.Stdin, c.env.Stdout, c.env.Stderr
	cmd.Env = append(os.Environ(), "RETWIS_LOCK_NAME="+l.Name())
	if l.Token() != 0 {
		cmd.Env = append(cmd.Env, "RETWIS_LOCK_TOKEN="+strconv.FormatUint(l.Token(), 10))
	}
	cmd.SysProcAttr = attributes(!shared)
	if err := cmd.Start(); err != nil {
		return exitNotExecutable, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tell := func(s syscall.Signal) {
		pid := cmd.Process.Pid
		if !shared {
			pid = -pid // with all that it has started
		}
		_ = syscall.Kill(pid, s)
	}
	lost := held.Done()
	var kill <-chan time.Time
	for {
		select {
		case err := <-ended:
			return exitCode(cmd, err)
		case s := <-signals:
			// Ctrl-C at a terminal reaches the command by itself: twice would be
			// "at once" for many programs.
			if shared && (s == syscall.SIGINT || s == syscall.SIGQUIT) {
				continue
			}
			tell(s.(syscall.Signal))
		case <-lost:
			lost = nil
			fmt.Fprintf(c.env.Stderr, "retwis: %s; ending the command\n", oneLine(context.Cause(held)))
			tell(syscall.SIGTERM)
			kill = time.After(c.grace)
		case <-kill:
			tell(syscall.SIGKILL)
		}
	}
}

// exitCode returns how a command ended, as a shell would.
func exitCode(cmd *exec.Cmd, err error) (int, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return exitFailure, err
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// onTerminal says whether the command talks with a person, and so has to stay in
// the process group that the terminal talks to.
func (c lockedCommand) onTerminal() bool {
	return isTerminal(c.env.Stdin) || isTerminal(c.env.Stdout) || isTerminal(c.env.Stderr)
}

func isTerminal(stream any) bool {
	file, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
