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

// naive is a list as a reader of the documentation would write it.
type naive struct {
	ids        []int64
	max, slack int
}

func (n *naive) put(id int64) {
	at, found := slices.BinarySearchFunc(n.ids, id, func(a, b int64) int { return int(b - a) })
	if found || at == len(n.ids) && at >= n.max {
		return
	}
	n.ids = slices.Insert(n.ids, at, id)
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
		want := naive{max: max, slack: lists.MaxLen() - max}
		for _, id := range rapid.SliceOfN(rapid.Int64Range(1, 30), 0, 60).Draw(rt, "ids") {
			if err := lists.Put(t.Context(), id, key); err != nil {
				rt.Fatal(err)
			}
			want.put(id)
		}
		got, err := lists.Select(t.Context(), key, 0, 100)
		if err != nil || !slices.Equal(got, want.ids) {
			rt.Fatalf("the list is %v (%v), expected %v", got, err, want.ids)
		}
		// From any ID, even a missing one, the IDs after it follow.
		after := rapid.Int64Range(1, 31).Draw(rt, "after")
		rest := slices.DeleteFunc(slices.Clone(want.ids), func(id int64) bool { return id >= after })
		page, err := lists.Select(t.Context(), key, after, 5)
		if err != nil || !slices.Equal(page, rest[:min(5, len(rest))]) {
			rt.Fatalf("after %d of %v come %v (%v)", after, want.ids, page, err)
		}
		if wrong, err := lists.Repair(t.Context(), key); err != nil || wrong {
			rt.Fatalf("a list that only Put wrote needs a repair: %t, %v", wrong, err)
		}
	})
}

// Many IDs at once, newer than those of the list or not, leave the newest.
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
		var all []int64
		for range 6 {
			from := rapid.Int64Range(1, 40).Draw(rt, "from")
			ids := rapid.SliceOfN(rapid.Int64Range(from, from+20), 0, max).Draw(rt, "ids")
			if err := lists.PutMany(t.Context(), key, ids...); err != nil {
				rt.Fatal(err)
			}
			all = append(all, ids...)
			slices.Sort(all)
			slices.Reverse(all)
			all = slices.Compact(all)
			got, err := lists.Select(t.Context(), key, 0, 100)
			if err != nil || len(got) > lists.MaxLen() {
				rt.Fatalf("the list is %v (%v)", got, err)
			}
			if got = got[:min(len(got), max)]; !slices.Equal(got, all[:min(len(all), max)]) {
				rt.Fatalf("the list begins with %v, expected %v", got, all)
			}
			all = all[:min(len(all), max)]
		}
	})
}

// Many lists are written in batches, on a Cluster by slot; repeating the call changes nothing,
// and keys of other types are left alone.
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
			var all []string
			for i := range redistest.Cases(400, 1000) {
				all = append(all, fmt.Sprint("posts:", i))
			}
			if err := c.Do(ctx, c.B().Set().Key("posts:7").Value("of another program").Build()).Error(); err != nil {
				t.Fatal(err)
			}
			for _, id := range []int64{3, 1, 2, 3, 1} {
				if err := lists.Put(ctx, id, all...); err != nil {
					t.Fatal(err)
				}
			}
			for i, key := range all {
				if i == 7 {
					continue
				}
				if got, err := lists.Select(ctx, key, 0, 9); err != nil || !slices.Equal(got, []int64{3, 2, 1}) {
					t.Fatalf("%s has %v, %v", key, got, err)
				}
			}
			if text, err := c.Do(ctx, c.B().Get().Key("posts:7").Build()).ToString(); err != nil || text != "of another program" {
				t.Errorf("the foreign key holds %q, %v", text, err)
			}
			if n, err := lists.Len(ctx, all[0]); err != nil || n != 3 {
				t.Errorf("a list has %d, %v", n, err)
			}
		})
	}
}

// A list with an expiry keeps it after every kind of write.
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
		left, err := c.Do(ctx, c.B().Ttl().Key(key).Build()).AsInt64()
		if err != nil || left < 1 || left > 3600 {
			t.Errorf("%s: the list expires in %d s (%v)", name, left, err)
		}
	}
}

func TestTimelinesRefuses(t *testing.T) {
	t.Parallel()
	c := client(t)
	for _, max := range []int{0, -1, maxTimeline + 1} {
		if _, err := NewTimelines(c, max); err == nil {
			t.Errorf("a cap of %d was accepted", max)
		}
	}
	lists, err := NewTimelines(c, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{0, -1, 1<<53 + 1} {
		if err := lists.Put(t.Context(), id, "list"); !errors.Is(err, ErrValue) {
			t.Errorf("the id %s: %v", strconv.FormatInt(id, 10), err)
		}
	}
}

// Spread writes very many lists as Put would, and repeating it repairs an interruption; if lists
// must exist, it creates none.
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
			var all []string
			for i := range redistest.Cases(1250, 5000) {
				all = append(all, fmt.Sprint("spread:", i))
			}
			want := func(n int, ids ...int64) {
				t.Helper()
				for i, key := range all {
					expected := ids
					if i >= n {
						expected = nil
					}
					if got, err := lists.Select(ctx, key, 0, 9); err != nil || !slices.Equal(got, expected) {
						t.Fatalf("%s has %v, %v; expected %v", key, got, err, expected)
					}
				}
			}
			if err := lists.Existing().Spread(ctx, 1, all...); err != nil {
				t.Fatal(err)
			}
			want(0)
			there := len(all) * 4 / 5
			if err := lists.Spread(ctx, 2, all[:there]...); err != nil {
				t.Fatal(err)
			}
			// Leave the lists as an interrupted call would.
			if err := lists.Spread(ctx, 5, all[100:there/2]...); err != nil {
				t.Fatal(err)
			}
			for _, id := range []int64{4, 5, 3, 4} {
				if err := lists.Existing().Spread(ctx, id, all...); err != nil {
					t.Fatal(err)
				}
			}
			if err := lists.Remove(ctx, 3, all...); err != nil {
				t.Fatal(err)
			}
			want(there, 5, 4, 2)
			last := all[len(all)-1]
			for _, key := range []string{all[0], last} {
				if err := lists.Existing().PutMany(ctx, key, 7, 9); err != nil {
					t.Fatal(err)
				}
				if err := c.Do(ctx, lists.Existing().PutCommand(8, key)).Error(); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := lists.Select(ctx, all[0], 0, 9); err != nil || !slices.Equal(got, []int64{9, 8, 7, 5, 4, 2}) {
				t.Error(got, err)
			}
			if got, err := lists.Select(ctx, last, 0, 9); err != nil || len(got) != 0 {
				t.Error(got, err)
			}
		})
	}
}

// The masters own ranges of slots: any few neighbors in the write order are spread over all of
// them.
func TestSlotOrder(t *testing.T) {
	t.Parallel()
	const slots, masters, window = 16384, 3, 60
	at := make([]int, slots)
	seen := make([]bool, slots)
	for slot := range slots {
		order := slotOrder(slot)
		if seen[order] {
			t.Fatalf("two slots have the place %d", order)
		}
		seen[order] = true
		at[order] = slot * masters / slots
	}
	for from := 0; from+window <= slots; from++ {
		var n [masters]int
		for _, m := range at[from : from+window] {
			n[m]++
		}
		if slices.Max(n[:]) > window/masters+3 {
			t.Fatalf("from %d, the masters have %v of %d", from, n, window)
		}
	}
}
