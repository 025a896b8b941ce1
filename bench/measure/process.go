package measure

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"github.com/shirou/gopsutil/v4/process"
)

// Build builds retwis in dir and returns the path of the binary.
func Build(ctx context.Context, dir string, flags ...string) (string, error) {
	top, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "retwis").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	binary := filepath.Join(dir, "retwis")
	build := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", binary}, flags...), "./cmd/retwis")...)
	build.Dir = strings.TrimSpace(string(top))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

// Program is a running program. On Linux, it is killed when this process ends.
type Program struct {
	Addr   string        // the listening address, if the program was started by Serve
	Exited chan struct{} // closed when the program has exited
	cmd    *exec.Cmd
}

// Start starts a program.
func Start(cmd *exec.Cmd) (*Program, error) {
	p := &Program{Exited: make(chan struct{}), cmd: cmd}
	cmd.SysProcAttr = endWithParent()
	started := make(chan error)
	go func() {
		defer close(p.Exited)
		runtime.LockOSThread() // the death signal is sent when the thread that started the child ends
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

var listening = regexp.MustCompile(`http://([^,\s]+)`)

// Serve starts a program that prints its listening address, and waits for the address.
func Serve(name string, args ...string) (*Program, error) {
	cmd := exec.Command(name, args...)
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, os.Stderr
	p, err := Start(cmd)
	if err != nil {
		return nil, err
	}
	go func() {
		<-p.Exited
		write.CloseWithError(errors.New("the program has exited"))
	}()
	lines := bufio.NewReader(read)
	line, err := lines.ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	found := listening.FindStringSubmatch(line)
	if found == nil {
		p.Stop()
		return nil, fmt.Errorf("%s: %q: %w", name, line, cmp.Or(err, errors.New("no address in the first line of output")))
	}
	p.Addr = found[1]
	return p, nil
}

// Pid returns the process ID.
func (p *Program) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal to the program.
func (p *Program) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Stop sends SIGTERM and waits until the program exits.
func (p *Program) Stop() { p.end(syscall.SIGTERM) }

// Kill sends SIGKILL and waits until the program exits.
func (p *Program) Kill() { p.end(syscall.SIGKILL) }

func (p *Program) end(s syscall.Signal) {
	if p != nil {
		p.Signal(s)
		<-p.Exited
	}
}

// CPU returns the CPU time of the program in µs. Its resolution is 10,000 µs.
func (p *Program) CPU() (float64, error) {
	proc, err := process.NewProcess(int32(p.Pid()))
	if err != nil {
		return 0, err
	}
	times, err := proc.Times()
	if err != nil {
		return 0, err
	}
	return (times.User + times.System) * 1e6, nil
}
