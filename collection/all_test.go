package collection

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// slice collects the values of a sequence.
func slice[T any](t interface{ Fatal(...any) }, all iter.Seq2[T, error]) []T {
	var some []T
	for v, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		some = append(some, v)
	}
	return some
}

// numbers returns "0" to "n-1".
func numbers(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	return all
}

// All lists all items of a ring with their leases, whatever its size.
func TestRingAll(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	for _, size := range []int{0, 1, 200, 3 * ringPage} {
		r, err := NewRing(c, fmt.Sprint("ring", size))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.PutMany(ctx, slices.Values(numbers(size))); err != nil {
			t.Fatal(err)
		}
		leased := map[string]string{}
		for range size / 2 {
			l, err := r.Take(ctx, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			leased[l.Item] = l.ID
		}
		seen := map[string]bool{}
		for _, item := range slice(t, r.All(ctx)) {
			seen[item.Item] = true
			if item.LeaseID != leased[item.Item] {
				t.Errorf("%q has the lease %q, not %q", item.Item, item.LeaseID, leased[item.Item])
			}
			if left := time.Until(item.LeasedUntil); (item.LeaseID != "") != (left > 59*time.Minute && left < 61*time.Minute) {
				t.Errorf("%+v", item)
			}
		}
		if len(seen) != size {
			t.Errorf("%d items of %d are listed", len(seen), size)
		}
	}
}

// A lease can be returned and extended by its ID until it has ended.
func TestLeaseByID(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	r, err := NewRing(c, "ring")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Put(ctx, "item"); err != nil {
		t.Fatal(err)
	}
	l, err := r.Take(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewRing(c, "ring")
	if err != nil {
		t.Fatal(err)
	}
	same := other.Lease(l.Item, l.ID)
	for _, wrong := range []*Lease{other.Lease(l.Item, "x"), other.Lease("x", l.ID), other.Lease("", ""), other.Lease(l.Item, "")} {
		if err := wrong.Return(ctx); !errors.Is(err, ErrLeaseOver) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if err := same.Extend(ctx, time.Minute); err != nil {
		t.Error(err)
	}
	if err := same.Return(ctx); err != nil {
		t.Error(err)
	}
	for _, again := range []*Lease{l, same, other.Lease(l.Item, "")} {
		if err := again.Return(ctx); !errors.Is(err, ErrLeaseOver) {
			t.Errorf("%+v: %v", again, err)
		}
	}
	if item, err := r.Next(ctx); err != nil || item != "item" {
		t.Error(item, err)
	}
	if n, err := r.Len(ctx); err != nil || n != 1 {
		t.Errorf("the item is in the ring %d times: %v", n, err)
	}
}

// All lists all IDs of a set, whatever its size.
func TestRandomAll(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	for _, size := range []int{0, 1, 300, 3 * randomBatch} {
		r, err := NewRandom(c, fmt.Sprint("random", size))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.PutMany(ctx, slices.Values(numbers(size))); err != nil {
			t.Fatal(err)
		}
		all := slice(t, r.All(ctx))
		slices.Sort(all)
		want := numbers(size)
		slices.Sort(want)
		if all = slices.Compact(all); !slices.Equal(all, want) {
			t.Errorf("%d ids of %d are listed", len(all), size)
		}
	}
}

// A Recent behaves like a slice in memory.
func TestRecentAgainstSlice(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), context.Background()
	rapid.Check(t, func(t *rapid.T) {
		if err := c.Do(ctx, c.B().Flushdb().Build()).Error(); err != nil {
			t.Fatal(err)
		}
		max := rapid.IntRange(1, 2*recentPage+5).Draw(t, "max")
		first, err := NewRecent(c, "recent", max)
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Put(ctx, "first"); err != nil {
			t.Fatal(err)
		}
		r, err := OpenRecent(ctx, c, "recent")
		if err != nil || r.Max() != max {
			t.Fatal(r, err)
		}
		want := []string{"first"} // newest first
		item := rapid.Map(rapid.IntRange(0, 9), func(i int) string { return fmt.Sprint(i) })
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				items := rapid.SliceOfN(item, 0, 300).Draw(t, "items")
				if n, err := r.PutMany(ctx, slices.Values(items)); err != nil || n != len(items) {
					t.Fatal(n, err)
				}
				for _, item := range items {
					want = slices.Insert(want, 0, item)
				}
				want = want[:min(len(want), max)]
			},
			"remove": func(t *rapid.T) {
				items := rapid.SliceOfN(item, 0, 3).Draw(t, "items")
				before := len(want)
				want = slices.DeleteFunc(want, func(item string) bool { return slices.Contains(items, item) })
				if n, err := r.Remove(ctx, items...); err != nil || n != before-len(want) {
					t.Fatal(n, before-len(want), err)
				}
			},
			"": func(t *rapid.T) {
				if all := slice(t, r.All(ctx)); !slices.Equal(all, want) {
					t.Fatalf("%q; want %q", all, want)
				}
				if n, err := r.Len(ctx); err != nil || n != int64(len(want)) {
					t.Fatal(n, err)
				}
			},
		})
	})
}

// OpenRecent opens only a declared Recent.
func TestOpenRecent(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	if _, err := OpenRecent(ctx, c, "nothing"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err := OpenRecent(ctx, c, ""); err == nil {
		t.Error("the empty key was accepted")
	}
	ring, err := NewRing(c, "ring")
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Put(ctx, "item"); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecent(ctx, c, "ring"); !errors.Is(err, ErrDeclared) {
		t.Error(err)
	}
	// A set cannot be adopted; it is left unchanged.
	if err := c.Do(ctx, c.B().Sadd().Key("set").Member("1").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	set, err := NewRecent(c, "set", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Adopt(ctx); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
	if n, err := c.Do(ctx, c.B().Exists().Key("set.meta").Build()).AsInt64(); err != nil || n != 0 {
		t.Error(n, err)
	}
}
