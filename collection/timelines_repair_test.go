package collection

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"
)

// fill writes a list as another program might.
func fill(t rapid.TB, c rueidis.Client, key string, members []string) {
	t.Helper()
	ctx := context.Background()
	if err := c.Do(ctx, c.B().Del().Key(key).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	for some := range slices.Chunk(members, 10_000) {
		if err := c.Do(ctx, c.B().Rpush().Key(key).Element(some...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTimelinesRepair(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	lists, err := NewTimelines(c, 4)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, c, "list", []string{"1", "x", "7", "7", "3", "9", "2", "5", "8", "10"})
	if wrong, err := lists.Repair(ctx, "list", "3"); err != nil || !wrong {
		t.Fatal(wrong, err)
	}
	if got, err := lists.Select(ctx, "list", 0, 9); err != nil || !slices.Equal(got, []int64{10, 9, 8, 7, 5}) {
		t.Fatal(got, err)
	}
	if wrong, err := lists.Repair(ctx, "list"); err != nil || wrong {
		t.Fatal(wrong, err)
	}
	if wrong, err := lists.Repair(ctx, "missing"); err != nil || wrong {
		t.Fatal(wrong, err)
	}
}

// spellings are members that are not integers as this package writes them.
var spellings = []string{
	"0x10", "1e3", "inf", "-inf", "nan", "-nan", "nan(7)", " 7", "7 ", "7\n", "07", "+7", "7.5", "7.0", "-0", "-07", "", "-", "x",
	"9007199254740993", "-9007199254740993", "18446744073709551616", "1" + fmt.Sprintf("%0400d", 0),
}

// Whatever another program has written, its largest numbers stay, each once, as this package
// writes them. Numbers below 1 are not IDs, but programs mark the end of a list with them.
func TestTimelinesRepairModel(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	numbers := rapid.Custom(func(r *rapid.T) string {
		n := rapid.OneOf(rapid.Int64Range(-3, 30), rapid.Int64Range(maxTimelineID-2, maxTimelineID)).Draw(r, "n")
		return strconv.FormatInt(n, 10)
	})
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		key := fmt.Sprint("list:", round)
		lists, err := NewTimelines(c, rapid.IntRange(1, 12).Draw(rt, "max"))
		if err != nil {
			rt.Fatal(err)
		}
		members := rapid.SliceOfN(rapid.OneOf(numbers, numbers, rapid.SampledFrom(spellings)), 0, 40).Draw(rt, "members")
		without := rapid.SliceOfN(numbers, 0, 3).Draw(rt, "without")
		fill(rt, c, key, members)
		var want []int64
		for _, member := range members {
			if !slices.Contains(spellings, member) && !slices.Contains(without, member) {
				n, _ := strconv.ParseInt(member, 10, 64)
				want = append(want, n)
			}
		}
		slices.SortFunc(want, func(a, b int64) int { return cmp.Compare(b, a) })
		want = slices.Compact(want)
		want = want[:min(len(want), lists.MaxLen())]
		changed := !slices.EqualFunc(want, members, func(n int64, member string) bool { return strconv.FormatInt(n, 10) == member })
		if wrong, err := lists.Repair(ctx, key, without...); err != nil || wrong != changed {
			rt.Fatalf("%q: %t, %v, want %t", members, wrong, err, changed)
		}
		got, err := c.Do(ctx, c.B().Lrange().Key(key).Start(0).Stop(-1).Build()).AsIntSlice()
		if err != nil || !slices.Equal(got, want) {
			rt.Fatalf("%q without %q is %d (%v), want %d", members, without, got, err, want)
		}
	})
}

// Whatever the length and the order of a list, its newest IDs stay.
func TestTimelinesRepairLong(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	lists, err := NewTimelines(c, 5)
	if err != nil {
		t.Fatal(err)
	}
	members := make([]string, 10_000)
	for i := range members {
		members[i] = strconv.Itoa(i + 1)
	}
	for _, order := range []string{"oldest first", "newest first"} {
		fill(t, c, order, members)
		if wrong, err := lists.Repair(ctx, order); err != nil || !wrong {
			t.Errorf("%s: %t, %v", order, wrong, err)
		}
		if got, err := lists.Select(ctx, order, 0, 9); err != nil || !slices.Equal(got, []int64{10_000, 9_999, 9_998, 9_997, 9_996, 9_995}) {
			t.Errorf("%s: %d, %v", order, got, err)
		}
		slices.Reverse(members)
	}
}
