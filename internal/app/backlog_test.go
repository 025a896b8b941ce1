package app_test

import (
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/redistest"
)

// Unfinished work shows in the backlog, with the time for which it has waited.
func TestBacklog(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t), noJobs)
	backlog := func() app.Backlog {
		t.Helper()
		got, err := b.Backlog(b.Ctx)
		b.do(err)
		return got
	}
	if got := backlog(); got != (app.Backlog{}) {
		t.Errorf("%+v, want none", got)
	}
	b.Keep("post:3:1:1")
	if got := backlog(); got != (app.Backlog{Waiting: 1}) {
		t.Errorf("%+v, want one that a process works on", got)
	}
	b.do(b.Internals().FanOut.Tasks().Add(b.Ctx, "post:1:1:1"))
	b.Expire() // an hour ago
	if got := backlog(); got.Waiting != 2 || got.Stalled < time.Hour || got.Stalled > 2*time.Hour {
		t.Errorf("%+v, want 2, one of which waits for an hour", got)
	}
}
