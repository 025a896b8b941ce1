package model_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/model"
)

// scroll is a record without a version.
type scroll struct {
	ID    string `redis:",id"`
	Title string `redis:"title,unique"`
	Pages int    `redis:"pages,range"`
	Note  string `redis:"note"`
	Text  string `redis:"text"`
	Reads int    `redis:"reads,counter"`
}

// Updates of large records lose nothing either: not those of each other, not what
// another program writes into the hash, and not a deletion.
func TestUpdateLarge(t *testing.T) {
	t.Parallel()
	layouts(t, "scroll", func(t *testing.T, client rueidis.Client, opt model.Options) {
		scrolls := store[scroll](t, client, opt)
		s := createdOf(t, scrolls, scroll{Title: "a", Text: strings.Repeat("text ", 20_000)})
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 5 {
					if w == 0 {
						if _, err := scrolls.Incr(t.Context(), s.ID, "reads", 1); err != nil {
							t.Error(err)
						}
					}
					now, err := scrolls.Update(t.Context(), s.ID, func(s *scroll) error {
						s.Pages++
						s.Title = fmt.Sprintf("%d.%d", w, i)
						s.Text += "."
						return nil
					})
					if err != nil || now.Title != fmt.Sprintf("%d.%d", w, i) || len(now.Text) != 100_000+now.Pages {
						t.Error(now.Title, now.Pages, len(now.Text), err)
					}
				}
			})
		}
		wg.Wait()
		got, err := scrolls.Get(t.Context(), s.ID)
		if err != nil || got.Pages != 40 || len(got.Text) != 100_040 || got.Reads != 5 {
			t.Error(got.Pages, len(got.Text), got.Reads, err)
		}
		key := "scroll:" + s.ID
		if opt.Partitions > 1 {
			keys, err := client.Do(t.Context(), client.B().Keys().Pattern("{scroll.*}:"+s.ID).Build()).AsStrSlice()
			if err != nil || len(keys) != 1 {
				t.Fatal(keys, err)
			}
			key = keys[0]
		}
		calls := 0
		got, err = scrolls.Update(t.Context(), s.ID, func(s *scroll) error {
			if calls++; calls == 1 {
				redisDo(t, client, "HSET", key, "note", "by hand")
			}
			s.Note += "!"
			return nil
		})
		if err != nil || got.Note != "by hand!" || calls != 2 {
			t.Error(got.Note, calls, err)
		}
		other := createdOf(t, scrolls, scroll{Title: "other"})
		if _, err := scrolls.Update(t.Context(), s.ID, func(s *scroll) error { s.Title = "other"; return nil }); !errors.Is(err, model.ErrTaken) {
			t.Error(err)
		}
		if _, err := scrolls.Update(t.Context(), s.ID, func(s *scroll) error { return scrolls.Delete(t.Context(), other.ID) }); err != nil {
			t.Error(err)
		}
		if _, err := scrolls.Update(t.Context(), s.ID, func(s *scroll) error { s.Title = "other"; return nil }); err != nil {
			t.Error(err)
		}
		if _, err := scrolls.Update(t.Context(), s.ID, func(s *scroll) error { return errors.New("no") }); err == nil {
			t.Error("an error of the function is lost")
		}
		_, err = scrolls.Update(t.Context(), s.ID, func(s *scroll) error {
			s.Note = "?"
			return scrolls.Delete(t.Context(), s.ID)
		})
		if !errors.Is(err, model.ErrNotFound) {
			t.Error(err)
		}
	})
}

// The server compares small records itself, and watches the keys of large ones. Patch
// compares only what has index entries.
func TestUpdateComparesAtServer(t *testing.T) {
	t.Parallel()
	client := redistest.Own(t).Client(t)
	scrolls := store[scroll](t, client, model.Options{Name: "scroll"})
	for _, test := range []struct {
		length int
		want   bool
	}{{1 << 10, false}, {1 << 20, true}} {
		s := createdOf(t, scrolls, scroll{Title: fmt.Sprint(test.length), Text: strings.Repeat("x", test.length)})
		redisDo(t, client, "CONFIG", "RESETSTAT")
		if p, err := scrolls.Patch(t.Context(), s.ID, map[string]any{"pages": 3, "title": "new"}); err != nil || p.Pages != 3 {
			t.Error(p.Pages, err)
		}
		watches := func() bool {
			stats, err := client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString()
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(stats, "cmdstat_watch:")
		}
		if watches() {
			t.Errorf("%d bytes: Patch watches the key", test.length)
		}
		if _, err := scrolls.Update(t.Context(), s.ID, func(s *scroll) error { s.Pages = 4; return nil }); err != nil {
			t.Error(err)
		}
		if watches() != test.want {
			t.Errorf("%d bytes: Update watches the key: %v", test.length, !test.want)
		}
		if _, err := scrolls.Patch(t.Context(), s.ID, map[string]any{"title": s.Title}); err != nil {
			t.Error(err)
		}
	}
}

// A server that refuses PING ends an update with an error. One that cannot write its
// snapshot does, and one that has lost its master, as a failover leaves it.
func TestUpdateLargeWherePingIsRefused(t *testing.T) {
	t.Parallel()
	client := redistest.Own(t, "replica-serve-stale-data no").Client(t)
	scrolls := store[scroll](t, client, model.Options{Name: "scroll"})
	s := createdOf(t, scrolls, scroll{Title: "a", Text: strings.Repeat("text ", 20_000)})
	for _, same := range []bool{false, true} {
		_, err := scrolls.Update(t.Context(), s.ID, func(s *scroll) error {
			if !same {
				s.Pages++
			}
			return client.Do(t.Context(), client.B().Arbitrary("REPLICAOF", "127.0.0.1", "1").Build()).Error()
		})
		if !same && err == nil {
			t.Error("the server has written")
		}
		if err := client.Do(t.Context(), client.B().Arbitrary("REPLICAOF", "NO", "ONE").Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := scrolls.Get(t.Context(), s.ID); err != nil || got.Pages != 0 {
		t.Error(got.Pages, err)
	}
}
