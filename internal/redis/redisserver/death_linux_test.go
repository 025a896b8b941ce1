package redisserver_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"retwis/internal/redis/redisserver"

	"retwis/internal/redistest"
)

// A server has its own process group, so that Ctrl-C for its parent does not stop the server. The
// server saves its data and stops when its parent dies.
func TestParentDies(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	dir := shortDir(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"=parent", "DIR="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Wait() }()
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent printed %q", line)
	}
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("process group of the server is %d (%v), want its own", group, err)
	}
	socket, err := redisserver.SocketPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ask(socket, "SET k v", time.Second); err != nil || got != "+OK" {
		t.Fatalf("SET: %s (%v)", got, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := ask(socket, "PING", time.Second); err != nil {
			break
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the server is still running after its parent was killed")
		}
	}
	s := start(t, redisserver.Options{Dir: dir, Config: appendOnly})
	if got := do(t, s, "GET k"); got != "v" {
		t.Errorf("GET k = %q, want %q: the server did not save its data when its parent was killed", got, "v")
	}
}
