// Package page writes docs/benchmarks.md, one part at a time.
package page

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"

	"retwis/internal/redis/redisserver"
)

// Stamp returns a line with the date and commit of a measurement.
func Stamp(ctx context.Context, now time.Time) (string, error) {
	commit, err := git(ctx, "rev-parse", "--short=8", "HEAD")
	if err != nil {
		return "", err
	}
	// The benchmarks write to docs themselves, which does not affect the measurements.
	changed, err := git(ctx, "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)docs")
	if err != nil {
		return "", err
	}
	if changed != "" {
		commit += " with uncommitted changes"
	}
	return fmt.Sprintf("Measured on %s at commit %s.", now.Format("2 January 2006"), commit), nil
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w; the page must name the measured commit", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

var headings = regexp.MustCompile(`(?m)^## .*$`)

// Stamped adds a stamp below each heading of a part.
func Stamped(text, stamp string) string {
	return headings.ReplaceAllStringFunc(text, func(heading string) string { return heading + "\n\n" + stamp })
}

// mark returns the line that starts a part of the page.
func mark(part string) string { return "<!-- " + part + " -->\n" }

// Write replaces the introduction and one part of the page. It keeps the other parts, in the order
// of parts.
func Write(path string, parts []string, name, text string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	head, err := introduction()
	if err != nil {
		return err
	}
	page := head
	for _, p := range parts {
		part := text
		if p != name {
			var found bool
			if _, part, found = strings.Cut(string(old), mark(p)); !found {
				continue
			}
			part, _, _ = strings.Cut(part, "<!-- ")
		}
		page += "\n" + mark(p) + "\n" + strings.TrimSpace(part) + "\n"
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(page), 0o644)
}

// introduction returns the start of the page, which describes the machine and the server.
func introduction() (string, error) {
	program, err := redisserver.Find(os.Getenv)
	if err != nil {
		return "", err
	}
	version, err := redisserver.Version(context.Background(), program)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`# Benchmarks

`+"`make bench`"+` writes this page; `+"`make bench ARGS='--only locks'`"+` measures one
part again. Absolute figures depend on the machine. Ratios depend on it less, because the
sides of a comparison are measured in turn in the same run.

%s, %d cores, %s, server %s on unix sockets unless
stated otherwise. Programs, servers and load generators share the
machine.
`, processor(), runtime.NumCPU(), runtime.Version(), version), nil
}

// processor returns the model name of the processor, or else the architecture.
func processor() string {
	if all, err := cpu.Info(); err == nil && len(all) > 0 && all[0].ModelName != "" {
		return all[0].ModelName
	}
	return runtime.GOARCH
}
