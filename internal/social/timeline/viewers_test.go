package timeline

import (
	"testing"
	"time"

	"retwis/internal/redis/reply"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A cached viewer is not considered current after a change of mutes or blocks was reported, whether
// or not the viewer was in memory.
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
	b, key := db.Client.B(), storage.BlockersKey(1)
	// The reply to the second command comes after the server's message that the key has changed.
	block := db.Client.DoMulti(t.Context(), b.Zadd().Key(key).ScoreMember().ScoreMember(1<<40, "2").Build(), b.Exists().Key(key).Build())
	if err := reply.FirstError(block); err != nil {
		t.Fatal(err)
	}
	db.Changed(key)
	after := get(1)
	if !after.Blockers.Has(2) || after.PeopleChanged == before.PeopleChanged {
		t.Errorf("blockers %d, %d changes before and %d after", after.Blockers, before.PeopleChanged, after.PeopleChanged)
	}
}

// Rereading all standings, as happens once a minute, keeps the version if nothing has changed, so
// that whatever depends on it stays in memory.
func TestVersionStays(t *testing.T) {
	t.Parallel()
	db := storage.NewDatabase(redistest.DB(t).Client(t), true)
	s := NewStandings(db)
	t.Cleanup(s.Close)
	reload := func(score float64, all bool) any {
		t.Helper()
		add := db.Client.B().Zadd().Key(storage.Standings).ScoreMember().ScoreMember(score, "7").Build()
		if err := db.Client.Do(t.Context(), add).Error(); err != nil {
			t.Fatal(err)
		}
		s.lost.Store(all)
		read := s.kept.Reload
		if all {
			read = s.kept.Renew
		}
		if _, err := read(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s.Version()
	}
	suspended := float64(scoreStandings*10) + float64(social.Suspended)
	first := reload(suspended, true)
	if s.Of(7) != social.Suspended || reload(suspended, true) != first {
		t.Errorf("%v, another version of the same", s.Of(7))
	}
	if reload(suspended+scoreStandings, false) == first {
		t.Error("the same version after a change")
	}
}
