package app_test

import (
	"strconv"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social/layout"

	"retwis/internal/app"
)

// Work that nobody finishes shows in the backlog, with its age.
func TestBacklog(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	now := time.Unix(1_800_000_000, 0)
	s, err := app.New(client, app.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	backlog := func() app.Backlog {
		t.Helper()
		got, err := s.Backlog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := backlog(); got != (app.Backlog{}) {
		t.Errorf("%+v, want none", got)
	}
	b := client.B()
	add := func(member string, age time.Duration) {
		t.Helper()
		score := float64(now.Add(-age).Unix())
		if err := client.Do(t.Context(), b.Zadd().Key(layout.Tasks).ScoreMember().ScoreMember(score, member).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	add("post:1:1:1", time.Second)
	add("post:2:1:1", time.Minute)
	if got := backlog(); got != (app.Backlog{Waiting: 2, Stalled: time.Minute}) {
		t.Errorf("%+v, want 2 that wait for a minute, as of %s", got, strconv.FormatInt(now.Unix(), 10))
	}
}
