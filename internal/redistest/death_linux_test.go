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

// A server ends when its test binary is killed, even if the server is frozen.
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
				t.Fatalf("no server listens on %s", socket)
			}
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			waitGone(t, socket)
		})
	}
}

// waitGone waits until no process listens on a socket.
func waitGone(t *testing.T, socket string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for listens(socket) {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the server is still running after its test binary was killed")
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
