package collection

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
)

// naiveTimeline is a simple list in memory with the documented behavior.
type naiveTimeline struct {
	ids        []int64
	max, slack int
}

// put adds an ID.
func (n *naiveTimeline) put(id int64) {
	i, found := slices.BinarySearchFunc(n.ids, id, func(a, b int64) int { return int(b - a) })
	if found || i == len(n.ids) && i >= n.max {
		return
	}
	n.ids = slices.Insert(n.ids, i, id)
	if len(n.ids) > n.max+n.slack {
		n.ids = n.ids[:n.max]
	}
}

func TestTimelinesModel(t *testing.T) {
	t.Parallel()
	c := client(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		key := fmt.Sprint("list:", round)
		max := rapid.IntRange(1, 12).Draw(rt, "max")
		lists, err := NewTimelines(c, max)
		if err != nil {
			rt.Fatal(err)
		}
		want := naiveTimeline{max: max, slack: lists.MaxLen() - max}
		for _, id := range rapid.SliceOfN(rapid.Int64Range(1, 30), 0, 60).Draw(rt, "ids") {
			if err := lists.Put(t.Context(), id, key); err != nil {
				rt.Fatal(err)
			}
			want.put(id)
		}
		got, err := lists.Select(t.Context(), key, 0, 100)
		if err != nil || !slices.Equal(got, want.ids) {
			rt.Fatalf("Select = %v, %v; want %v", got, err, want.ids)
		}
		// Select continues after any ID, even an ID that is not on the list.
		after := rapid.Int64Range(1, 31).Draw(rt, "after")
		older := slices.DeleteFunc(slices.Clone(want.ids), func(id int64) bool { return id >= after })
		page, err := lists.Select(t.Context(), key, after, 5)
		if err != nil || !slices.Equal(page, older[:min(5, len(older))]) {
			rt.Fatalf("Select after %d of %v = %v, %v; want the first 5 of %v", after, want.ids, page, err, older)
		}
		if changed, err := lists.Repair(t.Context(), key); err != nil || changed {
			rt.Fatalf("Repair of a list that only Put wrote = %t, %v; want false", changed, err)
		}
	})
}

// TestTimelinesPutMany checks that a list keeps the newest IDs after PutMany of newer and older
// IDs.
func TestTimelinesPutMany(t *testing.T) {
	t.Parallel()
	c := client(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		key := fmt.Sprint("many:", round)
		max := rapid.IntRange(2, 12).Draw(rt, "max")
		lists, err := NewTimelines(c, max)
		if err != nil {
			rt.Fatal(err)
		}
		var want []int64
		for range 6 {
			from := rapid.Int64Range(1, 40).Draw(rt, "from")
			ids := rapid.SliceOfN(rapid.Int64Range(from, from+20), 0, max).Draw(rt, "ids")
			if err := lists.PutMany(t.Context(), key, ids...); err != nil {
				rt.Fatal(err)
			}
			want = append(want, ids...)
			slices.Sort(want)
			slices.Reverse(want)
			want = slices.Compact(want)
			got, err := lists.Select(t.Context(), key, 0, 100)
			if err != nil || len(got) > lists.MaxLen() {
				rt.Fatalf("Select = %v, %v; want at most %d IDs", got, err, lists.MaxLen())
			}
			if got = got[:min(len(got), max)]; !slices.Equal(got, want[:min(len(want), max)]) {
				rt.Fatalf("the list begins with %v, want %v", got, want)
			}
			want = want[:min(len(want), max)]
		}
	})
}

// TestTimelinesFanOut checks that Put writes many lists, on one server and on a Cluster, that a
// repeated Put changes nothing, and that keys of other types stay unchanged.
func TestTimelinesFanOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]rueidis.Client{"single": client(t), "cluster": redistest.Cluster(t, 3).Client(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lists, err := NewTimelines(c, 10)
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			var keys []string
			for i := range redistest.Cases(400, 1000) {
				keys = append(keys, fmt.Sprint("posts:", i))
			}
			if err := c.Do(ctx, c.B().Set().Key("posts:7").Value("of another program").Build()).Error(); err != nil {
				t.Fatal(err)
			}
			for _, id := range []int64{3, 1, 2, 3, 1} {
				if err := lists.Put(ctx, id, keys...); err != nil {
					t.Fatal(err)
				}
			}
			for i, key := range keys {
				if i == 7 {
					continue
				}
				if got, err := lists.Select(ctx, key, 0, 9); err != nil || !slices.Equal(got, []int64{3, 2, 1}) {
					t.Fatalf("%s has %v, %v; want 3, 2 and 1", key, got, err)
				}
			}
			if text, err := c.Do(ctx, c.B().Get().Key("posts:7").Build()).ToString(); err != nil || text != "of another program" {
				t.Errorf("the string key has changed to %q, %v", text, err)
			}
			if n, err := lists.Len(ctx, keys[0]); err != nil || n != 3 {
				t.Errorf("Len = %d, %v; want 3", n, err)
			}
		})
	}
}

// TestTimelinesExpiry checks that every kind of write keeps the expiry of a list.
func TestTimelinesExpiry(t *testing.T) {
	t.Parallel()
	c := client(t)
	ctx := t.Context()
	lists, err := NewTimelines(c, 10)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(key string) error{
		"a new id":       func(key string) error { return lists.Put(ctx, 50, key) },
		"a late id":      func(key string) error { return lists.Put(ctx, 5, key) },
		"removal":        func(key string) error { return lists.Remove(ctx, 20, key) },
		"many new ids":   func(key string) error { return lists.PutMany(ctx, key, 50, 60) },
		"many late ids":  func(key string) error { return lists.PutMany(ctx, key, 5, 25, 60) },
		"repair":         func(key string) error { _, err := lists.Repair(ctx, key, "20"); return err },
		"repair: length": func(key string) error { _, err := lists.Repair(ctx, key); return err },
	} {
		key := "expires: " + name
		for _, r := range c.DoMulti(ctx,
			c.B().Rpush().Key(key).Element("30", "20", "10", "9", "8", "7", "6", "4", "3", "2", "1", "0").Build(),
			c.B().Expire().Key(key).Seconds(3600).Build()) {
			if err := r.Error(); err != nil {
				t.Fatal(err)
			}
		}
		if err := write(key); err != nil {
			t.Fatal(err)
		}
		ttl, err := c.Do(ctx, c.B().Ttl().Key(key).Build()).AsInt64()
		if err != nil || ttl < 1 || ttl > 3600 {
			t.Errorf("%s: TTL = %d, %v; want 1 to 3600", name, ttl, err)
		}
	}
}

// TestTimelinesRefuses checks the errors for invalid lengths and IDs.
func TestTimelinesRefuses(t *testing.T) {
	t.Parallel()
	c := client(t)
	for _, max := range []int{0, -1, maxTimeline + 1} {
		if _, err := NewTimelines(c, max); err == nil {
			t.Errorf("NewTimelines accepted a maximum of %d", max)
		}
	}
	lists, err := NewTimelines(c, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{0, -1, 1<<53 + 1} {
		if err := lists.Put(t.Context(), id, "list"); !errors.Is(err, ErrValue) {
			t.Errorf("Put of the ID %s: %v, want ErrValue", strconv.FormatInt(id, 10), err)
		}
	}
}

// TestTimelinesSpread checks that Spread writes many lists like Put, that repeating Spread
// completes an interrupted call, and that Existing().Spread creates no lists.
func TestTimelinesSpread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]rueidis.Client{"single": client(t), "cluster": redistest.Cluster(t, 3).Client(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lists, err := NewTimelines(c, 10)
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			var keys []string
			for i := range redistest.Cases(1250, 5000) {
				keys = append(keys, fmt.Sprint("spread:", i))
			}
			check := func(n int, ids ...int64) {
				t.Helper()
				for i, key := range keys {
					want := ids
					if i >= n {
						want = nil
					}
					if got, err := lists.Select(ctx, key, 0, 9); err != nil || !slices.Equal(got, want) {
						t.Fatalf("%s has %v, %v; want %v", key, got, err, want)
					}
				}
			}
			if err := lists.Existing().Spread(ctx, 1, keys...); err != nil {
				t.Fatal(err)
			}
			check(0)
			existing := len(keys) * 4 / 5
			if err := lists.Spread(ctx, 2, keys[:existing]...); err != nil {
				t.Fatal(err)
			}
			// Simulate an interrupted call.
			if err := lists.Spread(ctx, 5, keys[100:existing/2]...); err != nil {
				t.Fatal(err)
			}
			for _, id := range []int64{4, 5, 3, 4} {
				if err := lists.Existing().Spread(ctx, id, keys...); err != nil {
					t.Fatal(err)
				}
			}
			if err := lists.Remove(ctx, 3, keys...); err != nil {
				t.Fatal(err)
			}
			check(existing, 5, 4, 2)
			last := keys[len(keys)-1]
			for _, key := range []string{keys[0], last} {
				if err := lists.Existing().PutMany(ctx, key, 7, 9); err != nil {
					t.Fatal(err)
				}
				if err := c.Do(ctx, lists.Existing().PutCommand(8, key)).Error(); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := lists.Select(ctx, keys[0], 0, 9); err != nil || !slices.Equal(got, []int64{9, 8, 7, 5, 4, 2}) {
				t.Errorf("an existing list has %v, %v; want 9, 8, 7, 5, 4 and 2", got, err)
			}
			if got, err := lists.Select(ctx, last, 0, 9); err != nil || len(got) != 0 {
				t.Errorf("a missing list has %v, %v; want nothing", got, err)
			}
		})
	}
}

// TestSlotOrder checks that consecutive slots in the write order are spread over all masters, each
// of which owns a range of slots.
func TestSlotOrder(t *testing.T) {
	t.Parallel()
	const slots, masters, window = 16384, 3, 60
	masterAt := make([]int, slots)
	seen := make([]bool, slots)
	for slot := range slots {
		order := slotOrder(slot)
		if seen[order] {
			t.Fatalf("two slots have the position %d", order)
		}
		seen[order] = true
		masterAt[order] = slot * masters / slots
	}
	for from := 0; from+window <= slots; from++ {
		var n [masters]int
		for _, m := range masterAt[from : from+window] {
			n[m]++
		}
		if slices.Max(n[:]) > window/masters+3 {
			t.Fatalf("from position %d, the masters have %v of %d slots, want a balanced number", from, n, window)
		}
	}
}
