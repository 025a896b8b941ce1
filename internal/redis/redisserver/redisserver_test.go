package redisserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"retwis/internal/redis/redisserver"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "find":
		fmt.Println(redisserver.Find(os.Getenv))
		os.Exit(0)
	case "findfor":
		fmt.Println(redisserver.FindFor(context.Background(), os.Getenv, os.Getenv("DIR")))
		os.Exit(0)
	case "parent":
		parent()
	}
	goleak.VerifyTestMain(m)
}

// childEnv makes this test binary run as a child instead of running tests.
const childEnv = "REDISSERVER_TEST_CHILD"

// parent starts a server in the directory that the environment names, prints its process ID, and
// waits to be killed.
func parent() {
	s, err := redisserver.Start(context.Background(), redisserver.Options{Dir: os.Getenv("DIR"), Config: appendOnly, Logger: quiet})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Pid())
	select {}
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// shortDir returns a directory whose path leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "server")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// start starts a server that is killed when the test ends.
func start(t *testing.T, opt redisserver.Options) *redisserver.Server {
	t.Helper()
	redistest.Require(t)
	if opt.Dir == "" {
		opt.Dir = shortDir(t)
	}
	if opt.Logger == nil {
		opt.Logger = quiet
	}
	s, err := redisserver.Start(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill(); <-s.Done() })
	return s
}

// do sends one inline command and returns the first line of the reply, or the value of a string
// reply.
func do(t *testing.T, s *redisserver.Server, command string) string {
	t.Helper()
	reply, err := ask(s.Socket(), command, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func ask(socket, command string, timeout time.Duration) (string, error) {
	conn, err := net.DialTimeout("unix", socket, timeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return "", err
	}
	buffer := make([]byte, 4096)
	n, err := conn.Read(buffer)
	if err != nil {
		return "", err
	}
	reply := strings.TrimSpace(string(buffer[:n]))
	if _, value, ok := strings.Cut(reply, "\r\n"); ok && strings.HasPrefix(reply, "$") {
		return value, nil
	}
	return reply, nil
}

var appendOnly = []string{"appendonly yes", `save ""`}

func TestStopSaves(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(shortDir(t), "new")
	s := start(t, redisserver.Options{Dir: dir, Config: appendOnly})
	if got := do(t, s, "SET k v"); got != "+OK" {
		t.Fatalf("SET: %s", got)
	}
	if s.Port() != 0 {
		t.Errorf("Port() = %d, want 0", s.Port())
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, s.Socket(): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	if got := do(t, start(t, redisserver.Options{Dir: dir, Config: appendOnly}), "GET k"); got != "v" {
		t.Errorf("GET k = %q after a restart, want %q", got, "v")
	}
}

func TestPort(t *testing.T) {
	t.Parallel()
	// These ports are below the range for outgoing connections.
	listener, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000)))
	for err != nil && t.Context().Err() == nil {
		listener, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000)))
	}
	port := listener.Addr().(*net.TCPAddr).Port
	redistest.Require(t)
	// The port is in use: the error includes the server's message.
	_, err = redisserver.Start(t.Context(), redisserver.Options{Dir: shortDir(t), Port: port, Logger: quiet})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(port)) {
		t.Errorf("Start with a port in use: %v, want an error with the port", err)
	}
	listener.Close()
	s := start(t, redisserver.Options{Port: port})
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if s.Port() != port {
		t.Errorf("Port() = %d, want %d", s.Port(), port)
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	s := start(t, redisserver.Options{})
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "killed") || !strings.Contains(err.Error(), "last log lines") {
		t.Errorf("Err() = %v, want the signal and the last log lines", err)
	}
	if err := errors.Join(s.Kill(), s.Freeze(), s.Thaw()); err != nil {
		t.Errorf("signals to an exited server: %v", err)
	}
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	s := start(t, redisserver.Options{})
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(s.Socket(), "PING", 50*time.Millisecond); err == nil {
		t.Errorf("a frozen server replied %q", got)
	}
	if err := s.Thaw(); err != nil {
		t.Fatal(err)
	}
	if got := do(t, s, "PING"); got != "+PONG" {
		t.Errorf("a thawed server replied %q", got)
	}
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("Stop of a frozen server: %v", err)
	}
}

// A server that does not stop in time is killed.
func TestStopInTime(t *testing.T) {
	t.Parallel()
	s := start(t, redisserver.Options{})
	busy := make(chan struct{})
	go func() {
		defer close(busy)
		_, _ = ask(s.Socket(), `EVAL "while true do end" 0`, time.Minute)
	}()
	defer func() { <-busy }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for { // until the script runs
		if _, err := ask(s.Socket(), "PING", 20*time.Millisecond); err != nil {
			break
		}
		<-tick.C
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop: %v, want DeadlineExceeded", err)
	}
	select {
	case <-s.Done():
	default:
		t.Error("the server is still running after Stop")
	}
}

// The error of Start includes the output of a server that fails to start, without secrets.
func TestStartFails(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	for line, want := range map[string]string{
		"no-such-setting 1":        "no-such-setting",
		"masterauth hunter2 extra": "masterauth",
		"user ada on >hunter2 +no": "server ended",
	} {
		_, err := redisserver.Start(t.Context(), redisserver.Options{Dir: shortDir(t), Config: []string{line}, Logger: quiet})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want an error with %q and without the password", line, err, want)
		}
	}
	if _, err := redisserver.Start(t.Context(), redisserver.Options{}); err == nil || !strings.Contains(err.Error(), "Dir") {
		t.Errorf("Start without Dir: %v", err)
	}
	file := filepath.Join(shortDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := redisserver.Start(t.Context(), redisserver.Options{Dir: file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Start in a regular file: %v, want an error with %s", err, file)
	}
}

// Start waits until a large data set is loaded and logs the wait. A canceled Start stops the
// server.
func TestLoading(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	s := start(t, redisserver.Options{Dir: dir, Config: []string{`save ""`, "rdbcompression no"}})
	do(t, s, `EVAL "for i = 1, 1000 do redis.call('SET', i, string.rep('x', 10000)) end" 0`)
	if got := do(t, s, "SAVE"); got != "+OK" {
		t.Fatalf("SAVE: %s", got)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	var log logs
	slow := redisserver.Options{
		Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil)), LoadingEvery: 20 * time.Millisecond,
		Config: []string{`save ""`, "key-load-delay 500"},
	}
	if got := do(t, start(t, slow), "DBSIZE"); got != ":1000" {
		t.Errorf("DBSIZE = %s after Start, want :1000", got)
	}
	if !strings.Contains(log.text(), "the server is loading its data") {
		t.Errorf("the wait was not logged:\n%s", log.text())
	}

	slow.Dir = shortDir(t)
	data, err := os.ReadFile(filepath.Join(dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(slow.Dir, "dump.rdb"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	slow.Config[1] = "key-load-delay 100000"
	if _, err := redisserver.Start(ctx, slow); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("canceled Start: %v, want DeadlineExceeded", err)
	}
	if _, err := ask(filepath.Join(slow.Dir, "redis.sock"), "PING", time.Second); err == nil {
		t.Error("a canceled Start left a server running")
	}
}

// logs collects log lines, also from concurrent writers.
type logs struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(p)
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}

// A server keeps running after the thread that started the server has ended, although Linux sends
// the parent-death signal when the forking thread ends.
func TestStartingThreadEnds(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	started := make(chan *redisserver.Server)
	dir := shortDir(t)
	go func() {
		defer close(started)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		s, err := redisserver.Start(t.Context(), redisserver.Options{Dir: dir, Logger: quiet})
		if err != nil {
			t.Error(err)
			return
		}
		started <- s
	}()
	s := <-started
	if s == nil {
		return
	}
	defer func() { _ = s.Kill(); <-s.Done() }()
	<-started
	select {
	case <-s.Done():
		t.Errorf("the server ended with the thread: %v", s.Err())
	case <-time.After(200 * time.Millisecond): // long enough for a signal to arrive
	}
	if got := do(t, s, "PING"); got != "+PONG" {
		t.Errorf("PING: got %q, want +PONG", got)
	}
}
