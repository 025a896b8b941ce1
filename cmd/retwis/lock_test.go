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

// TestLockPassesSignalsOn checks that a command gets the signals, and that the lock is held until
// the command has ended.
func TestLockPassesSignalsOn(t *testing.T) {
	t.Parallel()
	defaultSignals()
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

// defaultSignals makes commands start with the default action of SIGHUP and SIGINT from now on.
// Under nohup, or in the background of a script, they would inherit that these signals are ignored
// and never get them.
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
			t.Fatalf("%v: %s", err, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", strings.Join(nodes, ","), "--no-wait", "job", "--", "echo", "held").CombinedOutput()
	if err != nil || string(out) != "held\n" {
		t.Errorf("%v: %s", err, out)
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
			t.Errorf("%s: %v: %s", flag, err, out)
		}
	}
}

// The only attempt of --no-wait gives a slow server enough time to answer: twice as long as waiting
// does by default. On a busy machine it takes more than one attempt.
func TestLockNoWaitOnSlowServer(t *testing.T) {
	t.Parallel()
	server := redistest.DB(t)
	if out, err := exec.CommandContext(t.Context(), "retwis", "lock", "--node", server.URL(), "--trust").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
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

// The first lock on new servers reports at once why it takes long.
func TestLockReportsQuarantine(t *testing.T) {
	t.Parallel()
	var nodes []string
	servers := redistest.Nodes(t, 3)
	for _, s := range servers {
		nodes = append(nodes, s.URL())
	}
	// Servers are trusted a TTL after their start, or after retwis lock --trust.
	cmd := exec.CommandContext(t.Context(), "retwis", "lock", "--node", strings.Join(nodes, ","), "--ttl", "1h", "job", "--", "echo", "held")
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	// A majority answers only after the first request.
	client := servers[0].Client(t)
	servers[1].Freeze(t)
	servers[2].Freeze(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`cmdstat_zcard:calls=([2-9]|\d\d)`)
	for stats := ""; !shown.MatchString(stats); time.Sleep(10 * time.Millisecond) {
		if stats, err = client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString(); err != nil {
			t.Fatal(err)
		}
	}
	servers[1].Thaw(t)
	servers[2].Thaw(t)
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	if ok, _ := regexp.MatchString(`^retwis: waiting for "job": [123] of 3 servers are quarantined, .*\n$`, line); !ok || err != nil {
		t.Errorf("stderr: %q, %v", line, err)
	}
	trust(t, "--node", strings.Join(nodes, ","))
	rest, _ := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil || out.String() != "held\n" || len(rest) > 0 {
		t.Errorf("%v: %s%s", err, out.String(), rest)
	}
}

// trust makes servers vote at once. They may not be reachable yet.
func trust(t *testing.T, args ...string) {
	t.Helper()
	for {
		out, err := exec.CommandContext(t.Context(), "retwis", append([]string{"lock", "--trust"}, args...)...).CombinedOutput()
		if err == nil {
			return
		}
		select {
		case <-hung():
			t.Fatalf("%v: %s", err, out)
		default:
		}
	}
}

// A database that is failing over is retried.
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
		t.Errorf("%q (%v)", line, err)
	}
	master.Restart(t, true)
	trust(t, "--redis", url)
	rest, _ := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil || out.String() != "held\n" {
		t.Errorf("%v: %s%s", err, out.String(), rest)
	}
}
