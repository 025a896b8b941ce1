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

// database answers with err after a delay.
type database struct {
	delay time.Duration
	err   error
}

func (d *database) read(ctx context.Context) error {
	select {
	case <-time.After(d.delay):
		return d.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A request waits for a confirmation that is less than a second old, however slow the database
// is, and most requests do not wait at all.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{time.Millisecond, 300 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			db := &database{delay: delay}
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
					t.Fatalf("database delay %v: confirmed %v before the request", delay, late)
				}
				if time.Since(began) > 0 {
					waits++
				}
				time.Sleep(100 * time.Millisecond)
			}
			if delay < time.Second && waits > 1 {
				t.Errorf("database delay %v: %d of 200 requests waited, want at most 1", delay, waits)
			}
			synctest.Wait()
			time.Sleep(3 * time.Second) // the last confirmation ends
		})
	}
}

// Confirm fails if the database fails. If a part of the database answers, Confirm succeeds.
func TestConfirmFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &database{err: io.EOF}
		link := watched.NewLink(true, db.read)
		if err := link.Confirm(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("Confirm without a database: %v, want EOF", err)
		}
		db.err = store.ErrPartly
		for range 3 {
			if err := link.Confirm(t.Context()); err != nil || !link.Partly() {
				t.Errorf("Confirm with a part of the database: %v, Partly %v; want nil, true", err, link.Partly())
			}
		}
		time.Sleep(time.Second)
		synctest.Wait() // the last probe has ended
		db.err = nil
		if err := link.Probe(t.Context()); err != nil || link.Partly() {
			t.Errorf("Probe of the whole database: %v, Partly %v; want nil, false", err, link.Partly())
		}
	})
}

// An old value is used only while a part of the database is unreachable, and never after a change
// was reported.
func TestOldValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		read, probe    error
		delay          time.Duration
		partly, change bool
		want           bool
	}{
		"slow":                        {delay: 5 * time.Second},
		"no server":                   {read: io.EOF, probe: io.EOF},
		"only this read failed":       {read: io.EOF},
		"a part":                      {read: io.EOF, probe: store.ErrPartly, want: true},
		"a part that hangs":           {delay: time.Hour, probe: store.ErrPartly, partly: true, want: true},
		"a part that is slow":         {delay: 100 * time.Millisecond, probe: store.ErrPartly, partly: true},
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
			*db = database{delay: c.delay, err: c.read}
			value, err := get(ctx, "new")
			useOld := value == "old"
			if useOld != c.want || note.Load() != c.want || (link.Served() > 0) != c.want || c.want && err != nil || !c.want && !errors.Is(err, c.read) {
				t.Errorf("%s: old value %v, noted %v, served %d, %v; want old value %v", name, useOld, note.Load(), link.Served(), err, c.want)
			}
		})
	}
}

// A value is used until a change is reported. With a lag, the value is used for less than another
// second while one reader replaces it.
func TestCell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		link := watched.NewLink(true, func(context.Context) error { return nil })
		var cell watched.Cell[int]
		wantValid := func(name string, lag time.Duration, want bool) {
			t.Helper()
			if _, ok := cell.Get(link, lag); ok != want {
				t.Errorf("%s: valid = %v, want %v", name, ok, want)
			}
		}
		put := func(cached bool) { cell.Put(7, cell.Begin(link, cached)) }
		wantValid("empty", watched.Lag, false)
		put(true)
		wantValid("read", 0, true)
		time.Sleep(watched.MaxAge - time.Second)
		wantValid("nearly a minute later", 0, true)
		time.Sleep(time.Second)
		wantValid("a minute later", 0, false)
		put(true)
		cell.Changed()
		wantValid("changed", 0, false)
		wantValid("changed, with a lag", watched.Lag, true)
		time.Sleep(watched.Lag)
		wantValid("after the lag", watched.Lag, false)
		wantValid("after the lag, while one reads", watched.Lag, true)
		time.Sleep(time.Second - watched.Lag)
		wantValid("after a second", watched.Lag, false)
		put(true)
		cell.Force()
		wantValid("written", watched.Lag, false)
		if !cell.IsForced() {
			t.Error("IsForced = false after Force")
		}
		put(true)
		if cell.IsForced() {
			t.Error("IsForced = true after Put")
		}
		link.Lost()
		wantValid("reports lost", 0, false)
		put(false)
		wantValid("read past the cache", 0, false)
		early := cell.Begin(link, true)
		time.Sleep(time.Second)
		cell.Put(9, cell.Begin(link, true))
		cell.Put(8, early)
		if got := cell.Latest(); got != 9 {
			t.Errorf("Latest = %d, want 9: an earlier read replaced a later read", got)
		}
	})
}

// A read that started before a change does not hide the change.
func TestChangeDuringRead(t *testing.T) {
	t.Parallel()
	link := watched.NewLink(true, func(context.Context) error { return nil })
	var cell watched.Cell[int]
	for name, change := range map[string]func(){"changed": cell.Changed, "written": cell.Force, "lost": link.Lost} {
		stamp := cell.Begin(link, true)
		change()
		cell.Put(1, stamp)
		if _, ok := cell.Get(link, 0); ok {
			t.Errorf("%s: Get returned the old value", name)
		}
	}
}
