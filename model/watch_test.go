package model_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/model"
)

type watched struct {
	ID      string  `redis:",id"`
	N       int     `redis:"n"`
	Key     *string `redis:"key,unique"`
	Hits    int64   `redis:"hits,counter"`
	Set     model.Set
	List    model.List
	Version int64     `redis:",version"`
	Expires time.Time `redis:",expires"`
}

// tell returns a change as text.
func tell(c model.Change) string { return strings.TrimSpace(string(c.Op) + " " + c.ID + " " + c.Field) }

// firstChanges reads n changes after a cursor.
func firstChanges(t testing.TB, s *model.Store[watched], after string, n int) []model.Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []model.Change
	for c, err := range s.Watch(ctx, after) {
		if err != nil {
			t.Fatalf("after %d changes: %v", len(all), err)
		}
		if all = append(all, c); len(all) == n {
			break
		}
	}
	return all
}

func TestWatchTellsOfAllWrites(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := store[watched](t, redistest.DB(t).Client(t), model.Options{Name: "m", ChangeLog: 1000})
	createdOf(t, s, watched{})
	before, err := s.LastChange(ctx)
	checked(t, err)
	if again, err := s.LastChange(ctx); again != before || err != nil {
		t.Errorf("to ask for the last change makes one: %s after %s (%v)", again, before, err)
	}
	a := createdOf(t, s, watched{})
	a, err = s.Save(ctx, a)
	checked(t, err)
	_, err = s.Update(ctx, a.ID, func(w *watched) error { w.N++; return nil })
	checked(t, err)
	_, err = s.Update(ctx, a.ID, func(*watched) error { return nil })
	checked(t, err)
	_, err = s.Patch(ctx, a.ID, map[string]any{"n": 7})
	checked(t, err)
	_, err = s.Incr(ctx, a.ID, "hits", 1)
	checked(t, err)
	_, err = s.Set("set", a.ID).Put(ctx, "x")
	checked(t, err)
	_, err = s.Set("set", a.ID).Put(ctx, "x") // nothing
	checked(t, err)
	_, err = s.Set("set", a.ID).Remove(ctx, "y") // nothing
	checked(t, err)
	_, err = s.List("list", a.ID).PushBack(ctx, "x")
	checked(t, err)
	_, _, err = s.List("list", a.ID).PopBack(ctx)
	checked(t, err)
	_, _, err = s.List("list", a.ID).PopBack(ctx) // nothing
	checked(t, err)
	checked(t, s.Delete(ctx, a.ID))
	createdOf(t, s, watched{Expires: time.Now().Add(-time.Second)})
	_, err = s.Sweep(ctx)
	checked(t, err)
	want := []string{
		"create 2", "save 2", "save 2", "save 2", "incr 2 hits", "set 2 set", "list 2 list", "list 2 list", "delete 2",
		"create 3", "expire 3",
	}
	changes := firstChanges(t, s, before, len(want))
	if got := told(changes); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for i, c := range changes[:len(changes)-1] { // from any of them on
		if got := told(firstChanges(t, s, c.Cursor(), len(want)-i-1)); !slices.Equal(got, want[i+1:]) {
			t.Errorf("behind change %d: %q", i, got)
		}
	}
}

func told(changes []model.Change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, tell(c))
	}
	return all
}

// The expiry of a record is reported by the process that removes it from the indexes.
func TestWatchTellsOfTheExpired(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := store[watched](t, redistest.DB(t).Client(t), model.Options{Name: "m", ChangeLog: 1000, IDs: model.ClientAssigned})
	start, err := s.LastChange(ctx)
	checked(t, err)
	past := time.Now().Add(-time.Second)
	createdOf(t, s, watched{ID: "swept", Expires: past})
	_, err = s.Sweep(ctx)
	checked(t, err)
	createdOf(t, s, watched{ID: "owner", Expires: past, Key: ptr("k")})
	createdOf(t, s, watched{ID: "next", Key: ptr("k")})
	createdOf(t, s, watched{ID: "again", Expires: past})
	createdOf(t, s, watched{ID: "again"})
	createdOf(t, s, watched{ID: "deleted", Expires: past})
	for range 2 {
		if err := s.Delete(ctx, "deleted"); !errors.Is(err, model.ErrNotFound) {
			t.Error(err)
		}
	}
	checked(t, s.Delete(ctx, "next"))
	want := []string{
		"create swept", "expire swept", "create owner", "expire owner", "create next",
		"create again", "expire again", "create again", "create deleted", "expire deleted", "delete next",
	}
	if got := told(firstChanges(t, s, start, len(want))); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A watch misses no change after its start.
func TestWatchFromNow(t *testing.T) {
	t.Parallel()
	s := store[watched](t, redistest.DB(t).Client(t), model.Options{Name: "m", ChangeLog: 1000})
	createdOf(t, s, watched{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan string)
	go func() {
		for c, err := range s.Watch(ctx, "") {
			if err == nil {
				first <- tell(c)
			} else if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		close(first)
	}()
	for {
		a := createdOf(t, s, watched{}) // until it has begun
		select {
		case got := <-first:
			if got == "create 1" || !strings.HasPrefix(got, "create ") {
				t.Error(got)
			}
			cancel()
			for range first { // until it ends
			}
			return
		case <-time.After(time.Millisecond):
			_ = a
		}
	}
}

// Every change is reported once, those of one record in order, even if readers restart
// at a cursor now and then and the server is killed meanwhile.
func TestWatchAmongWriters(t *testing.T) {
	t.Parallel()
	for name, opt := range refLayouts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Own(t, "appendonly yes", "appendfsync always")
			s := store[watched](t, server.Client(t), opt)
			const records, writes = 20, 50
			cursor, err := s.LastChange(t.Context())
			checked(t, err)
			var wg sync.WaitGroup
			var versions [records]int64
			for r := range records {
				id := createdOf(t, s, watched{}).ID
				wg.Go(func() { versions[r] = writeAndDelete(t, s, id, writes) })
			}
			wg.Go(func() {
				for range 2 {
					server.Restart(t, true)
				}
			})
			changes := map[string][]model.Change{}
			ended := 0
			for reading := true; reading; reading = ended < records {
				for i, c := range until(t, s, cursor) {
					changes[c.ID] = append(changes[c.ID], c)
					cursor = c.Cursor()
					if c.Op == model.Deleted {
						ended++
					}
					if ended == records || i == 100 {
						break
					}
				}
			}
			wg.Wait()
			for r, version := range versions {
				all := changes[fmt.Sprint(r+1)]
				want := append(append([]string{"create"}, slices.Repeat([]string{"save"}, int(version)-1)...), "delete")
				var got []string
				for _, c := range all {
					got = append(got, string(c.Op))
				}
				if !slices.Equal(got, want) {
					t.Errorf("record %d of version %d: %d changes were told: %q", r+1, version, len(got), got)
				}
			}
		})
	}
}

// until numbers the changes after a cursor.
func until(t testing.TB, s *model.Store[watched], after string) iter.Seq2[int, model.Change] {
	return func(yield func(int, model.Change) bool) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		i := 0
		for c, err := range s.Watch(ctx, after) {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(i, c) {
				return
			}
			i++
		}
	}
}

// writeAndDelete writes a record often and deletes it, through all failures of the
// server, and returns its last version: how often it was really written.
func writeAndDelete(t *testing.T, s *model.Store[watched], id string, writes int) int64 {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again := func(f func() error) {
		for f() != nil && ctx.Err() == nil { // until it is done
		}
	}
	for range writes {
		again(func() error { _, err := s.Update(ctx, id, func(w *watched) error { w.N++; return nil }); return err })
	}
	var last watched
	again(func() (err error) { last, err = s.Get(ctx, id); return err })
	again(func() error {
		if err := s.Delete(ctx, id); !errors.Is(err, model.ErrNotFound) {
			return err
		}
		return nil
	})
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
	return last.Version
}

func TestWatchTellsOfGaps(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	client := server.Client(t)
	s := store[watched](t, client, model.Options{Name: "m", ChangeLog: 100})
	ctx := t.Context()
	start, err := s.LastChange(ctx)
	checked(t, err)
	a := createdOf(t, s, watched{})
	for range 500 {
		_, err := s.Incr(ctx, a.ID, "hits", 1)
		checked(t, err)
	}
	if got := watchError(t, s, start); !errors.Is(got, model.ErrGap) || !strings.Contains(got.Error(), "Options.ChangeLog") {
		t.Error(got)
	}
	last, err := s.LastChange(ctx)
	checked(t, err)
	// While it is watched, and the server loses all.
	lost := make(chan error)
	go func() { lost <- watchError(t, s, last) }()
	server.Restart(t, false)
	if got := <-lost; !errors.Is(got, model.ErrGap) {
		t.Error(got)
	}
}

// watchError is what ends a Watch.
func watchError(t testing.TB, s *model.Store[watched], after string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var last error
	for _, err := range s.Watch(ctx, after) {
		last = err
	}
	return last
}

func TestWatchRefuses(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	without := store[watched](t, client, model.Options{Name: "m"})
	for _, cursor := range []string{"", "1-1"} {
		if err := watchError(t, without, cursor); !errors.Is(err, model.ErrNoChanges) || !strings.Contains(err.Error(), "Options.ChangeLog") {
			t.Error(err)
		}
	}
	if _, err := without.LastChange(t.Context()); !errors.Is(err, model.ErrNoChanges) {
		t.Error(err)
	}
	for _, partitions := range []int{1, 3} {
		s := store[watched](t, client, model.Options{Name: fmt.Sprint("n", partitions), ChangeLog: 10, Partitions: partitions})
		for _, cursor := range []string{"x", "1", "1-", "-1", "1-x", "01-1", "1-1,", "1-1,1-1", "1-1,1-1,1-1,1-1", "+", "$", "99999999999999999999-1"} {
			if err := watchError(t, s, cursor); !errors.Is(err, model.ErrCursor) {
				t.Errorf("%q: %v", cursor, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range s.Watch(ctx, "") {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	}
	s := store[watched](t, client, model.Options{Name: "o", ChangeLog: 10})
	redisDo(t, client, "SET", "o.changes", "text")
	if err := watchError(t, s, "1-1"); err == nil || errors.Is(err, model.ErrGap) || errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if (model.Change{}).Cursor() != "" {
		t.Error("a change of nothing has a cursor")
	}
}
