package redistest

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A server ends with its test binary, even if that is killed, and even if the server is frozen.
func TestServersDieWithTheirTests(t *testing.T) {
	t.Parallel()
	Require(t)
	for _, state := range []string{"running", "frozen"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), holdEnv+"="+state)
			out, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = child.Wait() }()
			line, err := bufio.NewReader(out).ReadString('\n')
			dir, socket, ok := strings.Cut(strings.TrimSpace(line), " ")
			if !ok {
				t.Fatalf("the child printed %q (%v)", line, err)
			}
			defer os.RemoveAll(dir)
			if !listens(socket) {
				t.Fatal("there is no server")
			}
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			gone(t, socket)
		})
	}
}

// gone waits until no process listens on a socket.
func gone(t *testing.T, socket string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for listens(socket) {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the server survives its tests")
		}
	}
}

func listens(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
