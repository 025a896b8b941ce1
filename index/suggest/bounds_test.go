package suggest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// longTerms returns n terms of 500 bytes.
func longTerms(n int) []Suggestion {
	terms := make([]Suggestion, n)
	for i := range terms {
		terms[i] = Suggestion{Term: strings.Repeat(fmt.Sprintf("%04d", i*7919%10000), 125), Count: 1}
	}
	return terms
}

// A step handles few long names, because each prefix of a name may have a list.
func TestStepsWithLongNames(t *testing.T) {
	t.Parallel()
	names := redistest.Cases[int64](100, 600)
	client := redistest.DB(t).Client(t)
	ctx := t.Context()
	x := open(t, client, "long", Options{})
	require.OK(t)(x.tracker().Begin(ctx, "ours"))
	require.OK(t)(x.AddMany(ctx, slices.Values(longTerms(int(names)))))

	keys := x.keys[0]
	args := append(x.set.Args(), "ours", fmt.Sprint(batchTerms), fmt.Sprint(batchBytes))
	for left, done := names, false; !done; {
		var err error
		if done, err = x.scripts.finish.Run(ctx, client, keys.all(), args).AsBool(); err != nil {
			t.Fatal(err)
		}
		remaining, err := client.Do(ctx, client.B().Scard().Key(keys.Changed).Build()).AsInt64()
		if err != nil || left-remaining > batchBytes/500+1 {
			t.Fatalf("a step of a rebuild handled %d names of 500 bytes, want at most %d (%v)", left-remaining, batchBytes/500+1, err)
		}
		left = remaining
	}
	if n, err := x.Len(ctx); err != nil || n != names {
		t.Fatalf("Len() = %d, %v, want %d", n, err, names)
	}

	checked, largest := int64(0), int64(0)
	report, err := x.Verify(ctx, maintain.Options{Progress: func(p maintain.Progress) {
		largest, checked = max(largest, p.Report.Checked-checked), p.Report.Checked
	}})
	if err != nil || report.Checked < names || report.Problems() != 0 {
		t.Fatalf("Verify: %+v, %v, want no problems", report, err)
	}
	if largest > 30 { // COUNT of a scan is approximate
		t.Errorf("a step of Verify checked %d names of 500 bytes, want at most 30", largest)
	}
}

// A missing list is rebuilt from the lists of prefixes that are one byte longer. Missing lists of
// these prefixes are rebuilt first.
func TestRebuildListReadsFew(t *testing.T) {
	client := redistest.DB(t).Client(t)
	ctx := t.Context()
	x := open(t, client, "wide", Options{})
	var terms []Suggestion
	for letter := 'a'; letter <= 'z'; letter++ {
		for i := range 100 {
			terms = append(terms, Suggestion{Term: fmt.Sprintf("%c%d", letter, i), Count: int64(1 + i)})
		}
	}
	require.OK(t)(x.AddMany(ctx, slices.Values(terms)))
	require.OK(t)(client.Do(ctx, client.B().Del().Key(x.keys[0].cache).Build()).Error())
	first, err := x.scripts.rebuildList.Run(ctx, client, x.keys[0].reading(), []string{""}).ToString()
	if err != nil || first != "a" {
		t.Fatalf("the first list to rebuild: %q, %v, want a", first, err)
	}
	if best, err := x.Complete(ctx, "", 30); err != nil || len(best) != 30 || best[0] != (Suggestion{Term: "a99", Count: 100}) || best[29] != (Suggestion{Term: "d98", Count: 99}) {
		t.Fatalf("Complete: %v, %v, want 30 terms from a99 to d98", best, err)
	}
}

// A rebuild that is replaced in one partition stops tracking writes in the other partitions.
func TestReplacedRebuildEndsEverywhere(t *testing.T) {
	client := redistest.DB(t).Client(t)
	ctx := t.Context()
	x := open(t, client, "two", Options{Partitions: 2})
	_, err := x.Rebuild(ctx, func(yield func(Suggestion, error) bool) {
		// Another rebuild replaces this rebuild in the first partition.
		until := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
		do(t, client, "HSET", x.keys[0].Meta, "rebuild", "other", "until", until)
		for i := range 100 {
			if !yield(Suggestion{Term: fmt.Sprint(i), Count: 1}, nil) {
				return
			}
		}
	}, maintain.Options{})
	if !errors.Is(err, maintain.ErrReplaced) {
		t.Fatalf("%v, want ErrReplaced", err)
	}
	for i, want := range []string{"other", ""} {
		meta := x.keys[i].All()[2]
		if found, _ := client.Do(ctx, client.B().Hget().Key(meta).Field("rebuild").Build()).ToString(); found != want {
			t.Errorf("partition %d is in rebuild %q, want %q", i, found, want)
		}
	}
}
