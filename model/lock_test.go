package model_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
	"retwis/redlock"
)

// skipQuarantine lets a newly started server grant locks immediately.
func skipQuarantine(t testing.TB, client rueidis.Client) {
	t.Helper()
	m, err := redlock.New([]rueidis.Client{client}, redlock.Options{})
	require.OK(t)(err)
	require.OK(t)(m.SkipQuarantine(t.Context()))
	require.OK(t)(m.Close())
}

// Two processes, simulated with separate clients, increment a field under a lock.
func TestLockExcludes(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "m", func(t *testing.T, client rueidis.Client, opt model.Options) {
		db := redistest.DB(t)
		skipQuarantine(t, db.Client(t))
		var p wikiPage
		var wg sync.WaitGroup
		for i := range 2 {
			pages := store[wikiPage](t, db.Client(t), opt)
			defer func() { checkErr(t, pages.Close()) }()
			if i == 0 {
				p = mustCreate(t, pages, wikiPage{})
			}
			for range 4 {
				wg.Go(func() {
					for range 10 {
						checkErr(t, pages.WithLock(t.Context(), p.ID, func(ctx context.Context) error {
							p, err := pages.Get(ctx, p.ID)
							if err != nil {
								return err
							}
							p.Plain++
							_, err = pages.Save(ctx, p)
							return err
						}))
					}
				})
			}
		}
		wg.Wait()
		pages := store[wikiPage](t, db.Client(t), opt)
		if got, err := pages.Get(t.Context(), p.ID); got.Plain != 80 || err != nil {
			t.Fatalf("Plain = %d, %v; want 80", got.Plain, err)
		}
	})
}

func TestLock(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	client := db.Client(t)
	skipQuarantine(t, client)
	first, second := store[wikiPage](t, client, model.Options{Name: "m"}), store[wikiPage](t, db.Client(t), model.Options{Name: "m"})
	ctx := t.Context()
	l, err := first.Lock(ctx, "7")
	require.OK(t)(err)
	if held := redisDo(t, client, "EXISTS", "m.lock:7"); held != "1" {
		t.Error("the lock is not at key m.lock:7")
	}
	for _, s := range []*model.Store[wikiPage]{first, second} {
		require.Fails(t, redlock.ErrHeld)(s.TryLock(ctx, "7"))
		l, err := s.TryLock(ctx, "8")
		for errors.Is(err, redlock.ErrNoQuorum) { // the server did not reply in time
			l, err = s.TryLock(ctx, "8")
		}
		require.OK(t)(err)
		checkErr(t, l.Unlock(ctx))
	}
	waiting, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	require.Fails(t, context.DeadlineExceeded)(second.Lock(waiting, "7"))
	checkErr(t, l.Unlock(ctx))
	failed := errors.New("failed")
	require.Fails(t, failed)(second.WithLock(ctx, "7", func(context.Context) error { return failed }))
	require.Fails(t, model.ErrValue)(first.Lock(ctx, ""))
	checkErr(t, first.Close())
	checkErr(t, first.Close())
	checkErr(t, second.Close())
	checkErr(t, store[wikiPage](t, client, model.Options{Name: "m"}).Close()) // never locked
	require.Fails(t, redlock.ErrClosed)(first.Lock(ctx, "7"))
	require.Fails(t, redlock.ErrClosed)(first.WithLock(ctx, "7", func(context.Context) error { return nil }))
}
