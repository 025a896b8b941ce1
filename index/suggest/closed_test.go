package suggest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// checkClosed fails the test if the top-k cache of a partition has a list of a prefix, but lacks the
// list of a shorter prefix.
func checkClosed(t rapid.TB, client rueidis.Client, k keys) {
	t.Helper()
	cache, err := client.Do(context.Background(), client.B().Hgetall().Key(k.cache).Build()).AsStrMap()
	require.OK(t)(err)
	for prefix := range cache {
		for l := range len(prefix) {
			if _, ok := cache[prefix[:l]]; !ok {
				t.Fatalf("prefix %q has a list, but prefix %q has none", prefix, prefix[:l])
			}
		}
	}
}

// Completions stay exact if the cache has lost some or all lists: reads restore lists, and writers
// maintain the remaining lists.
func TestLostLists(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		n++
		x := small(open(t, client, fmt.Sprint("lost", n), Options{}), 12)
		m := newModel()
		word := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 1, 5, -1)
		add := func() {
			var list []Suggestion
			for _, text := range rapid.SliceOfN(word, 1, 10).Draw(t, "terms") {
				list = append(list, Suggestion{Term: text, Count: rapid.Int64Range(1, 9).Draw(t, "n")})
				m.add(x, text, list[len(list)-1].Count)
			}
			require.OK(t)(x.AddMany(ctx, slices.Values(list)))
		}
		check := func() {
			t.Helper()
			prefix := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 0, 3, -1).Draw(t, "prefix")
			got, err := x.Complete(ctx, prefix, 5)
			want := m.best(x, func(name string) bool { return strings.HasPrefix(name, prefix) }, 5)
			if err != nil || show(got) != show(want) {
				t.Fatalf("Complete(%q): %v\ngot  %s\nwant %s", prefix, err, show(got), show(want))
			}
		}
		for range 8 {
			add()
		}
		k := x.keys[0]
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			command := client.B().Del().Key(k.cache).Build()
			if rapid.Bool().Draw(t, "some") {
				lists, err := client.Do(ctx, client.B().Hkeys().Key(k.cache).Build()).AsStrSlice()
				require.OK(t)(err)
				if slices.Sort(lists); len(lists) == 0 {
					continue
				}
				text := rapid.SampledFrom([]string{"", "?", "nonsense", "1:z\n", "2\tb"}).Draw(t, "text")
				command = client.B().Hset().Key(k.cache).FieldValue().FieldValue(rapid.SampledFrom(lists).Draw(t, "lost"), text).Build()
			}
			require.OK(t)(client.Do(ctx, command).Error())
			for range 3 {
				check()
				add()
				checkClosed(t, client, k)
			}
		}
		if report, err := x.Verify(ctx, maintain.Options{}); err != nil || report.Problems() > 0 {
			t.Fatalf("Verify: %+v, %v, want no problems", report, err)
		}
	})
}

// Completing a prefix restores the list of the prefix, so that no later completion reads all
// terms. The lists of shorter prefixes are not rebuilt.
func TestListsComeBack(t *testing.T) {
	t.Parallel()
	x, client, _ := testIndex(t, Options{})
	var terms []string
	for i := range 3000 {
		terms = append(terms, fmt.Sprintf("t%04d", i))
	}
	addAll(t, x, terms...)
	want := complete(t, x, "t01", 5)
	do(t, client, "DEL", "words.heads")
	expect(t, complete(t, x, "t01", 5), want)
	lists, err := client.Do(t.Context(), client.B().Hgetall().Key("words.heads").Build()).AsStrMap()
	if err != nil || len(lists) != 4 || lists["t0"] != "?" || !strings.HasPrefix(lists["t01"], "1\tt01") {
		t.Fatalf("lists %q, %v, want 4 with a list of t01", lists, err)
	}
	// A writer promotes a term to the first place of the existing list.
	addAll(t, x, "t0199")
	expect(t, complete(t, x, "t01", 1), "t0199 2")
	expect(t, complete(t, x, "", 1), "t0199 2")
	checkClosed(t, client, x.keys[0])
	verified(t, x)
}

// Missing counts, and counts that differ from the entries, do not make the rebuild of a list loop
// forever.
func TestLostCounts(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string][]string{
		"lost":  {"DEL", "{words}.content"},
		"lower": {"HSET", "{words}.content"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.DB(t).Client(t)
			x := small(open(t, client, "{words}", Options{}), 200)
			var terms []Suggestion
			for i, text := range words(300) {
				terms = append(terms, Suggestion{Term: text, Count: int64(300 - i)})
				if name == "lower" {
					damage = append(damage, text, "1")
				}
			}
			ctx := t.Context()
			require.OK(t)(x.AddMany(ctx, slices.Values(terms)))
			do(t, client, damage...)
			for range 2 {
				if _, err := x.Complete(ctx, "", 3); err != nil && (name == "lost" || !errors.Is(err, index.ErrCorrupt)) {
					t.Fatalf("Complete: %v", err)
				}
				do(t, client, "DEL", "{words}.heads")
			}
			require.OK(t)(x.Repair(ctx, maintain.Options{}))
			verified(t, x)
			checkLists(t, x)
		})
	}
}
