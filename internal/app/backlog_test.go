package app_test

import (
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/redistest"
)

// The backlog counts unfinished tasks and reports how long stalled tasks have waited.
func TestBacklog(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t), noJobs)
	backlog := func() app.Backlog {
		t.Helper()
		got, err := b.Backlog(b.Ctx)
		b.must(err)
		return got
	}
	if got := backlog(); got != (app.Backlog{}) {
		t.Errorf("backlog = %+v, want none", got)
	}
	b.Keep("post:3:1:1")
	if got := backlog(); got != (app.Backlog{Waiting: 1}) {
		t.Errorf("backlog = %+v, want one task in progress", got)
	}
	b.must(b.Internals().FanOut.Tasks().Add(b.Ctx, "post:1:1:1"))
	b.Expire() // the leases expired an hour ago
	if got := backlog(); got.Waiting != 2 || got.Stalled < time.Hour || got.Stalled > 2*time.Hour {
		t.Errorf("backlog = %+v, want 2 tasks, one stalled for an hour", got)
	}
}
