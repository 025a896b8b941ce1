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
)

// The test binary can also be a writer that is killed.
func TestMain(m *testing.M) {
	if url := os.Getenv("INDEX_TEST_WRITER"); url != "" {
		writeForEver(url)
	}
	redistest.Main(m)
}

// writeForEver puts and removes entries until it is killed, and says so once.
func writeForEver(url string) {
	go func() { // it ends with the test that started it, whatever happens to that
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	opt, err := rueidis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	c, err := rueidis.NewClient(opt)
	if err != nil {
		panic(err)
	}
	x, err := NewComposite(c, "killed", Options{Columns: []Column{{Name: "a", Type: Int}, {Name: "b", Type: String}}})
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		_, err := x.PutMany(context.Background(), func(yield func(Entry) bool) {
			for range 3000 {
				if !yield(Entry{ID: fmt.Sprint(rand.IntN(5000)), Values: []any{rand.IntN(100), "b"}}) {
					return
				}
			}
		})
		if err == nil {
			_, err = x.Remove(context.Background(), fmt.Sprint(rand.IntN(5000)))
		}
		if err == nil && i == 0 {
			fmt.Println("writing")
		}
	}
}

// startWriter starts a writer, which is writing when this returns.
func startWriter(t *testing.T, url string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "INDEX_TEST_WRITER="+url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // open for as long as this process is there
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("writing"))
	if _, err := out.Read(line); err != nil || string(line) != "writing" {
		t.Errorf("%q, %v", line, err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// A writer that is killed at any moment leaves nothing for Verify to find.
func TestWriterKilled(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	for range 3 {
		cmd := startWriter(t, server.URL())
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond) // any moment will do
		kill(cmd)
		healthy(t, composite(t, server.Client(t), "killed", Options{Columns: columns(t, "a:int,b:string")}).Verify)
	}
}

// A server that is killed during writes comes back with an index that agrees
// with itself.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t, "appendonly yes", "appendfsync always", `save ""`)
	for range 3 {
		cmd := startWriter(t, server.URL())
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond) // any moment will do
		server.Kill(t)
		kill(cmd)
		server.Restart(t, true)
		x := composite(t, server.Client(t), "killed", Options{Columns: columns(t, "a:int,b:string")})
		healthy(t, x.Verify)
		if n, err := x.Len(t.Context()); err != nil || n == 0 {
			t.Fatal(n, err)
		}
	}
}

// What cannot be reached says so.
func TestNoServer(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	x := composite(t, server.Client(t), "gone", Options{Columns: columns(t, "a:int")})
	server.Kill(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := x.Put(ctx, "1", 1)
	if err == nil || !strings.HasPrefix(err.Error(), "index: gone: ") {
		t.Fatal(err)
	}
	server.Restart(t, false)
}
