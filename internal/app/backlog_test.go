package app_test

import (
	"strconv"
	"testing"
	"time"

	"retwis/internal/redistest"

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
	backlog := func() map[string]app.Backlog {
		all, err := s.Backlog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]app.Backlog{}
		for _, one := range all {
			byName[one.Queue] = one
		}
		return byName
	}
	if got := backlog(); got["fanouts"].Waiting != 0 || got["tasks"].Stalled != 0 || len(got) != 2 {
		t.Errorf("%v", got)
	}
	b := client.B()
	for member, age := range map[string]time.Duration{"1:1": time.Minute, "2:1": time.Second} {
		score := float64(now.Add(-age).Unix())
		if err := client.Do(t.Context(), b.Zadd().Key("fanouts").ScoreMember().ScoreMember(score, member).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if got := backlog()["fanouts"]; got.Waiting != 2 || got.Stalled != time.Minute {
		t.Errorf("%+v, want 2 that wait for a minute, as of %s", got, strconv.FormatInt(now.Unix(), 10))
	}
}
