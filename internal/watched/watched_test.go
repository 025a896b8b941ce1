package watched_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"retwis/internal/redis/store"
	"retwis/internal/watched"
)

// database answers after a delay, unless it is gone.
type database struct {
	takes time.Duration
	err   error
}

func (d *database) read(ctx context.Context) error {
	select {
	case <-time.After(d.takes):
		return d.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A request waits for a confirmation that is less than a second old, however slow the database
// is, and most requests do not wait at all.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{time.Millisecond, 300 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			db := &database{takes: takes}
			var latest atomic.Int64 // when the last answered probe started
			link := watched.NewLink(true, func(ctx context.Context) error {
				began := time.Now()
				err := db.read(ctx)
				latest.Store(began.UnixNano())
				return err
			})
			waits := 0
			for range 200 {
				began := time.Now()
				if err := link.Confirm(t.Context()); err != nil {
					t.Fatal(err)
				}
				if late := began.Sub(time.Unix(0, latest.Load())); late > 900*time.Millisecond {
					t.Fatalf("with a database %v away: confirmed %v before the request", takes, late)
				}
				if time.Since(began) > 0 {
					waits++
				}
				time.Sleep(100 * time.Millisecond)
			}
			if takes < time.Second && waits > 1 {
				t.Errorf("with a database %v away: %d of 200 requests waited", takes, waits)
			}
			synctest.Wait()
			time.Sleep(3 * time.Second) // the last confirmation ends
		})
	}
}

// Without a database a request fails; if part of it answers, the request does not wait.
func TestConfirmFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &database{err: io.EOF}
		link := watched.NewLink(true, db.read)
		if err := link.Confirm(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
		db.err = store.ErrPartly
		for range 3 {
			if err := link.Confirm(t.Context()); err != nil || !link.Partly() {
				t.Errorf("a part of the database: %v", err)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait() // the last probe has ended
		db.err = nil
		if err := link.Probe(t.Context()); err != nil || link.Partly() {
			t.Errorf("all of it: %v", err)
		}
	})
}

// An old value is used only while part of the database cannot be reached, and never after a
// change was reported.
func TestOldValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		read, probe    error
		takes          time.Duration
		partly, change bool
		want           bool
	}{
		"slow":                        {takes: 5 * time.Second},
		"no server":                   {read: io.EOF, probe: io.EOF},
		"only this read failed":       {read: io.EOF},
		"a part":                      {read: io.EOF, probe: store.ErrPartly, want: true},
		"a part that hangs":           {takes: time.Hour, probe: store.ErrPartly, partly: true, want: true},
		"a part that is slow":         {takes: 100 * time.Millisecond, probe: store.ErrPartly, partly: true},
		"a part, changed before":      {read: io.EOF, probe: store.ErrPartly, change: true},
		"a part, and another problem": {read: errors.New("a bug"), probe: store.ErrPartly},
	} {
		synctest.Test(t, func(t *testing.T) {
			link := watched.NewLink(true, func(context.Context) error { return c.probe })
			values, err := watched.NewMap(watched.Options[string]{
				Link: link, Keys: []string{"key:"}, Most: 10,
				IsFresh: func(context.Context, int64) bool { return false },
			})
			if err != nil {
				t.Fatal(err)
			}
			db := new(database)
			get := func(ctx context.Context, value string) (string, error) {
				return values.Get(ctx, 1, watched.Ask[string]{
					Load: watched.Each(func(ctx context.Context, _ *watched.Read[string]) (string, error) {
						return value, db.read(ctx)
					}),
				})
			}
			if _, err := get(t.Context(), "old"); err != nil {
				t.Fatal(err)
			}
			if c.partly {
				_ = link.Probe(t.Context())
			}
			link.Lost()
			if c.change {
				link.Changed("key:", 1)
			}
			ctx, note := watched.WithNote(t.Context())
			*db = database{takes: c.takes, err: c.read}
			value, err := get(ctx, "new")
			useOld := value == "old"
			if useOld != c.want || note.Load() != c.want || (link.Served() > 0) != c.want || c.want && err != nil || !c.want && !errors.Is(err, c.read) {
				t.Errorf("%s: old %v, noted %v, served %d, %v", name, useOld, note.Load(), link.Served(), err)
			}
		})
	}
}

// A value is used until a change is reported. With a lag it is used for less than a second more
// while one reader replaces it.
func TestCell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		link := watched.NewLink(true, func(context.Context) error { return nil })
		var cell watched.Cell[int]
		is := func(what string, lag time.Duration, want bool) {
			t.Helper()
			if _, ok := cell.Get(link, lag); ok != want {
				t.Errorf("%s: %v", what, ok)
			}
		}
		put := func(cached bool) { cell.Put(7, cell.Begin(link, cached)) }
		is("empty", watched.Lag, false)
		put(true)
		is("read", 0, true)
		time.Sleep(watched.MaxAge - time.Second)
		is("nearly a minute later", 0, true)
		time.Sleep(time.Second)
		is("a minute later", 0, false)
		put(true)
		cell.Changed()
		is("changed", 0, false)
		is("changed, with a lag", watched.Lag, true)
		time.Sleep(watched.Lag)
		is("after the lag", watched.Lag, false)
		is("after the lag, while one reads", watched.Lag, true)
		time.Sleep(time.Second - watched.Lag)
		is("after a second", watched.Lag, false)
		put(true)
		cell.Force()
		is("written", watched.Lag, false)
		if !cell.IsForced() {
			t.Error("written: a read may use the client-side cache")
		}
		put(true)
		if cell.IsForced() {
			t.Error("read after a write: another read must go past the client-side cache")
		}
		link.Lost()
		is("reports lost", 0, false)
		put(false)
		is("read past the cache", 0, false)
		early := cell.Begin(link, true)
		time.Sleep(time.Second)
		cell.Put(9, cell.Begin(link, true))
		cell.Put(8, early)
		if got := cell.Latest(); got != 9 {
			t.Errorf("an earlier read has replaced a later one: %d", got)
		}
	})
}

// A read that started before a change does not hide it.
func TestChangeDuringRead(t *testing.T) {
	t.Parallel()
	link := watched.NewLink(true, func(context.Context) error { return nil })
	var cell watched.Cell[int]
	for what, change := range map[string]func(){"changed": cell.Changed, "written": cell.Force, "lost": link.Lost} {
		stamp := cell.Begin(link, true)
		change()
		cell.Put(1, stamp)
		if _, ok := cell.Get(link, 0); ok {
			t.Errorf("%s: the value is used", what)
		}
	}
}
