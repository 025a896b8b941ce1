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

// GuardCommand is the internal argument that makes retwis a guard.
const GuardCommand = "lock-guard"

// guard is a small process next to a locked command. If retwis lock is killed by SIGKILL, the guard
// ends the command and its child processes before another process can acquire the lock.
//
// The guard starts first, and the command joins the guard's process group, so a command never runs
// unguarded. The guard reads from a pipe whose other end only retwis lock holds. The pipe ends when
// retwis lock ends.
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

// group waits until the guard ignores the signals that its process group may get, and returns the
// group.
func (g *guard) group() (int, error) {
	if _, err := g.ready.Read(make([]byte, 1)); err != nil {
		return 0, guardFailed(err)
	}
	return g.process.Process.Pid, nil
}

// watch makes the guard end a process outside its group instead of the group.
func (g *guard) watch(pid int) { _, _ = fmt.Fprintln(g.pipe, pid) }

// end kills the guard, but not the command.
func (g *guard) end() {
	_ = g.process.Process.Kill()
	_ = g.process.Wait()
}

// Guard is the main function of the guard. Guard waits until retwis lock has ended, and then ends
// the processes that retwis lock has left behind.
func Guard(env shell.Env, args []string) int {
	if len(args) != 1 {
		return shell.ExitUsage
	}
	grace, err := time.ParseDuration(args[0])
	if err != nil {
		return shell.ExitUsage
	}
	signal.Ignore() // all signals that can be ignored
	if _, err := io.WriteString(env.Stdout, "\n"); err != nil {
		return shell.ExitFailure
	}
	line, err := bufio.NewReader(env.Stdin).ReadString('\n')
	pid := 0 // the process group of the guard
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

// endProcesses waits until a process, or the process group of a negative pid, has ended. When kill
// fires, or at once if kill is nil, endProcesses sends SIGKILL.
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
