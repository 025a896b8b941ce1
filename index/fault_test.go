package index

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// TestMain runs the tests, or the child process that a test kills: a writer or a repairing reader.
func TestMain(m *testing.M) {
	if url := os.Getenv("INDEX_TEST_WRITER"); url != "" {
		writeUntilKilled(childClient(url))
	}
	if url := os.Getenv("INDEX_TEST_REPAIRER"); url != "" {
		repairUntilKilled(childClient(url))
	}
	redistest.Main(m)
}

// child is the name of the connections of a child process.
const child = "child"

// childClient returns a client for a child process. The child exits when its standard input
// closes, which also happens when the parent is killed.
func childClient(url string) rueidis.Client {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	opt, err := rueidis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	opt.ClientName = child
	c, err := rueidis.NewClient(opt)
	if err != nil {
		panic(err)
	}
	return c
}

// writeUntilKilled puts and removes entries until the process is killed. It prints a dot per 50
// entries.
func writeUntilKilled(c rueidis.Client) {
	x, err := NewComposite(c, "killed", Options{Columns: []Column{{Name: "a", Type: Int}, {Name: "b", Type: String}}})
	if err != nil {
		panic(err)
	}
	for {
		_, err := x.PutMany(context.Background(), func(yield func(Entry) bool) {
			for i := range 3000 {
				if i%50 == 0 {
					fmt.Print(".")
				}
				if !yield(Entry{ID: fmt.Sprint(rand.IntN(5000)), Values: []any{rand.IntN(100), "b"}}) {
					return
				}
			}
		})
		if err == nil {
			_, _ = x.Remove(context.Background(), fmt.Sprint(rand.IntN(5000)))
		}
	}
}

// repairUntilKilled changes hashes and fetches them with Repair until the process is killed. It
// prints a dot per round with repairs.
func repairUntilKilled(c rueidis.Client) {
	ctx := context.Background()
	x, err := NewComposite(c, "repaired", Options{Columns: []Column{{Name: "age", Type: Int}}})
	if err != nil {
		panic(err)
	}
	key := func(id string) string { return "repaired:person:" + id }
	for {
		var commands rueidis.Commands
		for id := range 100 {
			commands = append(commands, c.B().Hset().Key(key(fmt.Sprint("own", id))).FieldValue().FieldValue("age", fmt.Sprint(rand.IntN(1000))).Build())
		}
		c.DoMulti(ctx, commands...)
		var entries []Entry
		for e, err := range x.All(ctx, Page{}) {
			if err == nil {
				entries = append(entries, e)
			}
		}
		_, report, err := x.Fetch(ctx, entries, FetchOptions{Key: key, Repair: true})
		if err == nil && report.Repaired > 0 {
			fmt.Print(".")
		}
	}
}

// startWriter starts a writer process and waits until it is in its second round.
func startWriter(t *testing.T, url string) *exec.Cmd {
	return startChild(t, "INDEX_TEST_WRITER", url, 61+rand.IntN(60))
}

// startChild runs this test binary as a child process and waits until the child has printed a
// number of dots.
func startChild(t *testing.T, env, url string, dots int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+url)
	out, err := cmd.StdoutPipe()
	require.OK(t)(err)
	if _, err := cmd.StdinPipe(); err != nil { // stays open until this process ends
		t.Fatal(err)
	}
	require.OK(t)(cmd.Start())
	text := make([]byte, dots)
	if _, err := io.ReadFull(out, text); err != nil || strings.Trim(string(text), ".") != "" {
		t.Errorf("the child printed %q, %v, want dots", text, err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Verify finds no problem after a writer is killed.
func TestWriterKilled(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	for range 3 {
		cmd := startWriter(t, server.URL())
		kill(cmd)
		server.WaitDisconnected(t, child)
		healthy(t, composite(t, server.Client(t), "killed", Options{Columns: columns(t, "a:int,b:string")}).Verify)
	}
}

// A reader that is killed during a repair does not damage the entries of concurrent writers, and
// the next reader completes the repair.
func TestRepairingReaderKilled(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	o := newObjects(t, server.Client(t), "repaired", 1)
	for id := range 100 {
		o.put(fmt.Sprint("own", id), 0)
	}
	for range 3 {
		stop := o.write("")
		cmd := startChild(t, "INDEX_TEST_REPAIRER", server.URL(), 1+rand.IntN(4))
		kill(cmd)
		server.WaitDisconnected(t, child)
		stop()
		r := o.verify()
		for _, p := range r.Examples {
			if p.Kind != maintain.Stale && !strings.Contains(p.Found, "left by a killed") || p.ID != "" && !strings.HasPrefix(p.ID, "own") {
				t.Errorf("unexpected problem after the kill: %+v", p)
			}
		}
		o.do("HSET", "repaired.meta", "until", "1") // the lease of the killed reader expires
		o.put("own0", 0)                            // the next write removes the leftovers
		require.OK(t)(o.fetch(t.Context(), FetchOptions{Repair: true}))
		if r := o.verify(); r.Problems() != 0 {
			t.Errorf("Verify after the repair: %+v", r)
		}
	}
}

// After a server is killed during writes and restarted, the index is consistent.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t, "appendonly yes", "appendfsync always", `save ""`)
	for range 3 {
		cmd := startWriter(t, server.URL())
		server.Kill(t)
		kill(cmd)
		server.Restart(t, true)
		x := composite(t, server.Client(t), "killed", Options{Columns: columns(t, "a:int,b:string")})
		healthy(t, x.Verify)
		if n, err := x.Len(t.Context()); err != nil || n == 0 {
			t.Fatalf("Len() = %d, %v, want entries", n, err)
		}
	}
}

// Put returns an error if the server is unreachable.
func TestNoServer(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	x := composite(t, server.Client(t), "gone", Options{Columns: columns(t, "a:int")})
	server.Kill(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := x.Put(ctx, "1", 1)
	if err == nil || !strings.HasPrefix(err.Error(), "index: gone: ") {
		t.Fatalf("Put: %v, want error with prefix %q", err, "index: gone: ")
	}
	server.Restart(t, false)
}
