package collection

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
)

func TestRing(t *testing.T) {
	t.Parallel()
	r, err := NewRing(client(t), "ring")
	ctx := t.Context()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(ctx); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	var empty *EmptyError
	if _, err := r.Take(ctx, time.Second); !errors.As(err, &empty) || empty.Retry >= 0 {
		t.Fatal(err)
	}
	if n, err := r.PutMany(ctx, slices.Values([]string{"a", "b", "a", "c"})); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	next := func(n int) string {
		var all string
		for range n {
			item, err := r.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			all += item
		}
		return all
	}
	if got := next(7); got != "abcabca" {
		t.Fatal(got)
	}
	b, err := r.Take(ctx, time.Minute)
	if err != nil || b.Item != "b" {
		t.Fatal(b, err)
	}
	if got := next(4); got != "caca" {
		t.Fatal(got)
	}
	if n, err := r.Len(ctx); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	if err := b.Return(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.Return(ctx); !errors.Is(err, ErrLeaseOver) {
		t.Fatal(err)
	}
	if got := next(3); got != "cab" {
		t.Fatal(got)
	}
	if n, err := r.Remove(ctx, "c", "none"); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	// The item of a worker that crashed comes round again.
	a, err := r.Take(ctx, time.Millisecond)
	if err != nil || a.Item != "a" {
		t.Fatal(a, err)
	}
	if _, err := r.Take(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
	again, err := r.Take(ctx, time.Hour)
	for errors.As(err, &empty) {
		again, err = r.Take(ctx, time.Hour)
	}
	if err != nil || again.Item != "a" {
		t.Fatal(again, err)
	}
	if err := a.Extend(ctx, time.Minute); !errors.Is(err, ErrLeaseOver) {
		t.Fatal(err)
	}
	if err := again.Extend(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Take(ctx, time.Hour); !errors.As(err, &empty) || empty.Retry < 30*time.Minute {
		t.Fatal(err)
	}
	if n, err := r.Remove(ctx, "a"); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if err := again.Return(ctx); !errors.Is(err, ErrLeaseOver) {
		t.Fatal(err)
	}
}

// However many workers take items concurrently, no two have the same, and none is lost.
func TestRingIsExclusive(t *testing.T) {
	t.Parallel()
	server, ctx := redistest.One(t), t.Context()
	var held sync.Map
	var all sync.WaitGroup
	for range 6 {
		r, err := NewRing(server.Client(t), "exclusive")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.PutMany(ctx, slices.Values([]string{"a", "b", "c", "d"})); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for n := 0; n < 50; {
				l, err := r.Take(ctx, time.Hour)
				if errors.Is(err, ErrNotFound) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if _, other := held.LoadOrStore(l.Item, true); other {
					t.Errorf("two workers have %s at the same time", l.Item)
				}
				held.Delete(l.Item)
				if err := l.Return(ctx); err != nil {
					t.Error(err)
				}
				n++
			}
		})
	}
	all.Wait()
	c := server.Client(t)
	if items, err := c.Do(ctx, c.B().Zrangebyscore().Key("exclusive").Min("-inf").Max("(0").Build()).AsStrSlice(); err != nil || len(items) != 4 {
		t.Fatal(items, err)
	}
}
