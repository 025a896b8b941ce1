package timeline

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// newest returns the same IDs as a sort of all lists.
func TestNewest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.Int64Range(1, 60), 1, 20, rapid.ID), 0, 8).Draw(t, "lists")
		floor, n := rapid.Int64Range(0, 70).Draw(t, "floor"), rapid.IntRange(1, 40).Draw(t, "n")
		var want []int64
		for _, list := range lists {
			slices.Sort(list)
			slices.Reverse(list)
			want = append(want, list...)
		}
		want = slices.DeleteFunc(want, func(id int64) bool { return id < floor })
		slices.Sort(want)
		slices.Reverse(want)
		want = slices.Compact(want)
		want = want[:min(n, len(want))]
		if got := newest(lists, floor, n); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
