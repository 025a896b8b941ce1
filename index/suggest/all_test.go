package suggest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// All yields terms of any script and case in the order of their normalized forms, in pages of any
// size, in both directions, from one partition or several.
func TestAllInOrder(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	n := 0
	letters := rapid.OneOf(
		rapid.SampledFrom([]rune("aA01 9-")),
		rapid.SampledFrom([]rune("aAàÀbB0 :!ÆøΣσςжЖאلحか日한")),
	)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		n++
		x := open(t, client, fmt.Sprint("order", n), Options{
			Partitions:  rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "partitions"),
			Punctuation: rapid.SampledFrom([]Punctuation{"", "drop", "keep"}).Draw(t, "punctuation"),
		})
		valid := rapid.StringOfN(letters, 1, 7, -1).Filter(func(s string) bool { _, err := x.Normalize(s); return err == nil })
		var names []string
		var list []Suggestion
		for _, text := range rapid.SliceOfN(valid, 1, 60).Draw(t, "terms") {
			list = append(list, Suggestion{Term: text, Count: 1})
			names = append(names, nameOf(x, text))
		}
		slices.Sort(names)
		names = slices.Compact(names)
		require.OK(t)(x.PutMany(ctx, slices.Values(list)))
		for range 6 {
			prefix, err := x.opt.Punctuation.prefix(rapid.StringOfN(letters, 0, 2, -1).Draw(t, "prefix"))
			require.OK(t)(err)
			page := index.Page{Limit: rapid.IntRange(0, 5).Draw(t, "limit"), Reverse: rapid.Bool().Draw(t, "reverse")}
			var want []string
			for _, name := range names {
				if begins(prefix)(name) {
					want = append(want, name)
				}
			}
			if page.Reverse {
				slices.Reverse(want)
			}
			var got []string
			for more := true; more; {
				read := 0
				for e, err := range x.All(ctx, prefix, page) {
					require.OK(t)(err)
					got, page.After, read = append(got, e.Name), e.Cursor(), read+1
				}
				more = read > 0 && read == page.Limit
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q %+v\ngot  %q\nwant %q", prefix, page, got, want)
			}
		}
	})
}

// All refuses invalid cursors.
func TestAllRefusesCursor(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{})
	addAll(t, x, "banana")
	for _, cursor := range []string{"!", "YQk", "/w"} {
		for e, err := range x.All(ctx, "", index.Page{After: cursor}) {
			if err == nil {
				t.Fatalf("the cursor %q was accepted: %v", cursor, e)
			}
		}
	}
}
