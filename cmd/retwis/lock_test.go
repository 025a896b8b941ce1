package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"retwis/internal/redistest"
)

// TestLockPassesSignalsOn checks that retwis lock forwards signals to its command and holds the
// lock until the command has ended.
func TestLockPassesSignalsOn(t *testing.T) {
	t.Parallel()
	defaultSignals()
	server := redistest.Own(t)
	if out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "--trust").CombinedOutput(); err != nil {
		t.Fatalf("retwis lock --trust: %v: %s", err, out)
	}
	for signal, name := range map[syscall.Signal]string{
		syscall.SIGTERM: "TERM", syscall.SIGINT: "INT", syscall.SIGHUP: "HUP", syscall.SIGUSR1: "USR1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), name, "--", "sh", "-c",
				`trap 'echo `+name+`; exit 3' `+name+`; echo ready; while :; do sleep 0.02; done`)
			var stderr bytes.Buffer // os.Stderr may be a terminal
			cmd.Stderr = &stderr
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
				t.Errorf("retwis lock ended with %v, want exit code 3\n%s", err, stderr.String())
			}
			client := server.Client(t)
			if n, err := client.Do(t.Context(), client.B().Exists().Key(name).Build()).AsInt64(); err != nil || n != 0 {
				t.Errorf("EXISTS after the command ended = %d, %v; want 0", n, err)
			}
		})
	}
}

// defaultSignals makes SIGHUP and SIGINT have their default action in commands that are started
// later. Under nohup, or in the background of a script, commands would inherit that both signals
// are ignored.
func defaultSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// One server can be trusted while the others are down.
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
			t.Fatalf("retwis lock --trust: %v: %s", err, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", strings.Join(nodes, ","), "--no-wait", "job", "--", "echo", "held").CombinedOutput()
	if err != nil || string(out) != "held\n" {
		t.Errorf("retwis lock: %v: %s", err, out)
	}
}

// An error that waiting cannot fix ends the command at once, without the exit code for "try again
// later".
func TestLockRefused(t *testing.T) {
	t.Parallel()
	replica := redistest.Own(t, "replicaof 127.0.0.1 1")
	for _, flag := range []string{"--node", "--redis"} {
		out, err := exec.CommandContext(t.Context(), "retwis", "lock", flag, replica.URL(), "--wait", "5m", "job", "--", "true").CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "refused by the servers: 0 of 1 agreed") || !strings.Contains(string(out), "READONLY") {
			t.Errorf("retwis lock %s: %v, want exit code 1: %s", flag, err, out)
		}
	}
}

// By default, an attempt with --no-wait waits up to a second for the reply of a slow server, and an
// attempt with --wait 50 ms. On a busy machine, an attempt may still fail.
func TestLockNoWaitOnSlowServer(t *testing.T) {
	t.Parallel()
	server := redistest.DB(t)
	if out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "--trust").CombinedOutput(); err != nil {
		t.Fatalf("retwis lock --trust: %v: %s", err, out)
	}
	proxy := server.Proxy(t)
	proxy.Delay(100 * time.Millisecond)
	for range 20 {
		out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", proxy.URL(), "--no-wait", "job", "--", "echo", "held").CombinedOutput()
		if err == nil && string(out) == "held\n" {
			return
		}
		t.Logf("%v: %s", err, out)
	}
	t.Error("no attempt succeeded")
}

// The first lock on new servers reports at once that the servers are quarantined.
func TestLockReportsQuarantine(t *testing.T) {
	t.Parallel()
	var nodes []string
	servers := redistest.Nodes(t, 3)
	for _, s := range servers {
		nodes = append(nodes, s.URL())
	}
	// Servers are trusted one TTL after their start, or after retwis lock --trust.
	cmd := exec.CommandContext(t.Context(), "retwis", "lock", "--node", strings.Join(nodes, ","), "--ttl", "1h", "job", "--", "echo", "held")
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	// The majority does not answer the first attempt.
	client := servers[0].Client(t)
	servers[1].Freeze(t)
	servers[2].Freeze(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	retried := regexp.MustCompile(`cmdstat_zcard:calls=([2-9]|\d\d)`)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for stats := ""; !retried.MatchString(stats); {
		select {
		case <-tick.C:
		case <-hung():
			t.Fatalf("retwis lock did not ask again: %s", stats)
		}
		if stats, err = client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString(); err != nil {
			t.Fatal(err)
		}
	}
	servers[1].Thaw(t)
	servers[2].Thaw(t)
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	if ok, _ := regexp.MatchString(`^retwis: waiting for "job": [123] of 3 servers are quarantined, .*\n$`, line); !ok || err != nil {
		t.Errorf("stderr: %q, %v; want a line about quarantined servers", line, err)
	}
	trust(t, "--node", strings.Join(nodes, ","))
	remaining, _ := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil || out.String() != "held\n" || len(remaining) > 0 {
		t.Errorf("retwis lock: %v, stdout %q, stderr %q", err, out.String(), remaining)
	}
}

// trust makes servers vote at once. It retries until the servers are reachable.
func trust(t *testing.T, args ...string) {
	t.Helper()
	for {
		out, err := exec.CommandContext(t.Context(), "retwis", append([]string{"lock", "--trust"}, args...)...).CombinedOutput()
		if err == nil {
			return
		}
		select {
		case <-hung():
			t.Fatalf("retwis lock --trust: %v: %s", err, out)
		default:
		}
	}
}

// retwis lock waits for a database that is failing over.
func TestLockWaitsForFailover(t *testing.T) {
	t.Parallel()
	master := redistest.TCP(t)
	url := fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main", redistest.Sentinel(t, "main", master).Port())
	master.Kill(t)
	cmd := exec.CommandContext(t.Context(), "retwis", "lock", "--redis", url,
		"--ttl", "1h", "job", "--", "echo", "held")
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "retwis: waiting for the database: ") {
		t.Errorf("stderr: %q, %v; want a line about the database", line, err)
	}
	master.Restart(t, true)
	trust(t, "--redis", url)
	remaining, _ := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil || out.String() != "held\n" {
		t.Errorf("retwis lock: %v, stdout %q, stderr %q", err, out.String(), remaining)
	}
}
