package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
)

func TestRandom(t *testing.T) {
	t.Parallel()
	r, err := NewRandom(client(t), "random")
	ctx := t.Context()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range 1200 {
		ids = append(ids, fmt.Sprint(i))
	}
	if n, err := r.Put(ctx, append(ids, "1")...); err != nil || n != 1200 {
		t.Fatal(n, err)
	}
	some, err := r.Draw(ctx, 100)
	slices.Sort(some)
	if err != nil || len(slices.Compact(some)) != 100 {
		t.Fatal(some, err)
	}
	if n, err := r.Remove(ctx, ids[3:]...); err != nil || n != 1197 {
		t.Fatal(n, err)
	}
	each, err := r.DrawEach(ctx, 50)
	if err != nil || len(each) != 50 {
		t.Fatal(each, err)
	}
	if has, err := r.Has(ctx, "0", "5", "2"); err != nil || !slices.Equal(has, []bool{true, false, true}) {
		t.Fatal(has, err)
	}
	if taken, err := r.Take(ctx, 5); err != nil || len(taken) != 3 {
		t.Fatal(taken, err)
	}
	if n, err := r.Len(ctx); err != nil || n != 0 {
		t.Fatal(n, err)
	}
	if _, err := r.Draw(ctx, -1); !errors.Is(err, ErrValue) {
		t.Fatal(err)
	}
	if _, err := r.Put(ctx, "a", ""); !errors.Is(err, ErrValue) {
		t.Fatal(err)
	}
}

func TestRecent(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	r, err := NewRecent(c, "recent", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Put(ctx, "a", "b", "c", "d"); err != nil {
		t.Fatal(err)
	}
	if items, err := r.Newest(ctx, 10); err != nil || strings.Join(items, "") != "dcb" {
		t.Fatal(items, err)
	}
	if items, err := r.Newest(ctx, 2); err != nil || strings.Join(items, "") != "dc" {
		t.Fatal(items, err)
	}
	var many []string
	for i := range 450 {
		many = append(many, fmt.Sprint(i))
	}
	if err := r.Put(ctx, many...); err != nil {
		t.Fatal(err)
	}
	if items, err := r.Newest(ctx, 10); err != nil || strings.Join(items, " ") != "449 448 447" {
		t.Fatal(items, err)
	}
	if n, err := r.Len(ctx); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	other, err := NewRecent(c, "recent", 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Put(ctx, "x"); !errors.Is(err, ErrDeclared) {
		t.Fatal(err)
	}
}

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
	if n, err := r.Put(ctx, "a", "b", "a", "c"); err != nil || n != 3 {
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
	if _, err := r.Take(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	again, err := r.Take(ctx, time.Minute)
	for errors.As(err, &empty) {
		again, err = r.Take(ctx, time.Minute)
	}
	if err != nil || again.Item != "a" {
		t.Fatal(again, err)
	}
	if err := a.Extend(ctx, time.Minute); !errors.Is(err, ErrLeaseOver) {
		t.Fatal(err)
	}
	if err := again.Extend(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Take(ctx, time.Minute); !errors.As(err, &empty) || empty.Retry < 50*time.Second {
		t.Fatal(err)
	}
	if n, err := r.Remove(ctx, "a"); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if err := again.Return(ctx); !errors.Is(err, ErrLeaseOver) {
		t.Fatal(err)
	}
}

// A ring and a list of the newest leave what is at their key alone where it is
// something else.
func TestRingOfAnotherKind(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	x := composite(t, c, "rooms", Options{Columns: columns(t, "a:int")})
	if err := x.Put(ctx, "1", 1); err != nil {
		t.Fatal(err)
	}
	recent, err := NewRecent(c, "newest", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := recent.Put(ctx, "a", "b", "c"); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"rooms", "newest"} {
		r, err := NewRing(c, key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Put(ctx, "1"); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Put: %v", key, err)
		}
		if _, err := r.Next(ctx); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Next: %v", key, err)
		}
		if _, err := r.Take(ctx, time.Minute); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Take: %v", key, err)
		}
		if _, err := r.Remove(ctx, "1"); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Remove: %v", key, err)
		}
		if _, err := r.Len(ctx); !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: Len: %v", key, err)
		}
	}
	healthy(t, x.Verify)
	if items, err := recent.Newest(ctx, 3); err != nil || strings.Join(items, "") != "cba" {
		t.Fatal(items, err)
	}
	other, err := NewRecent(c, "rooms", 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Newest(ctx, 1); !errors.Is(err, ErrDeclared) {
		t.Error(err)
	}
	if _, err := other.Len(ctx); !errors.Is(err, ErrDeclared) {
		t.Error(err)
	}
}

// However many take at once, nobody has what another has, and nothing is lost.
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
		if _, err := r.Put(ctx, "a", "b", "c", "d"); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for n := 0; n < 50; {
				l, err := r.Take(ctx, time.Minute)
				if errors.Is(err, ErrNotFound) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if _, other := held.LoadOrStore(l.Item, true); other {
					t.Errorf("%s is with two at a time", l.Item)
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
	if items, err := c.Do(ctx, c.B().Lrange().Key("exclusive").Start(0).Stop(-1).Build()).AsStrSlice(); err != nil || len(items) != 4 {
		t.Fatal(items, err)
	}
}

// The small ones work on a Cluster as well.
func TestSmallOnCluster(t *testing.T) {
	t.Parallel()
	c, ctx := redistest.Cluster(t, 3).Client(t), t.Context()
	if _, err := NewRing(c, "ring"); err == nil || !strings.Contains(err.Error(), `call it "{ring}"`) {
		t.Fatalf("a ring without a hash tag: %v", err)
	}
	ring, err := NewRing(c, "{ring}")
	if err != nil {
		t.Fatal(err)
	}
	recent, err := NewRecent(c, "{recent}", 2)
	if err != nil {
		t.Fatal(err)
	}
	random, err := NewRandom(c, "random")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := ring.Put(ctx, "a", "b"); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	l, err := ring.Take(ctx, time.Minute)
	if err != nil || l.Item != "a" {
		t.Fatal(l, err)
	}
	if item, err := ring.Next(ctx); err != nil || item != "b" {
		t.Fatal(item, err)
	}
	if err := l.Return(ctx); err != nil {
		t.Fatal(err)
	}
	if err := recent.Put(ctx, "1", "2", "3"); err != nil {
		t.Fatal(err)
	}
	if items, err := recent.Newest(ctx, 5); err != nil || strings.Join(items, "") != "32" {
		t.Fatal(items, err)
	}
	if n, err := random.Put(ctx, "x", "y"); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	if some, err := random.DrawEach(ctx, 5); err != nil || len(some) != 5 {
		t.Fatal(some, err)
	}
}
