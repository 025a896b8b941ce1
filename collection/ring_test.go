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
		t.Fatalf("Next: %v, want ErrNotFound", err)
	}
	var empty *EmptyError
	if _, err := r.Take(ctx, time.Second); !errors.As(err, &empty) || empty.Retry >= 0 {
		t.Fatal(err)
	}
	if n, err := r.PutMany(ctx, slices.Values([]string{"a", "b", "a", "c"})); err != nil || n != 3 {
		t.Fatalf("PutMany = %v, %v; want 3", n, err)
	}
	next := func(n int) string {
		var items string
		for range n {
			item, err := r.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			items += item
		}
		return items
	}
	if got := next(7); got != "abcabca" {
		t.Fatalf("next items %q, want abcabca", got)
	}
	b, err := r.Take(ctx, time.Minute)
	if err != nil || b.Item != "b" {
		t.Fatalf("Take = %v, %v; want b", b, err)
	}
	if got := next(4); got != "caca" {
		t.Fatalf("next items %q, want caca", got)
	}
	if n, err := r.Len(ctx); err != nil || n != 3 {
		t.Fatalf("Len = %v, %v; want 3", n, err)
	}
	if err := b.Return(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.Return(ctx); !errors.Is(err, ErrLeaseOver) {
		t.Fatalf("Return: %v, want ErrLeaseOver", err)
	}
	if got := next(3); got != "cab" {
		t.Fatalf("next items %q, want cab", got)
	}
	if n, err := r.Remove(ctx, "c", "none"); err != nil || n != 1 {
		t.Fatalf("Remove = %v, %v; want 1", n, err)
	}
	// An item is handed out again after its lease has expired.
	a, err := r.Take(ctx, time.Millisecond)
	if err != nil || a.Item != "a" {
		t.Fatalf("Take = %v, %v; want a", a, err)
	}
	if _, err := r.Take(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
	again, err := r.Take(ctx, time.Hour)
	for errors.As(err, &empty) {
		again, err = r.Take(ctx, time.Hour)
	}
	if err != nil || again.Item != "a" {
		t.Fatalf("Take = %v, %v; want a", again, err)
	}
	if err := a.Extend(ctx, time.Minute); !errors.Is(err, ErrLeaseOver) {
		t.Fatalf("Extend: %v, want ErrLeaseOver", err)
	}
	if err := again.Extend(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Take(ctx, time.Hour); !errors.As(err, &empty) || empty.Retry < 30*time.Minute {
		t.Fatal(err)
	}
	if n, err := r.Remove(ctx, "a"); err != nil || n != 1 {
		t.Fatalf("Remove = %v, %v; want 1", n, err)
	}
	if err := again.Return(ctx); !errors.Is(err, ErrLeaseOver) {
		t.Fatalf("Return: %v, want ErrLeaseOver", err)
	}
}

// TestRingIsExclusive checks that concurrent workers never hold the same item, and lose no item.
func TestRingIsExclusive(t *testing.T) {
	t.Parallel()
	server, ctx := redistest.One(t), t.Context()
	var held sync.Map
	var wg sync.WaitGroup
	for range 6 {
		r, err := NewRing(server.Client(t), "exclusive")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.PutMany(ctx, slices.Values([]string{"a", "b", "c", "d"})); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for n := 0; n < 50; {
				l, err := r.Take(ctx, time.Hour)
				if errors.Is(err, ErrNotFound) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if _, loaded := held.LoadOrStore(l.Item, true); loaded {
					t.Errorf("two workers hold %s at the same time", l.Item)
				}
				held.Delete(l.Item)
				if err := l.Return(ctx); err != nil {
					t.Error(err)
				}
				n++
			}
		})
	}
	wg.Wait()
	c := server.Client(t)
	if items, err := c.Do(ctx, c.B().Zrangebyscore().Key("exclusive").Min("-inf").Max("(0").Build()).AsStrSlice(); err != nil || len(items) != 4 {
		t.Fatalf("ZRANGEBYSCORE = %v, %v; want 4 items", items, err)
	}
}
