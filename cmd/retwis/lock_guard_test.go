package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"retwis/internal/redistest"
)

// If retwis lock is killed, its command ends while the name is still locked. This includes a
// command that ignores SIGTERM and its child processes.
func TestLockKilledEndsCommand(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	if out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "--trust").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, script := range map[string]string{
		"deaf":       `trap "" TERM; echo ready; for i in $(seq 50000); do sleep 0.02; done`,
		"grandchild": `sleep 1000 & echo ready; wait`,
		"deaf child": `(trap "" TERM; echo ready; for i in $(seq 50000); do sleep 0.02; done) & wait`,
		"pipe":       `(echo ready; sleep 1000) | cat`,
		"nested":     `retwis lock --node ` + server.URL() + ` --ttl 10m --grace 100ms inner -- sh -c 'trap "" TERM; echo ready; for i in $(seq 50000); do sleep 0.02; done'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "--ttl", "10m", "--grace", "100ms",
				name, "--", "sh", "-c", script)
			out := piped(t, cmd)
			if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
				t.Fatalf("%q %v", line, err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			// All processes hold the other end of the pipe.
			if _, err := io.Copy(io.Discard, out); err != nil {
				t.Errorf("a process goes on after retwis lock was killed: %v", err)
			}
			client := server.Client(t)
			if n, err := client.Do(t.Context(), client.B().Exists().Key(name).Build()).AsInt64(); err != nil || n != 1 {
				t.Errorf("the name was locked %d times when the processes had ended: %v", n, err)
			}
		})
	}
}

// Without a kill the guard ends with retwis lock, and processes that the command left behind
// continue.
func TestLockGuardEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	if out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "--trust").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "job", "--", "sh", "-c",
		`echo $PPID; (until [ ! -e "$1" ]; do sleep 0.02; done; echo left) & exit 5`, "sh", lockFile(t))
	out := piped(t, cmd)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 5 {
		t.Errorf("%v", err)
	}
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(cmd.Args[len(cmd.Args)-1]); err != nil {
		t.Fatal(err)
	}
	if line, err := out.ReadString('\n'); err != nil || line != "left\n" {
		t.Errorf("%q %v", line, err)
	}
}

func lockFile(t *testing.T) string {
	t.Helper()
	name := t.TempDir() + "/wait"
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// piped starts a command and returns what it and its children print. Reading ends when all of them
// have ended, and fails if the test run is about to end before that.
func piped(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	go func() {
		select {
		case <-hung():
			_ = out.SetReadDeadline(time.Now())
		case <-t.Context().Done():
		}
	}()
	cmd.Stdout = in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	return bufio.NewReader(out)
}
