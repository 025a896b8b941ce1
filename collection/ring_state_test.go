package collection

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
)

// run runs a command and returns its reply as text.
func run(t testing.TB, c rueidis.Client, words ...string) string {
	t.Helper()
	reply := c.Do(t.Context(), c.B().Arbitrary(words...).Build())
	if err := reply.Error(); err != nil && !rueidis.IsRedisNil(err) {
		t.Fatalf("%q: %v", words, err)
	}
	value, _ := reply.ToAny()
	return fmt.Sprint(value)
}

// newRing returns a ring with the given items.
func newRing(t testing.TB, c rueidis.Client, items ...string) *Ring {
	t.Helper()
	r, err := NewRing(c, "ring")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.PutMany(t.Context(), slices.Values(items)); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLostKeys checks that a ring with a lost key can be filled again and hands out all items.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"ring", "ring.content"} {
		c, ctx := client(t), t.Context()
		r := newRing(t, c, "a", "b", "c")
		lost := takeNext(t, r, time.Millisecond)
		if run(t, c, "DEL", key) != "1" {
			t.Fatalf("the key %s does not exist", key)
		}
		if err := lost.Return(ctx); !errors.Is(err, ErrLeaseOver) {
			t.Errorf("%s is lost: Return: %v, want ErrLeaseOver", key, err)
		}
		if _, err := r.PutMany(ctx, slices.Values([]string{"a", "b", "c"})); err != nil {
			t.Fatal(err)
		}
		var got []string
		for range 3 {
			got = append(got, takeNext(t, r, time.Hour).Item)
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("%s is lost: took %q, want a, b and c", key, got)
		}
		if n, err := r.Len(ctx); n != 3 || err != nil {
			t.Errorf("%s is lost: Len = %d, %v; want 3", key, n, err)
		}
	}
}

// TestClockSetBack checks that setting back the clock of the server does not prolong leases.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	r := newRing(t, c, "item", "kept")
	takeNext(t, r, 2*time.Millisecond)
	kept := takeNext(t, r, time.Minute)
	// Simulate a clock that was an hour ahead until now.
	const hour = 3_600_000
	for _, item := range []string{"item", "kept"} {
		run(t, c, "ZINCRBY", "ring", strconv.Itoa(hour), item)
	}
	var last, ahead int64
	if _, err := fmt.Sscan(run(t, c, "HGET", "ring.content", ""), &last, &ahead); err != nil || ahead != 0 {
		t.Fatalf("the clock is %d ms ahead, %v; want 0", ahead, err)
	}
	run(t, c, "HSET", "ring.content", "", fmt.Sprint(last+hour, " ", ahead))
	for i := range 3 {
		if l := takeNext(t, r, 2*time.Millisecond); l.Item != "item" {
			t.Fatalf("lease %d is of %q, want item", i, l.Item)
		}
	}
	if err := kept.Extend(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	items, err := r.Leased(ctx, "")
	items = slices.DeleteFunc(items, func(i RingItem) bool { return i.Item != "kept" })
	now := run(t, c, "TIME")
	var seconds, micros int64
	if _, err := fmt.Sscanf(now, "[%d %d]", &seconds, &micros); err != nil {
		t.Fatalf("TIME = %s: %v", now, err)
	}
	if err != nil || len(items) != 1 || items[0].LeasedUntil.Sub(time.Unix(seconds, 0)) > 2*time.Minute {
		t.Errorf("at %s, Leased = %v, %v; want the item kept for at most two minutes", now, items, err)
	}
	if err := kept.Return(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestRingInFullMemory checks that items are handed out and leased if the memory of the server is
// full.
func TestRingInFullMemory(t *testing.T) {
	t.Parallel()
	s, ctx := redistest.Own(t), t.Context()
	c := s.Client(t)
	r := newRing(t, c, "a", "b")
	l := takeNext(t, r, time.Minute)
	run(t, c, "CONFIG", "SET", "maxmemory", "1")
	if item, err := r.Next(ctx); item != "b" || err != nil {
		t.Errorf("Next = %q, %v; want b", item, err)
	}
	if err := l.Extend(ctx, time.Minute); err != nil {
		t.Error(err)
	}
	if err := l.Return(ctx); err != nil {
		t.Error(err)
	}
	if l, err := r.Take(ctx, time.Minute); err != nil || l.Item != "b" {
		t.Errorf("Take = %v, %v; want b", l, err)
	}
	if l, err := r.TakeItem(ctx, "a", "ada", time.Minute); err != nil || l.Item != "a" {
		t.Errorf("TakeItem = %v, %v; want a", l, err)
	}
	if n, err := r.Remove(ctx, "a"); err != nil || n != 1 {
		t.Errorf("Remove = %v, %v; want 1", n, err)
	}
}

// TestRingOfAnotherKind checks that a ring writes nothing if one of its keys has another type.
func TestRingOfAnotherKind(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"ring", "ring.content"} {
		for _, command := range [][]string{{"SET", key, "x"}, {"RPUSH", key, "x"}, {"XADD", key, "*", "a", "b"}} {
			c, ctx := client(t), t.Context()
			r := newRing(t, c, "a", "b")
			l := takeNext(t, r, time.Millisecond)
			run(t, c, "DEL", key)
			run(t, c, command...)
			state := func() (dumps string) {
				for _, key := range []string{"ring", "ring.content", "ring.meta"} {
					dumps += fmt.Sprintf("%q ", run(t, c, "DUMP", key))
				}
				return dumps
			}
			before := state()
			for name, err := range map[string]error{
				"Put":      r.Put(ctx, "c"),
				"Next":     errorOf(r.Next(ctx)),
				"Take":     errorOf(r.Take(ctx, time.Minute)),
				"TakeItem": errorOf(r.TakeItem(ctx, "b", "", time.Minute)),
				"Remove":   errorOf(r.Remove(ctx, "b")),
				"Return":   l.Return(ctx),
				"Extend":   l.Extend(ctx, time.Minute),
			} {
				if err == nil {
					t.Errorf("after %v, %s succeeded, want an error", command, name)
				}
			}
			if after := state(); after != before {
				t.Errorf("after %v, the keys are %s, want %s", command, after, before)
			}
		}
	}
}

// errorOf returns the error of a result.
func errorOf[V any](_ V, err error) error { return err }

// TestRingProperty compares a ring with a queue of waiting items and a set of leased items.
func TestRingProperty(t *testing.T) {
	t.Parallel()
	c := client(t)
	rapid.Check(t, func(rt *rapid.T) {
		run(t, c, "FLUSHDB")
		r, ctx := newRing(t, c), t.Context()
		var waiting []string
		leased := map[string]*Lease{}
		item := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		stopWaiting := func(item string) { waiting = slices.DeleteFunc(waiting, func(w string) bool { return w == item }) }
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				x := item.Draw(rt, "item")
				if err := r.Put(ctx, x); err != nil {
					rt.Fatal(err)
				}
				if leased[x] == nil && !slices.Contains(waiting, x) {
					waiting = append(waiting, x)
				}
			},
			"next": func(rt *rapid.T) {
				got, err := r.Next(ctx)
				if len(waiting) == 0 {
					if !errors.Is(err, ErrNotFound) {
						rt.Fatalf("Next = %q, %v; want ErrNotFound", got, err)
					}
					return
				}
				if err != nil || got != waiting[0] {
					rt.Fatalf("Next = %q, %v; want the first of %q", got, err, waiting)
				}
				waiting = append(waiting[1:], got)
			},
			"take": func(rt *rapid.T) {
				l, err := r.Take(ctx, time.Hour)
				if len(waiting) == 0 {
					var empty *EmptyError
					if !errors.As(err, &empty) || (empty.Retry < 0) != (len(leased) == 0) {
						rt.Fatalf("Take = %+v, %v; want an EmptyError", l, err)
					}
					return
				}
				if err != nil || l.Item != waiting[0] {
					rt.Fatalf("Take = %+v, %v; want the first of %q", l, err, waiting)
				}
				waiting, leased[l.Item] = waiting[1:], l
			},
			"take item": func(rt *rapid.T) {
				x := item.Draw(rt, "item")
				l, err := r.TakeItem(ctx, x, "ada", time.Hour)
				switch {
				case leased[x] != nil:
					if !errors.Is(err, ErrLeased) {
						rt.Fatalf("TakeItem of a leased item: %v, want ErrLeased", err)
					}
				case !slices.Contains(waiting, x):
					if !errors.Is(err, ErrNotFound) {
						rt.Fatalf("TakeItem of a missing item: %v, want ErrNotFound", err)
					}
				case err != nil:
					rt.Fatal(err)
				default:
					stopWaiting(x)
					leased[x] = l
				}
			},
			"end": func(rt *rapid.T) {
				x := item.Draw(rt, "item")
				l := leased[x]
				if l == nil {
					return
				}
				delete(leased, x)
				var err error
				if rapid.Bool().Draw(rt, "return") {
					err = l.Return(ctx)
					waiting = append(waiting, x)
				} else {
					err = l.Remove(ctx)
				}
				if err != nil {
					rt.Fatal(err)
				}
			},
			"remove": func(rt *rapid.T) {
				x := item.Draw(rt, "item")
				if n, err := r.Remove(ctx, x); err != nil || (n == 1) != (leased[x] != nil || slices.Contains(waiting, x)) {
					rt.Fatalf("Remove of %q = %d, %v; waiting %q, leased %v", x, n, err, waiting, leased)
				}
				stopWaiting(x)
				delete(leased, x)
			},
			"": func(rt *rapid.T) {
				n := 0
				for entry, err := range r.All(ctx) {
					l := leased[entry.Item]
					if err != nil || (l == nil) != (entry.LeaseID == "") || l != nil && l.ID != entry.LeaseID {
						rt.Fatalf("All lists %+v, %v; want the lease %+v", entry, err, l)
					}
					n++
				}
				if count, err := r.Len(ctx); err != nil || n != len(waiting)+len(leased) || count != int64(n) {
					rt.Fatalf("All lists %d items, Len = %d, %v; waiting %q, leased %v", n, count, err, waiting, leased)
				}
				if found, err := r.Leased(ctx, ""); err != nil || len(found) != len(leased) {
					rt.Fatalf("Leased = %+v, %v; want %d items", found, err, len(leased))
				}
			},
		})
	})
}
