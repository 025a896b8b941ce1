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

// parts are the parts of docs/benchmarks.md, in order. Each can be measured and
// written without the others.
var parts = []string{"site", "viewers", "conversations", "threads", "live", "locks", "bulk", "snapshots", "index", "hashes", "suggest", "graph", "space", "radius", "model", "mapping", "ratelimit", "scale"}

// mark begins a part of the page.
func mark(part string) string { return "<!-- " + part + " -->\n" }

// writePart replaces one part of the page, and the text above all of them.
func writePart(path, part, text string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	head, err := heading()
	if err != nil {
		return err
	}
	page := head
	for _, name := range parts {
		switch {
		case name == part:
			page += "\n" + mark(name) + "\n" + strings.TrimSpace(text) + "\n"
		case strings.Contains(string(old), mark(name)):
			_, rest, _ := strings.Cut(string(old), mark(name))
			rest, _, _ = strings.Cut(rest, "<!-- ")
			page += "\n" + mark(name) + "\n" + strings.TrimSpace(rest) + "\n"
		}
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
