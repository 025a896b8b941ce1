package lock

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"retwis/internal/cli/shell"
)

// GuardCommand is the argument that makes retwis a guard. It is internal.
const GuardCommand = "lock-guard"

// guard is a small process next to a locked command. If retwis lock is killed, which it cannot
// intercept, the guard ends the command and its child processes before another process can acquire
// the lock.
//
// The guard starts first, and the command joins its process group, so a command never runs
// unguarded. The guard notices the end of retwis lock by a pipe whose other end only retwis lock
// holds.
type guard struct {
	process *exec.Cmd
	pipe    io.WriteCloser
	ready   io.Reader
}

// startGuard starts a guard, which waits for grace between SIGTERM and SIGKILL.
func startGuard(grace time.Duration) (*guard, error) {
	self := "/proc/self/exe" // the same program even if its file was replaced
	if runtime.GOOS != "linux" {
		var err error
		if self, err = os.Executable(); err != nil {
			return nil, guardFailed(err)
		}
	}
	g := &guard{process: &exec.Cmd{
		Path: self, Args: []string{os.Args[0], GuardCommand, grace.String()}, Env: []string{},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}}
	pipe, err := g.process.StdinPipe()
	if err != nil {
		return nil, guardFailed(err)
	}
	ready, err := g.process.StdoutPipe()
	if err != nil {
		return nil, guardFailed(err)
	}
	g.pipe, g.ready = pipe, ready
	if err := g.process.Start(); err != nil {
		return nil, guardFailed(err)
	}
	return g, nil
}

func guardFailed(err error) error {
	return fmt.Errorf("starting a process that guards the command: %w", err)
}

// group returns the process group that the guard ends, once the guard ignores the signals that the
// group may get.
func (g *guard) group() (int, error) {
	if _, err := g.ready.Read(make([]byte, 1)); err != nil {
		return 0, guardFailed(err)
	}
	return g.process.Process.Pid, nil
}

// watch makes the guard end a process outside its group.
func (g *guard) watch(pid int) { _, _ = fmt.Fprintln(g.pipe, pid) }

// end ends the guard without touching the command.
func (g *guard) end() {
	_ = g.process.Process.Kill()
	_ = g.process.Wait()
}

// Guard is the main function of the guard: it waits until retwis lock has ended, then ends the
// processes left behind.
func Guard(env shell.Env, args []string) int {
	if len(args) != 1 {
		return shell.ExitUsage
	}
	grace, err := time.ParseDuration(args[0])
	if err != nil {
		return shell.ExitUsage
	}
	signal.Ignore() // all that can be ignored
	if _, err := io.WriteString(env.Stdout, "\n"); err != nil {
		return shell.ExitFailure
	}
	line, err := bufio.NewReader(env.Stdin).ReadString('\n')
	pid := 0 // our group
	if err == nil {
		if pid, err = strconv.Atoi(line[:len(line)-1]); err != nil || pid <= 1 {
			return shell.ExitUsage
		}
		_, err = io.Copy(io.Discard, env.Stdin)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return shell.ExitFailure
	}
	_ = syscall.Kill(pid, syscall.SIGTERM)
	endProcesses(pid, time.After(grace))
	return shell.ExitOK
}

// endProcesses waits until a process, or the group of a negative pid, has ended. It kills them when
// kill fires, or at once if kill is nil.
func endProcesses(pid int, kill <-chan time.Time) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for kill != nil {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-kill:
			kill = nil
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}
