package suggest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// Complete is exact when close counts of few terms rise and fall, so that the members of lists
// change often and rank near the thresholds.
func TestLists(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		n++
		x := small(open(t, client, fmt.Sprint("lists", n), Options{}), 12)
		m := newModel()
		word := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 1, 5, -1)
		// Add the terms one by one, so that every prefix that needs a list has one.
		for range 60 {
			text, n := word.Draw(t, "term"), rapid.Int64Range(1, 9).Draw(t, "n")
			require.OK(t)(x.Add(ctx, text, n))
			m.add(x, text, n)
		}
		for range 150 {
			name := word.Draw(t, "term")
			amount := rapid.Int64Range(1, 6).Draw(t, "amount")
			switch rapid.IntRange(0, 12).Draw(t, "do") {
			default:
				require.OK(t)(x.Add(ctx, name, amount))
				m.add(x, name, amount)
			case 1, 2, 3, 4, 5:
				require.OK(t)(x.remove(ctx, "lose", float64(amount), []string{name}))
				m.lose(name, amount)
			case 0:
				prefix, k := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 0, 3, -1).Draw(t, "prefix"), rapid.IntRange(1, 5).Draw(t, "k")
				got, err := x.Complete(ctx, prefix, k)
				want := m.best(x, func(name string) bool { return strings.HasPrefix(name, prefix) }, k)
				if err != nil || show(got) != show(want) {
					t.Fatalf("Complete(%q): %v\ngot  %s\nwant %s", prefix, err, show(got), show(want))
				}
			}
		}
		checkSizes(t, client, x, 6)
		checkClosed(t, client, x.keys[0])
		if len(m.terms) == 0 {
			return
		}
		if report, err := x.Verify(ctx, maintain.Options{}); err != nil || report.Problems() > 0 {
			t.Fatalf("Verify: %+v, %v, want no problems", report, err)
		}
	})
}

// checkSizes fails the test if a list has more than limit members.
func checkSizes(t rapid.TB, client rueidis.Client, x *Index, limit int) {
	t.Helper()
	lists, err := client.Do(context.Background(), client.B().Hgetall().Key(x.keys[0].cache).Build()).AsStrMap()
	require.OK(t)(err)
	for prefix, list := range lists {
		if n := strings.Count(list, "\n") - 1; n > limit {
			t.Fatalf("the list of %q has %d members, want at most %d", prefix, n, limit)
		}
	}
}

// addOne adds n to the count of a term.
func addOne(t *testing.T, x *Index, name string, n int64) {
	t.Helper()
	require.OK(t)(x.Add(t.Context(), name, n))
}

// lose subtracts n from the counts of terms.
func lose(t *testing.T, x *Index, n float64, names ...string) {
	t.Helper()
	require.OK(t)(x.remove(t.Context(), "lose", n, names))
}

// A list that is trimmed after the counts of most members have fallen keeps its threshold: terms
// outside the list may rank above the members.
func TestThresholdStays(t *testing.T) {
	t.Parallel()
	x, _, _ := testIndex(t, Options{})
	small(x, 200)
	for i, n := range []int64{60, 50, 40, 30, 20, 10} {
		addOne(t, x, fmt.Sprint("a", i), n)
	}
	lose(t, x, 35, "a1", "a2") // 15 and 5
	for i := range 3 {
		addOne(t, x, fmt.Sprint("b", i), 1)
		addOne(t, x, fmt.Sprint("ab", i), 45)
	}
	lose(t, x, 44, "ab0", "ab1", "ab2")
	addOne(t, x, "ac", 44)
	expect(t, complete(t, x, "a", 3), "a0 60, ac 44, a3 30")
	verified(t, x)
}

// A list is not rebuilt from the list of a longer prefix whose best members have fallen.
func TestRebuildListGoesDeeper(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	small(x, 12)
	for i := range 7 {
		addOne(t, x, fmt.Sprint("a", i), int64(90-10*i))
		addOne(t, x, fmt.Sprint("b", i), int64(9-i))
	}
	lose(t, x, 79, "a0", "a1") // 11 and 1
	require.OK(t)(client.Do(ctx, client.B().Hset().Key("words.heads").FieldValue().FieldValue("", "?").Build()).Error())
	expect(t, complete(t, x, "", 3), "a2 70, a3 60, a4 50")
	verified(t, x)
}

// A second entry of a term, added by hand, must not add the term to a list twice: once the
// entry is removed, nothing would report the duplicate.
func TestListHasNoTermTwice(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	x = small(x, 200)
	addAll(t, x, "a1", "a2", "a3")
	require.OK(t)(client.Do(ctx, client.B().Zadd().Key("words").ScoreMember().ScoreMember(0, "a1\t7").ScoreMember(0, "a1\t9").Build()).Error())
	// With more than five terms, the prefix gets a list of the best three.
	for _, term := range []string{"a4", "a5", "a6"} {
		addAll(t, x, term)
	}
	require.OK(t)(x.Repair(ctx, maintain.Options{}))
	require.OK(t)(x.Add(ctx, "a1", 4))
	expect(t, complete(t, x, "a", 3), "a1 5, a2 1, a3 1")
	verified(t, x)
}
