package suggest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// allTerms returns every term of an index, by spelling.
func allTerms(t *testing.T, x *Index) map[string]Suggestion {
	t.Helper()
	terms := map[string]Suggestion{}
	for e, err := range x.All(t.Context(), "", index.Page{}) {
		require.OK(t)(err)
		terms[e.Term] = e.Suggestion
	}
	return terms
}

// Complete, CompleteFuzzy and All return payloads: from a cached list, from the entries of a rare
// prefix, and from all partitions.
func TestPayloadIsReturned(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		x, _, ctx := testIndex(t, Options{Partitions: partitions})
		var list []Suggestion
		for i := range 300 {
			list = append(list, Suggestion{fmt.Sprintf("a%03d", i), int64(1 + i), fmt.Sprint("id:", i)})
		}
		list = append(list, Suggestion{"rare", 1, strings.Repeat("é", maxPayload/2)}, Suggestion{"rarer", 2, ""})
		require.Gives(t, len(list))(x.PutMany(ctx, slices.Values(list)))
		best, err := x.Complete(ctx, "a", 2)
		if want := []Suggestion{list[299], list[298]}; err != nil || !slices.Equal(best, want) {
			t.Errorf("Complete(a): %v, %v, want %v", best, err, want)
		}
		best, err = x.Complete(ctx, "rar", 2)
		if want := []Suggestion{list[301], list[300]}; err != nil || !slices.Equal(best, want) {
			t.Errorf("Complete(rar): %v, %v, want %v", best, err, want)
		}
		best, err = x.CompleteFuzzy(ctx, "raer", 2)
		if want := []Suggestion{list[301], list[300]}; err != nil || !slices.Equal(best, want) {
			t.Errorf("CompleteFuzzy(raer): %v, %v, want %v", best, err, want)
		}
		for _, s := range allTerms(t, x) {
			if !slices.Contains(list, s) {
				t.Errorf("All yields an unexpected term: %v", s)
			}
		}
	}
}

// Add keeps a payload, AddMany replaces the payload, and Put sets or removes the payload. A term
// that is removed and added again has no payload.
func TestPayloadChanges(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{})
	must := func(_ any, err error) {
		t.Helper()
		require.OK(t)(err)
	}
	for i, step := range []struct {
		do   func()
		want Suggestion
	}{
		{func() { must(x.Put(ctx, Suggestion{"T", 5, "a"})) }, Suggestion{"T", 5, "a"}},
		{func() { must(x.Add(ctx, "T", 2)) }, Suggestion{"T", 7, "a"}},
		{func() { must(x.AddMany(ctx, slices.Values([]Suggestion{{"T", 1, "b"}, {"T", 1, ""}}))) }, Suggestion{"T", 9, "b"}},
		{func() { must(x.Put(ctx, Suggestion{"T", 9, "a\u00a0b"})) }, Suggestion{"T", 9, "a\u00a0b"}},
		{func() { must(x.remove(ctx, "lose", 1, []string{"t"})) }, Suggestion{"T", 8, "a\u00a0b"}},
		{func() { must(x.PutMany(ctx, slices.Values([]Suggestion{{"T", 1, "c"}, {"T", 3, "d"}}))) }, Suggestion{"T", 3, "d"}},
		{func() { must(x.Put(ctx, Suggestion{"T", 3, ""})) }, Suggestion{"T", 3, ""}},
		{func() { must(x.Put(ctx, Suggestion{"T", 3, "e"})) }, Suggestion{"T", 3, "e"}},
		{func() { must(x.Remove(ctx, "T")); must(x.Add(ctx, "T", 1)) }, Suggestion{"T", 1, ""}},
	} {
		step.do()
		if got, err := x.Get(ctx, "T"); err != nil || got != step.want {
			t.Fatalf("step %d: %v, %v, want %v", i, got, err, step.want)
		}
		expect(t, complete(t, x, "t", 2), show([]Suggestion{step.want}))
		verified(t, x)
	}
}

// A payload may consist of blanks, even for a new term.
func TestPayloadOfBlanks(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	for _, payload := range []string{" ", "   ", "1", " 1", "e5"} {
		s := Suggestion{"Banana", 5, payload}
		require.OK(t)(x.AddMany(ctx, slices.Values([]Suggestion{s})))
		if got := allTerms(t, x); len(got) != 1 || got["Banana"] != s {
			t.Errorf("All yields %v, want %v", got, s)
		}
		expect(t, complete(t, x, "ban", 2), show([]Suggestion{s}))
		if n, err := x.Add(ctx, "Banana", 2); n != 7 || err != nil {
			t.Errorf("payload %q: Add() = %d, %v, want 7", payload, n, err)
		}
		verified(t, x)
		if n, err := x.Remove(ctx, "Banana"); n != 1 || err != nil {
			t.Errorf("payload %q: Remove() = %d, %v, want 1", payload, n, err)
		}
		if n, err := client.Do(ctx, client.B().Zcard().Key(x.keys[0].Index).Build()).AsInt64(); n != 0 || err != nil {
			t.Fatalf("payload %q: %d entries after Remove, %v, want 0", payload, n, err)
		}
	}
}

// Repair corrects an entry that contains the payload of its term.
func TestRepairPayloadInEntry(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	want := Suggestion{"banana", 5, " "}
	require.OK(t)(x.Put(ctx, want))
	b, keys := client.B(), x.keys[0]
	for _, r := range client.DoMulti(ctx,
		b.Zrem().Key(keys.Index).Member("banana\t5").Build(),
		b.Zadd().Key(keys.Index).ScoreMember().ScoreMember(0, "banana\t5\n ").Build(),
	) {
		require.OK(t)(r.Error())
	}
	if report, err := x.Repair(ctx, maintain.Options{}); err != nil || report.Repaired != report.Problems() {
		t.Errorf("Repair: %+v, %v, want all problems repaired", report, err)
	}
	if got := allTerms(t, x); len(got) != 1 || got["banana"] != want {
		t.Errorf("All yields %v, want %v", got, want)
	}
	verified(t, x)
}

func TestPayloadRefused(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	for _, payload := range []string{"a\nb", "a\tb", "\x00", "\xff", strings.Repeat("x", maxPayload+1)} {
		s := Suggestion{"T", 1, payload}
		_, errPut := x.Put(ctx, s)
		_, errAdd := x.AddMany(ctx, slices.Values([]Suggestion{{"Other", 1, ""}, s}))
		for _, err := range []error{errPut, errAdd, x.Check(s)} {
			if !errors.Is(err, index.ErrValue) {
				t.Errorf("payload %q: %v, want ErrValue", payload, err)
			}
		}
	}
	if n, err := client.Do(ctx, client.B().Dbsize().Build()).AsInt64(); n != 0 || err != nil {
		t.Errorf("%d keys were written, %v, want 0", n, err)
	}
}

// Rebuilds lose no payload of concurrent writers.
func TestRebuildKeepsPayloads(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			db := redistest.DB(t)
			opt := Options{Partitions: partitions}
			x := small(open(t, db.Client(t), "{words}", opt), 200)
			ctx := t.Context()
			terms := words(90)
			const writers = 3
			want := make([]map[string]Suggestion, writers) // each writer has its own terms
			done := make(chan struct{})
			var wg sync.WaitGroup
			for w := range writers {
				y := small(open(t, db.Client(t), "{words}", opt), 200)
				want[w] = map[string]Suggestion{}
				wg.Go(func() {
					r := rand.New(rand.NewPCG(uint64(w), 2))
					for {
						select {
						case <-done:
							return
						default:
						}
						term := terms[w+writers*r.IntN(len(terms)/writers)]
						s := Suggestion{term, 1 + r.Int64N(50), fmt.Sprint("id:", r.IntN(1000))}
						var err error
						switch r.IntN(5) {
						case 0:
							_, err = y.Remove(ctx, term)
							delete(want[w], term)
						case 1:
							_, err = y.Add(ctx, term, s.Count)
							s = Suggestion{term, want[w][term].Count + s.Count, want[w][term].Payload}
							want[w][term] = s
						case 2:
							_, err = y.AddMany(ctx, slices.Values([]Suggestion{s}))
							s.Count += want[w][term].Count
							want[w][term] = s
						default:
							_, err = y.Put(ctx, s)
							want[w][term] = s
						}
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			for range 15 {
				_, err := x.Rebuild(ctx, func(yield func(Suggestion, error) bool) {
					for e, err := range x.All(ctx, "", index.Page{}) {
						if !yield(e.Suggestion, err) {
							return
						}
					}
				}, maintain.Options{})
				if err != nil {
					t.Error(err)
				}
				verified(t, x)
			}
			close(done)
			wg.Wait()
			got := allTerms(t, x)
			n := 0
			for _, own := range want {
				n += len(own)
				for term, s := range own {
					if got[term] != s {
						t.Errorf("All yields %v, want %v", got[term], s)
					}
				}
			}
			if len(got) != n {
				t.Errorf("%d terms, want %d", len(got), n)
			}
			verified(t, x)
			checkLists(t, x)
		})
	}
}
