package redisserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// program is a server binary on this machine.
type program struct {
	path    string
	name    string // Redis or Valkey; empty if it is another program
	version string
}

func (p program) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s (%s", p.path, p.name)) + " " + p.version + ")"
}

// identify asks a program for its name and version.
func identify(ctx context.Context, binary string) (program, error) {
	out, err := exec.CommandContext(ctx, binary, "--version").Output()
	if err != nil {
		return program{}, fmt.Errorf("ask %s for its version: %w", binary, errors.Join(ctx.Err(), err))
	}
	found := versionPattern.FindString(string(out))
	if found == "" {
		return program{}, fmt.Errorf("%s: no version in %q", binary, strings.TrimSpace(string(out)))
	}
	p := program{path: binary, version: strings.TrimPrefix(found, "v=")}
	switch first, _, _ := strings.Cut(string(out), " "); first {
	case "Redis":
		p.name = "Redis"
	case "Valkey", "Server": // Valkey 7.2 prints only "Server"
		p.name = "Valkey"
	}
	return p, nil
}

// majorMinor returns the major and the minor version.
func (p program) majorMinor() (major, minor int, ok bool) {
	first, rest, _ := strings.Cut(p.version, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		rest = rest[:end] // 7.4-rc1
	}
	major, errX := strconv.Atoi(first)
	minor, errY := strconv.Atoi(rest)
	return major, minor, errX == nil && errY == nil
}

// before reports whether the program is older than a version.
func (p program) before(major, minor int) bool {
	x, y, ok := p.majorMinor()
	return !ok || x < major || x == major && y < minor
}

// formats returns the newest snapshot format that the program reads, if known. Versions newer than
// this table read at least the newest format of the table.
func (p program) formats() (newest format, known bool) {
	for _, row := range []struct {
		name         string
		major, minor int // before this version
		rdb          int
	}{
		{"Redis", 7, 0, 9},
		{"Redis", 7, 2, 10},
		{"Redis", 7, 4, 11},
		{"Redis", 8, 2, 12},
		{"Valkey", 9, 0, 11},
	} {
		if row.name == p.name && p.before(row.major, row.minor) {
			return format{rdb: row.rdb}, true
		}
	}
	return format{}, false
}

// installed returns the servers on PATH: every valkey-server, then every redis-server.
func installed() []string {
	var all []string
	seen := map[string]bool{}
	for _, name := range []string{"valkey-server", "redis-server"} {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			if dir == "" || !filepath.IsAbs(dir) {
				continue
			}
			path, err := exec.LookPath(filepath.Join(dir, name))
			if err != nil {
				continue
			}
			target, err := filepath.EvalSymlinks(path)
			if err == nil && !seen[target] {
				seen[target] = true
				all = append(all, path)
			}
		}
	}
	return all
}

// FindFor returns the path of the server to run on a data directory: the result of Find, unless
// the directory has data and another server on PATH suits the data better. It prefers servers that
// can read the data, and among these the program (Redis or Valkey) that wrote the data, so that
// installing another server does not change the server of a site.
func FindFor(ctx context.Context, getenv func(string) string, dir string) (string, error) {
	first, err := Find(getenv)
	if err == nil && getenv("RETWIS_REDIS_SERVER") != "" {
		if _, err = identify(ctx, first); err != nil {
			err = fmt.Errorf("redisserver: RETWIS_REDIS_SERVER: %w", err)
		}
		return first, err
	}
	if err != nil {
		return first, err
	}
	candidates := installed()
	if len(candidates) < 2 {
		return first, nil
	}
	data, err := readDataDir(dir)
	if err != nil {
		return first, nil // Start reports the error
	}
	readable := ""
	for _, path := range candidates {
		p, err := identify(ctx, path)
		if err != nil || TooOld(p.version) || data.check(p, true) != nil {
			continue
		}
		if readable == "" {
			readable = path
		}
		writer, _, _ := strings.Cut(data.format.writer, " ")
		if writer == p.name {
			return path, nil
		}
	}
	if readable == "" {
		return first, nil // Start reports the reason
	}
	return readable, nil
}
