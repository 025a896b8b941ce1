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
	// writerOf is the variable with the database URL that turns the test binary into a writer.
	writerOf = "RATELIMIT_TEST_WRITER"

	writers   = 64 // in all processes together
	processes = 4
)

// scarce are limits that allow nothing more while the test runs.
var scarce = map[string]ratelimit.Limit{
	"{user}:day":  {Rate: 10, Per: time.Hour, Burst: 3000},
	"{user}:week": {Rate: 10, Per: time.Hour, Burst: 4000},
}

func scarceChecks() []ratelimit.Check {
	var all []ratelimit.Check
	for key, limit := range scarce {
		all = append(all, ratelimit.Check{Key: key, Limit: limit})
	}
	return all
}

// write is a process of writers. Each prints a line before it asks, and another with the answer:
// a killed process has asked for whatever has no answer.
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

func ask(limiter *ratelimit.Limiter) {
	for {
		_, _ = os.Stdout.WriteString("asked\n")
		answer := "allowed\n"
		switch r, err := limiter.TakeAll(context.Background(), scarceChecks()...); {
		case err == nil && !r.Allowed:
			answer = "refused\n"
		case err == nil:
		case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT), strings.Contains(err.Error(), "LOADING"):
			answer = "not sent\n"
		default:
			answer = "error\n"
		}
		_, _ = os.Stdout.WriteString(answer)
	}
}

// tally counts the lines of all processes.
type tally struct {
	mu    sync.Mutex
	lines map[string]int
	seen  chan struct{}
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

// 64 writers in processes that are killed, and a server that is killed and reloads its
// append-only file: both limits have counted each event that was allowed, none that was refused,
// and of the others at most those whose answer was lost.
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
		cmd.Env = append(os.Environ(), writerOf+"="+server.URL())
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
			_ = cmd.Wait() // it was killed
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
	reach := func(line string, n int) {
		t.Helper()
		for c.count(line) < n {
			<-c.seen
		}
	}
	for step := 1; step <= 8; step++ {
		reach("allowed", step*300)
		if step%3 == 0 {
			server.Restart(t, true)
			continue
		}
		i := rand.IntN(processes)
		_ = running[i].Process.Kill()
		running[i] = start()
	}
	reach("refused", 200) // the limit is used up
	stop()
	asked, allowed, refused := c.count("asked"), c.count("allowed"), c.count("refused")
	lost := asked - allowed - refused - c.count("not sent") // killed, or an error
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
			t.Errorf("%s: counted %d, want 3000, and from %d to %d", key, counted, allowed, allowed+lost)
		}
	}
	if lost == 0 || lost > 16*writers {
		t.Errorf("%d answers were lost: want some, and few: %v", lost, c.lines)
	}
}
