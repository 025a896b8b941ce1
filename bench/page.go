package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"retwis/internal/redis/redisserver"
)

// mark begins a part of the page.
func mark(part string) string { return "<!-- " + part + " -->\n" }

// writePage replaces one part of the page, and the text above all of them.
func writePage(path, name, text string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	head, err := heading()
	if err != nil {
		return err
	}
	page := head
	for _, p := range parts {
		part := text
		if p.name != name {
			var found bool
			if _, part, found = strings.Cut(string(old), mark(p.name)); !found {
				continue
			}
			part, _, _ = strings.Cut(part, "<!-- ")
		}
		page += "\n" + mark(p.name) + "\n" + strings.TrimSpace(part) + "\n"
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(page), 0o644)
}

// heading describes the machine and the server.
func heading() (string, error) {
	found, err := redisserver.Find(os.Getenv)
	if err != nil {
		return "", err
	}
	version, err := redisserver.Version(context.Background(), found)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`# Benchmarks

`+"`make bench`"+` writes this page; `+"`make bench ARGS='--only locks'`"+` measures one
part again. Absolute figures depend on the machine. The ratios depend on it less: the
sides of a comparison were measured in turn in one run.

%s, %d cores, %s, server %s on unix sockets unless
stated otherwise. Programs, servers and load generators share the
machine.
`, cpu(), runtime.NumCPU(), runtime.Version(), version), nil
}

// cpu returns the name of the processor if the system has it.
func cpu() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return runtime.GOARCH
}
