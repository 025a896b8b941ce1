package ratelimit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/ratelimit"
)

const (
	// writerURL is the environment variable with the URL of the database. If the variable is
	// set, the test binary runs write.
	writerURL = "RATELIMIT_TEST_WRITER"

	writers   = 64 // in all processes together
	processes = 4
)

// scarce are limits that do not allow more events than the burst while the test runs.
var scarce = map[string]ratelimit.Limit{
	"{user}:day":  {Rate: 10, Per: time.Hour, Burst: 3000},
	"{user}:week": {Rate: 10, Per: time.Hour, Burst: 4000},
}

// scarceChecks returns a check of each scarce limit.
func scarceChecks() []ratelimit.Check {
	var checks []ratelimit.Check
	for key, limit := range scarce {
		checks = append(checks, ratelimit.Check{Key: key, Limit: limit})
	}
	return checks
}

// write runs the writers of a process. A writer prints a line before each request and a line with
// the result, so that requests without a result, because of a kill, can be counted.
func write(url string) {
	opt, err := rueidis.ParseURL(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	opt.ForceSingleClient = true
	client, err := rueidis.NewClient(opt)
	for ; err != nil; client, err = rueidis.NewClient(opt) { // the server may have been killed
		time.Sleep(time.Millisecond)
	}
	limiter, err := ratelimit.New(client, ratelimit.Options{Timeout: 5 * time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for range writers / processes {
		go ask(limiter)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

// ask sends requests and prints their results.
func ask(limiter *ratelimit.Limiter) {
	for {
		_, _ = os.Stdout.WriteString("asked\n")
		result := "allowed\n"
		switch r, err := limiter.TakeAll(context.Background(), scarceChecks()...); {
		case err == nil && !r.Allowed:
			result = "refused\n"
		case err == nil:
		case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT), strings.Contains(err.Error(), "LOADING"):
			result = "not sent\n"
		default:
			result = "error\n"
		}
		_, _ = os.Stdout.WriteString(result)
	}
}

// tally counts the lines of all processes.
type tally struct {
	mu    sync.Mutex
	lines map[string]int
	seen  chan struct{} // receives after a line was added
}

func (c *tally) add(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines[line]++
	select {
	case c.seen <- struct{}{}:
	default:
	}
}

func (c *tally) count(line string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines[line]
}

// TestExactUnderKills runs 64 writers in processes that are killed, and a server that is killed and
// reloads its append-only file. Both limits must have counted each allowed event, no refused event,
// and otherwise only events whose result was lost.
func TestExactUnderKills(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "appendonly yes", "appendfsync always")
	c := &tally{lines: map[string]int{}, seen: make(chan struct{}, 1)}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	start := func() *exec.Cmd {
		t.Helper()
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), writerURL+"="+server.URL())
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				c.add(lines.Text())
			}
			in.Close()
			_ = cmd.Wait() // the process was killed
		})
		return cmd
	}
	running := make([]*exec.Cmd, processes)
	for i := range running {
		running[i] = start()
	}
	stop := func() {
		for _, cmd := range running {
			_ = cmd.Process.Kill()
		}
		wg.Wait()
	}
	waitFor := func(line string, n int) {
		t.Helper()
		for c.count(line) < n {
			<-c.seen
		}
	}
	for step := 1; step <= 8; step++ {
		waitFor("allowed", step*300)
		if step%3 == 0 {
			server.Restart(t, true)
			continue
		}
		i := rand.IntN(processes)
		_ = running[i].Process.Kill()
		running[i] = start()
	}
	waitFor("refused", 200) // the limits are used up
	stop()
	asked, allowed, refused := c.count("asked"), c.count("allowed"), c.count("refused")
	lost := asked - allowed - refused - c.count("not sent") // because of a kill or an error
	limiter := open(t, server.Client(t), slow)
	for key, limit := range scarce {
		r, err := limiter.Peek(t.Context(), key, limit)
		if err != nil {
			t.Fatal(err)
		}
		interval := limit.Per / time.Duration(limit.Rate) // much longer than the test
		counted := int((r.ResetAfter + interval - 1) / interval)
		t.Logf("%s: %d asked, %d allowed, %d refused, %d lost; %d counted", key, asked, allowed, refused, lost, counted)
		if counted < allowed || counted > allowed+lost || counted != 3000 {
			t.Errorf("%s: counted %d events, want 3000, and from %d to %d", key, counted, allowed, allowed+lost)
		}
	}
	if lost == 0 || lost > 16*writers {
		t.Errorf("%d results were lost, want 1 to %d: %v", lost, 16*writers, c.lines)
	}
}
