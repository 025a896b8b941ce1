package measure

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
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

// ProcessSeconds returns how long a process has computed, 0 where the system does not say.
func ProcessSeconds(pid int) float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	const ticks = 100 // each second, on every architecture of Linux
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}

// Resident returns the resident set of a process in bytes.
func Resident(pid int) (float64, error) { return processMemory(pid, "VmRSS:") }

func processMemory(pid int, what string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(status), what)
	if !ok { // of a process that has ended
		return 0, nil
	}
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kib * 1024, err
}

// WatchMemory polls the peak memory of a process, in bytes, until the returned function is
// called. After its end, the system's figure would include the memory of its parent.
func WatchMemory(pid int) (stop func() float64) {
	end, peak := make(chan struct{}), make(chan float64)
	go func() {
		most := 0.0
		for {
			if now, err := processMemory(pid, "VmHWM:"); err == nil {
				most = max(most, now)
			}
			select {
			case <-end:
				peak <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() float64 {
		close(end)
		return <-peak
	}
}
