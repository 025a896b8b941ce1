package model_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

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

// Updates of large records do not overwrite concurrent updates, fields that another program has
// written to the hash, or a deletion.
func TestUpdateLarge(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "scroll", func(t *testing.T, client rueidis.Client, opt model.Options) {
		scrolls := store[scroll](t, client, opt)
		s := mustCreate(t, scrolls, scroll{Title: "a", Text: strings.Repeat("text ", 20_000)})
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 5 {
					if w == 0 {
						checkErr(t, errOf(scrolls.Incr(t.Context(), s.ID, "reads", 1)))
					}
					now, err := scrolls.Update(t.Context(), s.ID, func(s *scroll) error {
						s.Pages++
						s.Title = fmt.Sprintf("%d.%d", w, i)
						s.Text += "."
						return nil
					})
					if err != nil || now.Title != fmt.Sprintf("%d.%d", w, i) || len(now.Text) != 100_000+now.Pages {
						t.Errorf("Update returned title %q, %d pages, %d bytes of text, %v", now.Title, now.Pages, len(now.Text), err)
					}
				}
			})
		}
		wg.Wait()
		got, err := scrolls.Get(t.Context(), s.ID)
		if err != nil || got.Pages != 40 || len(got.Text) != 100_040 || got.Reads != 5 {
			t.Errorf("%d pages, %d bytes of text, %d reads, %v; want 40, 100040, 5", got.Pages, len(got.Text), got.Reads, err)
		}
		key := "scroll:" + s.ID
		if opt.Partitions > 1 {
			keys, err := client.Do(t.Context(), client.B().Keys().Pattern("{scroll.*}:"+s.ID).Build()).AsStrSlice()
			if err != nil || len(keys) != 1 {
				t.Fatalf("keys of the record: %q, %v; want 1", keys, err)
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
			t.Errorf("note %q after %d calls, %v; want \"by hand!\" after 2", got.Note, calls, err)
		}
		other := mustCreate(t, scrolls, scroll{Title: "other"})
		if _, err := scrolls.Update(t.Context(), s.ID, func(s *scroll) error { s.Title = "other"; return nil }); !errors.Is(err, model.ErrTaken) {
			t.Errorf("Update: %v; want ErrTaken", err)
		}
		checkErr(t, errOf(scrolls.Update(t.Context(), s.ID, func(s *scroll) error { return scrolls.Delete(t.Context(), other.ID) })))
		if _, err := scrolls.Update(t.Context(), s.ID, func(s *scroll) error { s.Title = "other"; return nil }); err != nil {
			t.Error(err)
		}
		if _, err := scrolls.Update(t.Context(), s.ID, func(s *scroll) error { return errors.New("no") }); err == nil {
			t.Error("Update did not return the error of the function")
		}
		_, err = scrolls.Update(t.Context(), s.ID, func(s *scroll) error {
			s.Note = "?"
			return scrolls.Delete(t.Context(), s.ID)
		})
		if !errors.Is(err, model.ErrNotFound) {
			t.Errorf("Update of a record deleted meanwhile: %v; want ErrNotFound", err)
		}
	})
}
