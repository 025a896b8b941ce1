package redisserver_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"retwis/internal/redis/redisserver"
)

// fakeServer creates a program that prints a line, and returns the path of the program.
func fakeServer(t *testing.T, dir, name, line string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	writeProgram(t, path, "#!/bin/sh\necho '"+line+"'\n")
	return path
}

func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	// A child process that another test forks now would inherit the open file, and a file that is
	// open for writing cannot be executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	none, redis, both := t.TempDir(), t.TempDir(), t.TempDir()
	fakeServer(t, redis, "redis-server", "")
	fakeServer(t, both, "redis-server", "")
	fakeServer(t, both, "valkey-server", "")
	for name, test := range map[string]struct{ path, named, want string }{
		"no server":           {none, "", "install one"},
		"redis":               {redis, "", redis + "/redis-server <nil>"},
		"valkey is preferred": {both, "", both + "/valkey-server <nil>"},
		"named":               {both, redis + "/redis-server", redis + "/redis-server <nil>"},
		"named, on PATH":      {both, "redis-server", both + "/redis-server <nil>"},
		"named, missing":      {both, "keydb-server", "RETWIS_REDIS_SERVER"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0])
			child.Env = []string{childEnv + "=find", "PATH=" + test.path, "RETWIS_REDIS_SERVER=" + test.named}
			out, err := child.CombinedOutput()
			if err != nil || !strings.Contains(string(out), test.want) {
				t.Errorf("Find printed %s (%v), want %s", out, err, test.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0": "7.0.15",
		"Valkey server v=8.0.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=f0":              "8.0.1",
		"Redis server v=7.4-rc1 sha=00000000:0":                                                    "7.4-rc1",
		"Redis server v=255.255.255 sha=1":                                                         "255.255.255",
	} {
		got, err := redisserver.Version(t.Context(), fakeServer(t, t.TempDir(), "server", line))
		if err != nil || got != want {
			t.Errorf("Version of %q = %q, %v; want %q", line, got, err, want)
		}
	}
	binary := fakeServer(t, t.TempDir(), "server", "a program without a version")
	if got, err := redisserver.Version(t.Context(), binary); err == nil || !strings.Contains(err.Error(), binary) {
		t.Errorf("Version of a program without a version = %q, %v; want an error with %s", got, err, binary)
	}
}

func TestTooOld(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"6.2.0": false, "6.2": false, "7.0.15": false, "7.4-rc1": false, "10.0.0": false, "255.255.255": false,
		"6.0.16": true, "5.0.14": true, "2.8": true, "": true, "x.y": true,
	} {
		if got := redisserver.TooOld(version); got != want {
			t.Errorf("TooOld(%q) = %v, want %v", version, got, want)
		}
	}
	binary := fakeServer(t, t.TempDir(), "server", "Redis server v=6.0.16 sha=00000000:0")
	_, err := redisserver.Start(t.Context(), redisserver.Options{Dir: t.TempDir(), Binary: binary})
	for _, want := range []string{binary, "6.0.16", "6.2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start of an old server: %v, want an error with %s", err, want)
		}
	}
}

// SocketPath always returns the same path for a directory, and the path is short enough for a
// socket.
func TestSocketPath(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"/data", "/" + strings.Repeat("deep/", 40)} {
		path, err := redisserver.SocketPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := redisserver.SocketPath(dir); err != nil || again != path {
			t.Errorf("SocketPath(%q) = %q, then %q (%v)", dir, path, again, err)
		}
		if len(path) >= 100 {
			t.Errorf("SocketPath(%q) = %q, which is too long", dir, path)
		}
	}
	first, _ := redisserver.SocketPath("/" + strings.Repeat("deep/", 40))
	second, _ := redisserver.SocketPath("/" + strings.Repeat("deep/", 41))
	if first == second {
		t.Errorf("two directories have the socket %s", first)
	}
}

// Version returns DeadlineExceeded if a program does not print its version in time.
func TestVersionInTime(t *testing.T) {
	t.Parallel()
	path := fakeServer(t, t.TempDir(), "server", "'; exec sleep 60; echo '")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := redisserver.Version(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Version = %v, want DeadlineExceeded", err)
	}
}
