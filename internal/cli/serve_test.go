package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/cli/shell"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// untilListening is a writer that calls stop once the site reports that it is listening.
type untilListening struct {
	bytes.Buffer
	stop func()
}

func (u *untilListening) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "listening on") {
		u.stop()
	}
	return u.Buffer.Write(p)
}

// A site whose context is canceled exits with code 0.
func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &untilListening{stop: stop}
	var stderr bytes.Buffer
	code := Run(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--redis", server.URL()},
		Env{Getenv: os.Getenv, Stdout: out, Stderr: &stderr})
	if code != shell.ExitOK || !strings.HasPrefix(out.String(), "retwis: listening on http://127.0.0.1:") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out.String(), stderr.String())
	}
}

// buffer is a writer whose text can be read while it is being written.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A site that starts before its database waits for the database.
func TestServeWaitsForItsDatabase(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	server.Stop(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, stderr := &untilListening{stop: stop}, &buffer{}
	done := make(chan int)
	go func() {
		done <- Run(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--redis", fmt.Sprintf("redis://127.0.0.1:%d", server.Port())},
			Env{Getenv: os.Getenv, Stdout: out, Stderr: stderr})
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(stderr.String(), "trying again") {
		select {
		case code := <-done:
			t.Fatalf("exit code %d: %s", code, stderr)
		case <-tick.C:
		}
	}
	server.Restart(t, true)
	if code := <-done; code != shell.ExitOK || !strings.HasPrefix(out.String(), "retwis: listening on") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out.String(), stderr)
	}
}

// An unsuitable database is served with a warning in the log.
func TestServeWarns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		setup string // command run before the site starts
		url   string
		want  string
	}{
		"evicts":     {setup: "CONFIG SET maxmemory-policy allkeys-lru", want: "maxmemory-policy=allkeys-lru"},
		"replica":    {setup: "REPLICAOF 127.0.0.1 1", want: "rejects writes"},
		"no rights":  {setup: "ACL SETUSER ada on nopass ~* &* +@all -@write", url: "ada:x@", want: "rejects writes"},
		"no scripts": {setup: "ACL SETUSER ada on nopass ~* &* +@all -@scripting", url: "ada:x@", want: "runs no scripts"},
		"in memory":  {setup: "CONFIG SET appendonly no", want: "keeps no append-only file"},
		"fine":       {setup: "PING"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.TCP(t)
			c := server.Client(t)
			for _, command := range []string{"SET layout_version 1", "CONFIG SET appendonly yes", test.setup} { // as on a database that was served before
				if err := c.Do(t.Context(), c.B().Arbitrary(strings.Fields(command)...).Build()).Error(); err != nil {
					t.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			out, stderr := &untilListening{stop: stop}, &buffer{}
			code := Run(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--redis", fmt.Sprintf("redis://%s127.0.0.1:%d", test.url, server.Port())},
				Env{Getenv: os.Getenv, Stdout: out, Stderr: stderr})
			warned := strings.Contains(stderr.String(), "level=WARN")
			if code != shell.ExitOK || !strings.Contains(stderr.String(), test.want) || warned != (test.want != "") {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
}
