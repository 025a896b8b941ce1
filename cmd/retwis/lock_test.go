package main

import (
	"bufio"
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"retwis/internal/redistest"
)

// TestLockPassesSignalsOn sees that a command decides for itself what a signal means,
// and that the lock is held until it has ended.
func TestLockPassesSignalsOn(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	if out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "--trust").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for signal, name := range map[syscall.Signal]string{
		syscall.SIGTERM: "TERM", syscall.SIGINT: "INT", syscall.SIGHUP: "HUP", syscall.SIGUSR1: "USR1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), name, "--", "sh", "-c",
				`trap 'echo `+name+`; exit 3' `+name+`; echo ready; while :; do sleep 0.02; done`)
			var wrong bytes.Buffer // not our stderr, which may be a terminal
			cmd.Stderr = &wrong
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			for _, want := range []string{"ready", name} {
				if line, err := lines.ReadString('\n'); err != nil || strings.TrimSpace(line) != want {
					t.Fatalf("the command printed %q (%v), want %q", line, err, want)
				}
				if want == "ready" {
					if err := cmd.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
				}
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
				t.Errorf("retwis lock ended with %v, want exit code 3\n%s", err, wrong.String())
			}
			client := server.Client(t)
			if n, err := client.Do(t.Context(), client.B().Exists().Key(name).Build()).AsInt64(); err != nil || n != 0 {
				t.Errorf("the lock is still held: %d %v", n, err)
			}
		})
	}
}

// One server is trusted by itself, while others are down.
func TestLockTrustsOneServer(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	nodes := make([]string, len(servers))
	for i, s := range servers {
		nodes[i] = s.URL()
	}
	servers[2].Kill(t)
	for _, url := range nodes[:2] {
		if out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--trust", url).CombinedOutput(); err != nil || string(out) != "1 server votes from now on\n" {
			t.Fatalf("%v: %s", err, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", strings.Join(nodes, ","), "--no-wait", "job", "--", "echo", "held").CombinedOutput()
	if err != nil || string(out) != "held\n" {
		t.Errorf("%v: %s", err, out)
	}
}
