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

// After a change of blocks was reported, Get returns a viewer with the change and with another
// value of PeopleChanged.
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
		t.Errorf("blockers %d, want 2; PeopleChanged was %d and is %d", after.Blockers, before.PeopleChanged, after.PeopleChanged)
	}
}

// Rereading all standings, which happens once a minute, does not change the version if no standing
// has changed, so that dependent values stay cached.
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
		readStandings := s.kept.Reload
		if all {
			readStandings = s.kept.Renew
		}
		if _, err := readStandings(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s.Version()
	}
	suspended := float64(scoreStandings*10) + float64(social.Suspended)
	first := reload(suspended, true)
	if s.Of(7) != social.Suspended || reload(suspended, true) != first {
		t.Errorf("standing %v, want Suspended with an unchanged version", s.Of(7))
	}
	if reload(suspended+scoreStandings, false) == first {
		t.Error("the version is the same after a change")
	}
}
