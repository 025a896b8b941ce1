package index

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"retwis/index/internal/entries"
	"retwis/index/internal/ranged"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/internal/require"
)

// Select accepts negative and very large values of Limit and Offset.
func TestExtremePages(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	for _, partitions := range []int{1, 2} {
		x := composite(t, c, fmt.Sprintf("odd%d", partitions), Options{Columns: columns(t, "a:int"), Partitions: partitions})
		y, err := NewNumeric[int](c, fmt.Sprintf("oddnumbers%d", partitions), NumericOptions{Partitions: partitions})
		require.OK(t)(err)
		for i := range 9 {
			require.OK(t)(cmp.Or(x.Put(ctx, fmt.Sprint(i), i), y.Put(ctx, fmt.Sprint(i), i)))
		}
		for want, page := range map[string]Page{
			"0 1 2":             {Limit: 3, Offset: -5},
			"0 1":               {Limit: 2, Offset: math.MinInt},
			"7 8":               {Limit: math.MaxInt, Offset: 7},
			"":                  {Limit: 3, Offset: math.MaxInt},
			"0 1 2 3 4 5 6 7 8": {Limit: math.MinInt},
		} {
			if got := ids(list(t, x.Select(ctx, page))); got != want {
				t.Errorf("%d partitions, %+v: %q, want %q", partitions, page, got, want)
			}
			if got := numericIDs(list(t, y.Select(ctx, page))); got != want {
				t.Errorf("numbers, %d partitions, %+v: %q, want %q", partitions, page, got, want)
			}
		}
	}
}

// A result can be iterated more than once, and concurrently.
func TestReadResultTwice(t *testing.T) {
	t.Parallel()
	x, y := composite(t, client(t), "again", Options{Columns: columns(t, "a:int")}), numeric[int](t, "again", NumericOptions{})
	for i := range 9 {
		require.OK(t)(cmp.Or(x.Put(t.Context(), fmt.Sprint(i), i), y.Put(t.Context(), fmt.Sprint(i), i)))
	}
	page := Page{Offset: 2, Limit: 3}
	entries, numbers := x.Select(t.Context(), page, AtLeast("a", 1)), y.Select(t.Context(), page, AtLeast("value", 1))
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for e, err := range entries {
				if err != nil || e.ID < "3" || e.ID > "5" {
					t.Errorf("%v, %v, want an ID from 3 to 5", e, err)
				}
			}
			for e, err := range numbers {
				if err != nil || e.ID < "3" || e.ID > "5" {
					t.Errorf("%v, %v, want an ID from 3 to 5", e, err)
				}
			}
		})
	}
	readers.Wait()
}

// wordIndex returns the tutorial's first lexicographic index: each member is its own ID.
func wordIndex(t *testing.T) *entries.Index {
	t.Helper()
	x, err := entries.New(client(t), "myindex", entries.Options{
		Package: "index", Declaration: partition.Declaration{Kind: "words"},
		ID: func(member string) (string, error) { return member, nil },
	})
	require.OK(t)(err)
	return x
}

// Select and Count refuse an invalid range, with or without a cursor.
func TestWrongRanges(t *testing.T) {
	t.Parallel()
	x := wordIndex(t)
	for _, r := range []ranged.Range{{}, {Min: "a", Max: "+"}, {Min: "-", Max: "b"}, {Max: "[c"}} {
		for _, q := range []ranged.Query{{}, {After: scan.EncodeCursor("b")}, {After: scan.EncodeCursor("b"), Reverse: true}} {
			q.Ranges = []ranged.Range{r}
			for _, err := range x.Select(t.Context(), q) {
				if !isErr(err, ErrValue) {
					t.Errorf("select %q, %+v: %v, want ErrValue", r, q, err)
				}
			}
			if _, err := x.Count(t.Context(), q); !isErr(err, ErrValue) {
				t.Errorf("count %q: %v, want ErrValue", r, err)
			}
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	x := wordIndex(t)
	for _, w := range []string{"baaa", "abbb", "aaaa", "bbbb"} {
		require.OK(t)(x.Put(t.Context(), entries.Entry{ID: w, Value: w}))
	}
	for want, q := range map[string]ranged.Query{
		"aaaa abbb baaa bbbb": {},
		"aaaa abbb":           {Ranges: []ranged.Range{{Min: "[a", Max: "(b"}}},
		"bbbb":                {Ranges: []ranged.Range{{Min: "[b", Max: "+"}}, Offset: 1},
		"bbbb baaa":           {Ranges: []ranged.Range{ranged.WithPrefix("b")}, Reverse: true},
		"aaaa bbbb":           {Ranges: []ranged.Range{{Min: "-", Max: "(ab"}, {Min: "[bb", Max: "+"}}},
		"baaa":                {Keep: func(m string) bool { return strings.HasPrefix(m, "b") }, Limit: 1},
	} {
		var all []string
		for _, m := range list(t, x.Select(t.Context(), q)) {
			all = append(all, m.ID)
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
	require.Gives(t, 3)(x.Count(t.Context(), ranged.Query{Ranges: []ranged.Range{{Min: "[a", Max: "(b"}, {Min: "[bb", Max: "+"}}}))
}
