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

// fill replaces a list, which may have members that this package does not write.
func fill(t rapid.TB, c rueidis.Client, key string, members []string) {
	t.Helper()
	ctx := context.Background()
	if err := c.Do(ctx, c.B().Del().Key(key).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	for chunk := range slices.Chunk(members, 10_000) {
		if err := c.Do(ctx, c.B().Rpush().Key(key).Element(chunk...).Build()).Error(); err != nil {
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
	if changed, err := lists.Repair(ctx, "list", "3"); err != nil || !changed {
		t.Fatalf("Repair = %v, %v; want true", changed, err)
	}
	if got, err := lists.Select(ctx, "list", 0, 9); err != nil || !slices.Equal(got, []int64{10, 9, 8, 7, 5}) {
		t.Fatalf("Select = %v, %v; want 10 9 8 7 5", got, err)
	}
	if changed, err := lists.Repair(ctx, "list"); err != nil || changed {
		t.Fatalf("Repair = %v, %v; want false", changed, err)
	}
	if changed, err := lists.Repair(ctx, "missing"); err != nil || changed {
		t.Fatalf("Repair = %v, %v; want false", changed, err)
	}
}

// invalidMembers are members that are not integers in the format of this package.
var invalidMembers = []string{
	"0x10", "1e3", "inf", "-inf", "nan", "-nan", "nan(7)", " 7", "7 ", "7\n", "07", "+7", "7.5", "7.0", "-0", "-07", "", "-", "x",
	"9007199254740993", "-9007199254740993", "18446744073709551616", "1" + fmt.Sprintf("%0400d", 0),
}

// TestTimelinesRepairModel checks that Repair keeps the largest integers of any list, each once.
// Integers below 1, which are not IDs but can mark the end of a list, stay too.
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
		members := rapid.SliceOfN(rapid.OneOf(numbers, numbers, rapid.SampledFrom(invalidMembers)), 0, 40).Draw(rt, "members")
		without := rapid.SliceOfN(numbers, 0, 3).Draw(rt, "without")
		fill(rt, c, key, members)
		var want []int64
		for _, member := range members {
			if !slices.Contains(invalidMembers, member) && !slices.Contains(without, member) {
				n, _ := strconv.ParseInt(member, 10, 64)
				want = append(want, n)
			}
		}
		slices.SortFunc(want, func(a, b int64) int { return cmp.Compare(b, a) })
		want = slices.Compact(want)
		want = want[:min(len(want), lists.MaxLen())]
		changed := !slices.EqualFunc(want, members, func(n int64, member string) bool { return strconv.FormatInt(n, 10) == member })
		if got, err := lists.Repair(ctx, key, without...); err != nil || got != changed {
			rt.Fatalf("Repair of %q = %t, %v; want %t", members, got, err, changed)
		}
		got, err := c.Do(ctx, c.B().Lrange().Key(key).Start(0).Stop(-1).Build()).AsIntSlice()
		if err != nil || !slices.Equal(got, want) {
			rt.Fatalf("Repair of %q without %q leaves %d, %v; want %d", members, without, got, err, want)
		}
	})
}

// TestTimelinesRepairLong checks that Repair keeps the newest IDs of a long list in any order.
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
		if changed, err := lists.Repair(ctx, order); err != nil || !changed {
			t.Errorf("%s: Repair = %t, %v; want true", order, changed, err)
		}
		if got, err := lists.Select(ctx, order, 0, 9); err != nil || !slices.Equal(got, []int64{10_000, 9_999, 9_998, 9_997, 9_996, 9_995}) {
			t.Errorf("%s: Select = %d, %v; want the newest six IDs", order, got, err)
		}
		slices.Reverse(members)
	}
}
