package cli

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/cli/shell"
	"retwis/internal/redistest"
	"retwis/internal/social/takeout"
)

// A worker applies the configured limits of the site: it imports more names at once than the
// default limit allows.
func TestWorkLimits(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	getenv := func(name string) string {
		return map[string]string{"RETWIS_REDIS": db.URL(), "RETWIS_LIMIT": "import=off"}[name]
	}
	if code, _, stderr := run(t, getenv, "user", "create", "ada"); code != shell.ExitOK {
		t.Fatal(stderr)
	}
	site, err := app.New(db.Client(t), app.Options{NoJobs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	ada, err := site.Users.UserByName(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 70)
	for i := range names {
		names[i] = fmt.Sprintf("nobody%d", i)
	}
	if err := site.Imports.Begin(t.Context(), ada, takeout.Follows, names); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan int, 1)
	var stderr buffer
	go func() {
		done <- Run(ctx, []string{"work"}, Env{Getenv: getenv, Stdout: new(bytes.Buffer), Stderr: &stderr})
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		p, _, err := site.Imports.Get(t.Context(), ada)
		if err != nil {
			t.Fatal(err)
		}
		if p.State == takeout.Finished {
			break
		}
		select {
		case code := <-done:
			t.Fatalf("exit code %d: %s", code, &stderr)
		case <-tick.C:
		}
	}
	stop()
	if code := <-done; code != shell.ExitOK {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
