package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"retwis/internal/cli/shell"
	"retwis/internal/redistest"
)

// A rebuild that is interrupted while waiting for more input ends and leaves no keys behind.
func TestRebuildStoppedWhileItWaits(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	client := db.Client(t)
	getenv := func(name string) string { return map[string]string{"RETWIS_TOOLKIT_REDIS": db.URL()}[name] }
	start := func(ctx context.Context, stdin io.Reader, args ...string) (int, string) {
		var out, err bytes.Buffer
		code := Run(ctx, args, Env{Getenv: getenv, Stdin: stdin, Stdout: &out, Stderr: &err})
		return code, err.String()
	}
	if code, stderr := start(t.Context(), strings.NewReader("id,n\na,1\n"), "index", "put", "k", "--columns", "n:int"); code != shell.ExitOK {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	go func() {
		lines := "id,n\n"
		for i := range 5000 {
			lines += fmt.Sprintf("x%d,%d\n", i, i)
		}
		_, _ = io.WriteString(w, lines) // w stays open
		for ctx.Err() == nil {
			if n, _ := client.Do(ctx, client.B().Exists().Key("k.next").Build()).AsInt64(); n == 1 {
				stop()
			}
		}
	}()
	code, stderr := start(ctx, r, "index", "rebuild", "k")
	_ = w.Close() // unblock pending reads
	if code != shell.ExitFailure || !strings.Contains(stderr, shell.ErrStopped.Error()) {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern("k*").Build()).AsStrSlice()
	if err != nil || len(keys) != 3 {
		t.Fatalf("keys = %q, %v; want 3", keys, err)
	}
}
