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

// collect returns the values of a sequence.
func collect[T any](t interface{ Fatal(...any) }, seq iter.Seq2[T, error]) []T {
	var values []T
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	return values
}

// numbers returns "0" to "n-1".
func numbers(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
	}
	return texts
}

// TestRingAll checks that All lists all items and leases of rings of several sizes.
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
		for _, item := range collect(t, r.All(ctx)) {
			seen[item.Item] = true
			if item.LeaseID != leased[item.Item] {
				t.Errorf("%q has the lease %q, want %q", item.Item, item.LeaseID, leased[item.Item])
			}
			if left := time.Until(item.LeasedUntil); (item.LeaseID != "") != (left > 59*time.Minute && left < 61*time.Minute) {
				t.Errorf("item %+v, want the end of a lease in an hour for leased items only", item)
			}
		}
		if len(seen) != size {
			t.Errorf("All lists %d items, want %d", len(seen), size)
		}
	}
}

// TestLeaseByID checks that a lease can be returned and extended by its ID until the lease ends.
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
	reopened, err := NewRing(c, "ring")
	if err != nil {
		t.Fatal(err)
	}
	byID := reopened.Lease(l.Item, l.ID)
	for _, lease := range []*Lease{reopened.Lease(l.Item, "x"), reopened.Lease("x", l.ID), reopened.Lease("", ""), reopened.Lease(l.Item, "")} {
		if err := lease.Return(ctx); !errors.Is(err, ErrLeaseOver) {
			t.Errorf("Return of the wrong lease %+v: %v, want ErrLeaseOver", lease, err)
		}
	}
	if err := byID.Extend(ctx, time.Minute); err != nil {
		t.Error(err)
	}
	if err := byID.Return(ctx); err != nil {
		t.Error(err)
	}
	for _, lease := range []*Lease{l, byID, reopened.Lease(l.Item, "")} {
		if err := lease.Return(ctx); !errors.Is(err, ErrLeaseOver) {
			t.Errorf("Return of the ended lease %+v: %v, want ErrLeaseOver", lease, err)
		}
	}
	if item, err := r.Next(ctx); err != nil || item != "item" {
		t.Errorf("Next = %q, %v; want item", item, err)
	}
	if n, err := r.Len(ctx); err != nil || n != 1 {
		t.Errorf("Len = %d, %v; want 1", n, err)
	}
}

// TestRandomAll checks that All lists all IDs of sets of several sizes.
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
		ids := collect(t, r.All(ctx))
		slices.Sort(ids)
		want := numbers(size)
		slices.Sort(want)
		if ids = slices.Compact(ids); !slices.Equal(ids, want) {
			t.Errorf("All lists %d IDs, want %d", len(ids), size)
		}
	}
}

// TestRecentAgainstSlice compares a Recent with a slice.
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
			t.Fatalf("OpenRecent: %v, want a Recent of at most %d items", err, max)
		}
		want := []string{"first"} // newest first
		item := rapid.Map(rapid.IntRange(0, 9), func(i int) string { return fmt.Sprint(i) })
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				items := rapid.SliceOfN(item, 0, 300).Draw(t, "items")
				if n, err := r.PutMany(ctx, slices.Values(items)); err != nil || n != len(items) {
					t.Fatalf("PutMany = %d, %v; want %d", n, err, len(items))
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
					t.Fatalf("Remove = %d, %v; want %d", n, err, before-len(want))
				}
			},
			"": func(t *rapid.T) {
				if items := collect(t, r.All(ctx)); !slices.Equal(items, want) {
					t.Fatalf("All lists %q, want %q", items, want)
				}
				if n, err := r.Len(ctx); err != nil || n != int64(len(want)) {
					t.Fatalf("Len = %d, %v; want %d", n, err, len(want))
				}
			},
		})
	})
}

// TestOpenRecent checks that OpenRecent opens only a declared Recent.
func TestOpenRecent(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	if _, err := OpenRecent(ctx, c, "nothing"); !errors.Is(err, ErrNotFound) {
		t.Errorf("OpenRecent: %v, want ErrNotFound", err)
	}
	if _, err := OpenRecent(ctx, c, ""); err == nil {
		t.Error("OpenRecent accepted an empty key")
	}
	ring, err := NewRing(c, "ring")
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Put(ctx, "item"); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecent(ctx, c, "ring"); !errors.Is(err, ErrDeclared) {
		t.Errorf("OpenRecent: %v, want ErrDeclared", err)
	}
	// Adopt must reject a set, and must not declare the key.
	if err := c.Do(ctx, c.B().Sadd().Key("set").Member("1").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	set, err := NewRecent(c, "set", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Adopt(ctx); !errors.Is(err, ErrForeign) {
		t.Errorf("Adopt: %v, want ErrForeign", err)
	}
	if n, err := c.Do(ctx, c.B().Exists().Key("set.meta").Build()).AsInt64(); err != nil || n != 0 {
		t.Errorf("EXISTS set.meta = %d, %v; want 0", n, err)
	}
}
