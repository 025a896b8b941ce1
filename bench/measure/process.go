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

// Build builds the program of this repository in a directory and returns its path.
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

// Program is a program that runs, and ends with this process.
type Program struct {
	Addr  string        // where it serves, if Serve has started it
	Ended chan struct{} // closed when it has ended
	cmd   *exec.Cmd
}

// Start starts a program.
func Start(cmd *exec.Cmd) (*Program, error) {
	p := &Program{Ended: make(chan struct{}), cmd: cmd}
	cmd.SysProcAttr = endWithParent()
	started := make(chan error)
	go func() {
		defer close(p.Ended)
		runtime.LockOSThread() // the kernel ends a child with the thread that started it
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

// Serve starts a program that prints its address.
func Serve(name string, args ...string) (*Program, error) {
	cmd := exec.Command(name, args...)
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, os.Stderr
	p, err := Start(cmd)
	if err != nil {
		return nil, err
	}
	go func() {
		<-p.Ended
		write.CloseWithError(errors.New("it has ended"))
	}()
	lines := bufio.NewReader(read)
	line, err := lines.ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	found := listening.FindStringSubmatch(line)
	if found == nil {
		p.Stop()
		return nil, fmt.Errorf("%s: %q: %w", name, line, cmp.Or(err, errors.New("this has no address")))
	}
	p.Addr = found[1]
	return p, nil
}

// Pid returns the id of the process.
func (p *Program) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal.
func (p *Program) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Stop ends the program.
func (p *Program) Stop() { p.end(syscall.SIGTERM) }

// Kill ends the program at once.
func (p *Program) Kill() { p.end(syscall.SIGKILL) }

func (p *Program) end(s syscall.Signal) {
	if p != nil {
		p.Signal(s)
		<-p.Ended
	}
}

// Micros returns how many µs the program has computed, in steps of 10,000.
func (p *Program) Micros() (float64, error) {
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
