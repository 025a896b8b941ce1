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

// If retwis lock is killed, its command ends while the lock is still held, even if the command
// ignores SIGTERM or has child processes.
func TestLockKilledEndsCommand(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	if out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "--trust").CombinedOutput(); err != nil {
		t.Fatalf("retwis lock --trust: %v: %s", err, out)
	}
	for name, script := range map[string]string{
		"trap":       `trap "" TERM; echo ready; for i in $(seq 50000); do sleep 0.02; done`,
		"grandchild": `sleep 1000 & echo ready; wait`,
		"trap child": `(trap "" TERM; echo ready; for i in $(seq 50000); do sleep 0.02; done) & wait`,
		"pipe":       `(echo ready; sleep 1000) | cat`,
		"nested":     `retwis lock --node ` + server.URL() + ` --ttl 10m --grace 100ms inner -- sh -c 'trap "" TERM; echo ready; for i in $(seq 50000); do sleep 0.02; done'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "--ttl", "10m", "--grace", "100ms",
				name, "--", "sh", "-c", script)
			out := piped(t, cmd)
			if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
				t.Fatalf("the command printed %q, %v; want ready", line, err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			// The pipe is closed when all processes have ended.
			if _, err := io.Copy(io.Discard, out); err != nil {
				t.Errorf("a process is still running after retwis lock was killed: %v", err)
			}
			client := server.Client(t)
			if n, err := client.Do(t.Context(), client.B().Exists().Key(name).Build()).AsInt64(); err != nil || n != 1 {
				t.Errorf("EXISTS after the processes ended = %d, %v; want 1", n, err)
			}
		})
	}
}

// If retwis lock is not killed, its guard ends with it, and background processes of the command
// continue.
func TestLockGuardEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	if out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "--trust").CombinedOutput(); err != nil {
		t.Fatalf("retwis lock --trust: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "job", "--", "sh", "-c",
		`echo $PPID; (until [ ! -e "$1" ]; do sleep 0.02; done; echo left) & exit 5`, "sh", emptyFile(t))
	out := piped(t, cmd)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 5 {
		t.Errorf("retwis lock: %v, want exit code 5", err)
	}
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(cmd.Args[len(cmd.Args)-1]); err != nil {
		t.Fatal(err)
	}
	if line, err := out.ReadString('\n'); err != nil || line != "left\n" {
		t.Errorf("the background process printed %q, %v; want left", line, err)
	}
}

func emptyFile(t *testing.T) string {
	t.Helper()
	name := t.TempDir() + "/wait"
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// piped starts a command and returns a reader of the output of the command and its children.
// Reading ends when all of them have ended, and fails shortly before the test run times out.
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
