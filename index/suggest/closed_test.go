package suggest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/maintain"
)

// isClosed reports whether the top-k cache of a partition says that no list was lost, and
// fails if a list of a shorter prefix is missing then.
func isClosed(t rapid.TB, client rueidis.Client, k keys) bool {
	t.Helper()
	cache, err := client.Do(context.Background(), client.B().Hgetall().Key(k.cache).Build()).AsStrMap()
	if err != nil {
		t.Fatal(err)
	}
	if len(cache) > 0 && cache["\n"] != strconv.Itoa(len(cache)) {
		return false
	}
	for prefix := range cache {
		if prefix == "\n" {
			continue
		}
		for l := range len(prefix) {
			if _, ok := cache[prefix[:l]]; !ok {
				t.Fatalf("%q has a list, and %q has none", prefix, prefix[:l])
			}
		}
	}
	return true
}

// As many lists are made as were lost: the cache must not count as complete then.
func TestLostAndMade(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	x := small(open(t, client, "made", Options{}), 12)
	add := func(wantClosed bool, terms ...string) {
		t.Helper()
		for _, text := range terms {
			if _, err := x.Add(t.Context(), text, 1); err != nil {
				t.Fatal(err)
			}
			if got := isClosed(t, client, x.completer.keys[0]); got != wantClosed {
				t.Fatalf("after %q, complete: %t", text, got)
			}
		}
	}
	add(true, "aaa", "aab", "aac", "aad", "aae", "aaf", "aag")
	if lost, err := client.Do(t.Context(), client.B().Hdel().Key(x.completer.keys[0].cache).Field("a").Build()).AsInt64(); err != nil || lost != 1 {
		t.Fatal(lost, err)
	}
	add(false, "b", "ba", "bb", "bc", "bd", "be", "bf", "bfa", "bfb", "bfc", "bfd", "bfe", "bff", "bfg")
	if _, err := x.Repair(t.Context(), maintain.Options{}); err != nil {
		t.Fatal(err)
	}
	if !isClosed(t, client, x.completer.keys[0]) {
		t.Error("Repair did not find that all lists are there")
	}
}

// The cache of an older version, and one that has lost lists, is exact, and Repair makes
// it closed.
func TestLostLists(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		n++
		x := small(open(t, client, fmt.Sprint("lost", n), Options{}), 12)
		m := &model{terms: map[string]term{}, blocked: map[string]bool{}}
		word := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 1, 5, -1)
		add := func() {
			var list []Suggestion
			for _, text := range rapid.SliceOfN(word, 1, 10).Draw(t, "terms") {
				list = append(list, Suggestion{Term: text, Count: rapid.Int64Range(1, 9).Draw(t, "n")})
				m.add(x, text, list[len(list)-1].Count)
			}
			if _, err := x.AddMany(ctx, slices.Values(list)); err != nil {
				t.Fatal(err)
			}
		}
		for range 8 {
			add()
		}
		lose := rapid.SliceOfN(rapid.OneOf(rapid.Just("\n"), rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 0, 2, -1)), 1, 4).Draw(t, "lost")
		for _, prefix := range lose {
			if err := client.Do(ctx, client.B().Hdel().Key(x.completer.keys[0].cache).Field(prefix).Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}
		check := func() {
			t.Helper()
			prefix := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 0, 3, -1).Draw(t, "prefix")
			got, err := x.Complete(ctx, prefix, 5)
			want := m.with(func(name string) bool { return strings.HasPrefix(name, prefix) }, 5)
			if err != nil || show(got) != show(want) {
				t.Fatalf("%v\ngot  %s\nwant %s", err, show(got), show(want))
			}
		}
		for range 4 {
			check()
			add()
		}
		if _, err := x.Repair(ctx, maintain.Options{}); err != nil {
			t.Fatal(err)
		}
		if !isClosed(t, client, x.completer.keys[0]) {
			t.Fatal("Repair did not find that all lists are there")
		}
		if report, err := x.Verify(ctx, maintain.Options{}); err != nil || report.Problems() > 0 {
			t.Fatal(report, err)
		}
		for range 4 {
			add()
			check()
		}
	})
}

// Counts that are lost, or differ from those of the entries, do not keep a list from being
// rebuilt without end.
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
					damage = append(damage, text+":", "1")
				}
			}
			ctx := t.Context()
			if _, err := x.AddMany(ctx, slices.Values(terms)); err != nil {
				t.Fatal(err)
			}
			do(t, client, damage...)
			for range 2 {
				if _, err := x.Complete(ctx, "", 3); err != nil && (name == "lost" || !errors.Is(err, index.ErrCorrupt)) {
					t.Fatal(err)
				}
				do(t, client, "DEL", "{words}.heads")
			}
			if _, err := x.Repair(ctx, maintain.Options{}); err != nil {
				t.Fatal(err)
			}
			verified(t, x)
			checkLists(t, x)
		})
	}
}
