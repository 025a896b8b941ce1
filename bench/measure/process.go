package measure

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// Build builds the program of this repository in a directory and returns its path.
func Build(ctx context.Context, dir string) (string, error) {
	top, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "retwis").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	binary := filepath.Join(dir, "retwis")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/retwis")
	build.Dir = strings.TrimSpace(string(top))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

// Program is a program that serves HTTP.
type Program struct {
	Addr string
	cmd  *exec.Cmd
}

var listening = regexp.MustCompile(`http://([^,\s]+)`)

// Serve starts a program that prints its address. The caller stops what it returns, also with
// an error.
func Serve(name string, args ...string) (*Program, error) {
	p := &Program{cmd: exec.Command(name, args...)}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return p, err
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		return p, fmt.Errorf("%s: %w", name, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	found := listening.FindStringSubmatch(line)
	if found == nil {
		return p, fmt.Errorf("%s: no address in %q", name, line)
	}
	p.Addr = found[1]
	return p, nil
}

// Stop ends the program.
func (p *Program) Stop() {
	if p != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.cmd.Wait()
	}
}

// Micros returns how many µs the program has computed, 0 where the system does not say.
func (p *Program) Micros() float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	const tick = 10_000 // µs, on every architecture of Linux
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) * tick
}
