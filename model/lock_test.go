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

// trust lets a newly started server grant locks immediately.
func trust(t testing.TB, client rueidis.Client) {
	t.Helper()
	m, err := redlock.New([]rueidis.Client{client}, redlock.Options{})
	require.OK(t)(err)
	require.OK(t)(m.SkipQuarantine(t.Context()))
	require.OK(t)(m.Close())
}

// Two simulated processes read, wait and write.
func TestLockExcludes(t *testing.T) {
	t.Parallel()
	layouts(t, "m", func(t *testing.T, client rueidis.Client, opt model.Options) {
		db := redistest.DB(t)
		trust(t, db.Client(t))
		var p wikiPage
		var wg sync.WaitGroup
		for i := range 2 {
			pages := store[wikiPage](t, db.Client(t), opt)
			defer func() { checked(t, pages.Close()) }()
			if i == 0 {
				p = createdOf(t, pages, wikiPage{})
			}
			for range 4 {
				wg.Go(func() {
					for range 10 {
						checked(t, pages.WithLock(t.Context(), p.ID, func(ctx context.Context) error {
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
			t.Fatal(got.Plain, err)
		}
	})
}

func TestLock(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	client := db.Client(t)
	trust(t, client)
	one, other := store[wikiPage](t, client, model.Options{Name: "m"}), store[wikiPage](t, db.Client(t), model.Options{Name: "m"})
	ctx := t.Context()
	l, err := one.Lock(ctx, "7")
	require.OK(t)(err)
	if held := redisDo(t, client, "EXISTS", "m.lock:7"); held != "1" {
		t.Error("the lock is not where it is said to be")
	}
	for _, s := range []*model.Store[wikiPage]{one, other} {
		require.Fails(t, redlock.ErrHeld)(s.TryLock(ctx, "7"))
		l, err := s.TryLock(ctx, "8")
		for errors.Is(err, redlock.ErrNoQuorum) { // a busy machine did not reply in time
			l, err = s.TryLock(ctx, "8")
		}
		require.OK(t)(err)
		checked(t, l.Unlock(ctx))
	}
	waiting, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	require.Fails(t, context.DeadlineExceeded)(other.Lock(waiting, "7"))
	checked(t, l.Unlock(ctx))
	failed := errors.New("failed")
	require.Fails(t, failed)(other.WithLock(ctx, "7", func(context.Context) error { return failed }))
	require.Fails(t, model.ErrValue)(one.Lock(ctx, ""))
	checked(t, one.Close())
	checked(t, one.Close())
	checked(t, other.Close())
	checked(t, store[wikiPage](t, client, model.Options{Name: "m"}).Close()) // never locked
	require.Fails(t, redlock.ErrClosed)(one.Lock(ctx, "7"))
	require.Fails(t, redlock.ErrClosed)(one.WithLock(ctx, "7", func(context.Context) error { return nil }))
}
