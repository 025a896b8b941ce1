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
		t.Fatal(words, err)
	}
	value, _ := reply.ToAny()
	return fmt.Sprint(value)
}

// newRing returns a ring with some items.
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

// Whichever key of a ring is lost, its items are handed out again, or can be put again.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"ring", "ring.content"} {
		c, ctx := client(t), t.Context()
		r := newRing(t, c, "a", "b", "c")
		lost := takeNext(t, r, time.Millisecond)
		if run(t, c, "DEL", key) != "1" {
			t.Fatal("missing key", key)
		}
		if err := lost.Return(ctx); !errors.Is(err, ErrLeaseOver) {
			t.Errorf("%s: %v", key, err)
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
			t.Errorf("%s is lost: %q", key, got)
		}
		if n, err := r.Len(ctx); n != 3 || err != nil {
			t.Errorf("%s is lost: %d %v", key, n, err)
		}
	}
}

// Setting back the clock of the server does not prolong a lease.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	r := newRing(t, c, "item", "kept")
	takeNext(t, r, 2*time.Millisecond)
	kept := takeNext(t, r, time.Minute)
	// As if the clock had been an hour ahead until now.
	const hour = 3_600_000
	for _, item := range []string{"item", "kept"} {
		run(t, c, "ZINCRBY", "ring", strconv.Itoa(hour), item)
	}
	var last, ahead int64
	if _, err := fmt.Sscan(run(t, c, "HGET", "ring.content", ""), &last, &ahead); err != nil || ahead != 0 {
		t.Fatal(err, ahead)
	}
	run(t, c, "HSET", "ring.content", "", fmt.Sprint(last+hour, " ", ahead))
	for i := range 3 {
		if l := takeNext(t, r, 2*time.Millisecond); l.Item != "item" {
			t.Fatal(i, l.Item)
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
		t.Fatal(now, err)
	}
	if err != nil || len(items) != 1 || items[0].LeasedUntil.Sub(time.Unix(seconds, 0)) > 2*time.Minute {
		t.Errorf("%v at %s: %v", items, now, err)
	}
	if err := kept.Return(ctx); err != nil {
		t.Fatal(err)
	}
}

// Items are handed out and leased even when the memory of the server is full.
func TestRingInFullMemory(t *testing.T) {
	t.Parallel()
	s, ctx := redistest.Own(t), t.Context()
	c := s.Client(t)
	r := newRing(t, c, "a", "b")
	l := takeNext(t, r, time.Minute)
	run(t, c, "CONFIG", "SET", "maxmemory", "1")
	if item, err := r.Next(ctx); item != "b" || err != nil {
		t.Error(item, err)
	}
	if err := l.Extend(ctx, time.Minute); err != nil {
		t.Error(err)
	}
	if err := l.Return(ctx); err != nil {
		t.Error(err)
	}
	if l, err := r.Take(ctx, time.Minute); err != nil || l.Item != "b" {
		t.Error(l, err)
	}
	if l, err := r.TakeItem(ctx, "a", "ada", time.Minute); err != nil || l.Item != "a" {
		t.Error(l, err)
	}
	if n, err := r.Remove(ctx, "a"); err != nil || n != 1 {
		t.Error(n, err)
	}
}

// If one of its keys holds something else, a ring writes to none of them.
func TestRingOfAnotherKind(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"ring", "ring.content"} {
		for _, command := range [][]string{{"SET", key, "x"}, {"RPUSH", key, "x"}, {"XADD", key, "*", "a", "b"}} {
			c, ctx := client(t), t.Context()
			r := newRing(t, c, "a", "b")
			l := takeNext(t, r, time.Millisecond)
			run(t, c, "DEL", key)
			run(t, c, command...)
			state := func() (all string) {
				for _, key := range []string{"ring", "ring.content", "ring.meta"} {
					all += fmt.Sprintf("%q ", run(t, c, "DUMP", key))
				}
				return all
			}
			before := state()
			for name, err := range map[string]error{
				"Put":    r.Put(ctx, "c"),
				"Next":   second(r.Next(ctx)),
				"Take":   second(r.Take(ctx, time.Minute)),
				"Item":   second(r.TakeItem(ctx, "b", "", time.Minute)),
				"Remove": second(r.Remove(ctx, "b")),
				"Return": l.Return(ctx),
				"Extend": l.Extend(ctx, time.Minute),
			} {
				if err == nil {
					t.Errorf("%v: %s succeeds", command, name)
				}
			}
			if after := state(); after != before {
				t.Errorf("%v: %s, before %s", command, after, before)
			}
		}
	}
}

func second[V any](_ V, err error) error { return err }

// A ring is a queue of waiting items and a set of leased ones.
func TestRingProperty(t *testing.T) {
	t.Parallel()
	c := client(t)
	rapid.Check(t, func(rt *rapid.T) {
		run(t, c, "FLUSHDB")
		r, ctx := newRing(t, c), t.Context()
		var waits []string
		leased := map[string]*Lease{}
		item := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		drop := func(item string) { waits = slices.DeleteFunc(waits, func(w string) bool { return w == item }) }
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				x := item.Draw(rt, "item")
				if err := r.Put(ctx, x); err != nil {
					rt.Fatal(err)
				}
				if leased[x] == nil && !slices.Contains(waits, x) {
					waits = append(waits, x)
				}
			},
			"next": func(rt *rapid.T) {
				got, err := r.Next(ctx)
				if len(waits) == 0 {
					if !errors.Is(err, ErrNotFound) {
						rt.Fatal(got, err)
					}
					return
				}
				if err != nil || got != waits[0] {
					rt.Fatal(got, waits, err)
				}
				waits = append(waits[1:], got)
			},
			"take": func(rt *rapid.T) {
				l, err := r.Take(ctx, time.Hour)
				if len(waits) == 0 {
					var empty *EmptyError
					if !errors.As(err, &empty) || (empty.Retry < 0) != (len(leased) == 0) {
						rt.Fatal(l, err)
					}
					return
				}
				if err != nil || l.Item != waits[0] {
					rt.Fatal(l, waits, err)
				}
				waits, leased[l.Item] = waits[1:], l
			},
			"take one": func(rt *rapid.T) {
				x := item.Draw(rt, "item")
				l, err := r.TakeItem(ctx, x, "ada", time.Hour)
				switch {
				case leased[x] != nil:
					if !errors.Is(err, ErrLeased) {
						rt.Fatal(err)
					}
				case !slices.Contains(waits, x):
					if !errors.Is(err, ErrNotFound) {
						rt.Fatal(err)
					}
				case err != nil:
					rt.Fatal(err)
				default:
					drop(x)
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
					waits = append(waits, x)
				} else {
					err = l.Remove(ctx)
				}
				if err != nil {
					rt.Fatal(err)
				}
			},
			"remove": func(rt *rapid.T) {
				x := item.Draw(rt, "item")
				if n, err := r.Remove(ctx, x); err != nil || (n == 1) != (leased[x] != nil || slices.Contains(waits, x)) {
					rt.Fatal(n, err)
				}
				drop(x)
				delete(leased, x)
			},
			"": func(rt *rapid.T) {
				n := 0
				for entry, err := range r.All(ctx) {
					l := leased[entry.Item]
					if err != nil || (l == nil) != (entry.LeaseID == "") || l != nil && l.ID != entry.LeaseID {
						rt.Fatal(entry, l, err)
					}
					n++
				}
				if count, err := r.Len(ctx); err != nil || n != len(waits)+len(leased) || count != int64(n) {
					rt.Fatal(n, count, waits, leased, err)
				}
				if found, err := r.Leased(ctx, ""); err != nil || len(found) != len(leased) {
					rt.Fatal(found, leased, err)
				}
			},
		})
	})
}
