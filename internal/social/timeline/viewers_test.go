package timeline

import (
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// What is kept about a viewer with the changes of mutes and blocks is not taken for current where
// one was reported while the viewer was not in memory.
func TestForgottenViewer(t *testing.T) {
	t.Parallel()
	db := storage.NewDatabase(redistest.DB(t).Client(t), true)
	standings := NewStandings(db)
	t.Cleanup(standings.Close)
	s, err := NewViewers(db, standings, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	get := func(uid int64) *social.Viewer {
		t.Helper()
		v, err := s.Get(t.Context(), social.User{ID: uid})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := get(1)
	s.cells.InvalidateAll() // others have taken its place
	block := db.Client.B().Zadd().Key(layout.BlockersKey(1)).ScoreMember().ScoreMember(1<<40, "2").Build()
	if err := db.Client.Do(t.Context(), block).Error(); err != nil {
		t.Fatal(err)
	}
	s.Invalidate(1, layout.BlockersPrefix)
	after := get(1)
	if !after.Blockers.Has(2) || after.PeopleChanged == before.PeopleChanged {
		t.Errorf("blockers %d, %d changes before and %d after", after.Blockers, before.PeopleChanged, after.PeopleChanged)
	}
}
