package suggest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// setServerTime sets the time that the scripts of an index read from the server.
func setServerTime(x *Index, now time.Time) {
	clock := fmt.Sprintf("{'%d', '%d'}", now.Unix(), now.Nanosecond()/1000)
	x.scripts = newScripts(strings.Replace(valueLua, "redis.call('TIME')", clock, 1) + topkLua)
}

// The count of a term halves after each half-life, whether or not other terms change.
func TestHalfLife(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{HalfLife: 24 * time.Hour})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	setServerTime(x, now)
	add := func(term string, n, want int64) {
		t.Helper()
		if got, err := x.Add(ctx, term, n); err != nil || got != want {
			t.Fatalf("%s: got %d, %v, want %d", term, got, err, want)
		}
	}
	add("bahama", 800, 800)
	add("banana", 100, 100)
	now = now.Add(24 * time.Hour)
	setServerTime(x, now)
	expect(t, complete(t, x, "ba", 5), "bahama 400, banana 50")
	add("banana", 350, 400) // a tie with bahama except for the last bit
	now = now.Add(48 * time.Hour)
	setServerTime(x, now)
	add("banana", 1, 101)
	expect(t, complete(t, x, "ba", 5), "banana 101, bahama 100")
	add("Bali", 1, 1)
	now = now.Add(10 * 24 * time.Hour)
	setServerTime(x, now)
	expect(t, complete(t, x, "ba", 5), "banana 0, bahama 0, Bali 0")
	require.Gives(t, 3)(x.Prune(ctx, 1, maintain.Options{}))
	add("banana", maxCount, maxCount)
	verified(t, x)
}

// Counts with a half-life stay exact after many half-lives, and do not overflow.
func TestHalfLifeLasts(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{HalfLife: time.Second})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	setServerTime(x, now)
	want := 0.0
	for i := range 200 {
		n := int64(1 + i%7*1000)
		want += float64(n)
		got, err := x.Add(ctx, "term", n)
		if err != nil || math.Abs(float64(got)-want) > 1+want*1e-5 {
			t.Fatalf("%v: got %d, %v, want %v", now, got, err, want)
		}
		now = now.Add(time.Second)
		setServerTime(x, now)
		want /= 2
		if i == 100 {
			now, want = now.AddDate(100, 0, 0), 0
			setServerTime(x, now)
		}
	}
}

// Cached lists are also exact with a half-life.
func TestHalfLifeLists(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{HalfLife: time.Hour})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	setServerTime(x, now)
	for hour := range 6 {
		var list []Suggestion
		for i := range 300 {
			list = append(list, Suggestion{Term: "t" + string(rune('a'+i%26)) + string(rune('a'+i/26)), Count: int64(1 + (i*7+hour*100)%300)})
		}
		require.OK(t)(x.AddMany(ctx, slices.Values(list)))
		now = now.Add(time.Hour)
		setServerTime(x, now)
	}
	verified(t, x)
	require.OK(t)(x.Add(ctx, "tzz", 10_000))
	expect(t, complete(t, x, "t", 1), "tzz 10000")
}

func TestBlock(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		x := open(t, redistest.DB(t).Client(t), "words", Options{Partitions: partitions})
		addAll(t, x, "Damn", "dame", "damnation")
		require.OK(t)(x.Block(t.Context(), "damn", "darn"))
		addAll(t, x, "DAMN", "Darn")
		require.Gives(t, 0)(x.Add(t.Context(), "damn!", 5))
		expect(t, complete(t, x, "da", 5), "dame 1, damnation 1")
		blocked, err := x.Blocked(t.Context())
		expect(t, blocked, "[damn darn]")
		if err != nil || x.Unblock(t.Context(), "Darn") != nil {
			t.Fatal(err)
		}
		addAll(t, x, "Darn", "damn")
		expect(t, complete(t, x, "da", 5), "dame 1, damnation 1, Darn 1")
		verified(t, x)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{Punctuation: PunctuationDrop, HalfLife: 90 * time.Minute})
	wantErrValue := func(err error) {
		t.Helper()
		if !errors.Is(err, index.ErrValue) {
			t.Fatalf("got %v, want ErrValue", err)
		}
	}
	for _, n := range []int64{0, -1, math.MinInt64, maxCount + 1} {
		_, err := x.Add(ctx, "banana", n)
		wantErrValue(err)
	}
	_, err := x.Add(ctx, "…", 1)
	wantErrValue(err)
	_, err = x.AddMany(ctx, slices.Values([]Suggestion{{Term: "banana", Count: 1}, {Term: "\xff", Count: 1}}))
	wantErrValue(err)
	for _, k := range []int{0, -1, 1001} {
		_, err = x.Complete(ctx, "b", k)
		wantErrValue(err)
	}
	_, err = x.Complete(ctx, "b\xff", 1)
	wantErrValue(err)
	_, err = x.CompleteFuzzy(ctx, "b", 0)
	wantErrValue(err)
	_, err = x.Remove(ctx, "")
	wantErrValue(err)
	for _, page := range []index.Page{{After: "%"}, {Limit: -1}, {Offset: -1}} {
		for _, err := range x.All(ctx, "", page) {
			wantErrValue(err)
		}
	}
	if keys, err := client.Do(ctx, client.B().Dbsize().Build()).AsInt64(); err != nil || keys != 0 {
		t.Fatalf("DBSIZE = %d, %v, want 0", keys, err)
	}
	require.Fails(t, index.ErrNotFound)(x.Verify(ctx, maintain.Options{}))
	require.Fails(t, index.ErrNotFound)(Open(ctx, client, "words"))
	for _, opt := range []Options{
		{Punctuation: "x"},
		{HalfLife: 1},
		{HalfLife: -time.Hour},
		{Cleanup: -1},
		{Cleanup: 2},
		{Cleanup: math.NaN()},
		{Cleanup: 1, HalfLife: time.Hour},
		{Partitions: 1025},
	} {
		if _, err := New(client, "words", opt); err == nil {
			t.Errorf("New accepted %+v", opt)
		}
	}

	// The declaration contains the options.
	addAll(t, x, "Ba-nana")
	y, err := Open(ctx, client, "words")
	if err != nil || y.Options() != x.Options() {
		t.Fatalf("Open: %v, want the options %+v", err, x.Options())
	}
	expect(t, complete(t, y, "ban", 5), "Ba-nana 1")
	other := open(t, client, "words", Options{})
	_, err = other.Add(ctx, "banana", 1)
	wantErrDeclared := func(err error) {
		t.Helper()
		if !errors.Is(err, index.ErrDeclared) {
			t.Fatalf("got %v, want ErrDeclared", err)
		}
	}
	wantErrDeclared(err)
	_, err = other.Complete(ctx, "ban", 5)
	wantErrDeclared(err)
	_, err = other.Remove(ctx, "banana")
	wantErrDeclared(err)
	_, err = other.Get(ctx, "banana")
	wantErrDeclared(err)
	_, err = other.Verify(ctx, maintain.Options{})
	wantErrDeclared(err)
	_, err = other.Rebuild(ctx, func(func(Suggestion, error) bool) {}, maintain.Options{})
	wantErrDeclared(err)
	spread := open(t, client, "words", Options{Partitions: 2})
	_, err = spread.AddMany(ctx, slices.Values([]Suggestion{{Term: "x", Count: 1}}))
	wantErrDeclared(err)

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.Fails(t, context.Canceled)(x.Complete(canceled, "b", 1))
}

// On an error, AddMany returns the number of terms that it counted. It counts no term of the batch
// with the invalid term.
func TestAddManyReportsProgress(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{})
	x.many = 1600
	many := func(n, invalid int) iter.Seq[Suggestion] {
		return func(yield func(Suggestion) bool) {
			for i := range n {
				s := Suggestion{Term: fmt.Sprintf("term %d", i), Count: 1}
				if i == invalid {
					s.Term = "!"
				}
				if !yield(s) {
					return
				}
			}
		}
	}
	if n, err := x.AddMany(ctx, many(2000, 1700)); n != 1600 || !errors.Is(err, index.ErrValue) {
		t.Fatalf("AddMany() = %d, %v, want 1600 and ErrValue", n, err)
	}
	if n, err := x.Len(ctx); n != 1600 || err != nil {
		t.Fatalf("Len() = %d, %v, want 1600", n, err)
	}
	require.Gives(t, 3300)(x.AddMany(ctx, many(3300, -1)))
	if s, err := x.Get(ctx, "term 1599"); s.Count != 2 || err != nil {
		t.Fatalf("Get: %v, %v, want count 2", s, err)
	}
	require.Gives(t, 0)(x.AddMany(ctx, many(0, -1)))
}

// A term whose count has decayed to 0 still exists.
func TestGetFallenCount(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{HalfLife: time.Hour})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	setServerTime(x, now)
	if stored, err := x.Put(ctx, Suggestion{"Banana", 5, "id:5"}); !stored || err != nil {
		t.Fatalf("Put() = %v, %v, want true", stored, err)
	}
	now = now.Add(time.Hour)
	setServerTime(x, now)
	if stored, err := x.Put(ctx, Suggestion{"Bali", 5, ""}); !stored || err != nil {
		t.Fatalf("Put() = %v, %v, want true", stored, err)
	}
	expect(t, complete(t, x, "b", 2), "Bali 5, Banana 3")
	now = now.Add(20 * time.Hour)
	setServerTime(x, now)
	found, err := x.GetMany(ctx, "Banana", "none", "Bali")
	if want := []Suggestion{{"Banana", 0, "id:5"}, {"Bali", 0, ""}}; err != nil || !slices.Equal(found, want) {
		t.Fatalf("GetMany: %q, %v, want %q", found, err, want)
	}
	if s, err := x.Get(ctx, "Banana"); err != nil || s.Payload != "id:5" {
		t.Fatalf("Get: %v, %v, want payload id:5", s, err)
	}
	require.Fails(t, index.ErrValue)(x.Cleanup(ctx, 1, maintain.Options{}))
}

// Cleanup decrements exactly the requested number of counts, over all partitions.
func TestCleanupRandomTerms(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		x, _, ctx := testIndex(t, Options{Partitions: partitions})
		require.Gives(t, 0)(x.Cleanup(ctx, 5, maintain.Options{}))
		var list []Suggestion
		for i := range 300 {
			list = append(list, Suggestion{fmt.Sprintf("term %d", i), 2, "id"})
		}
		require.OK(t)(x.PutMany(ctx, slices.Values(list)))
		// A step samples no term twice, so 100 counts go from 2 to 1.
		require.Gives(t, 0)(x.Cleanup(ctx, 100, maintain.Options{}))
		sum := func() (sum int64) {
			for _, n := range counts(t, x) {
				sum += n
			}
			return sum
		}
		if got := sum(); got != 500 {
			t.Fatalf("the sum of the counts is %d, want 500", got)
		}
		var progress maintain.Progress
		n, err := x.Cleanup(ctx, 350, maintain.Options{Progress: func(p maintain.Progress) { progress = p }})
		if err != nil || n == 0 || progress.Checked != 350 || progress.Total != 350 {
			t.Fatalf("Cleanup() = %d, progress %+v, %v, want 350 checked", n, progress, err)
		}
		if got := sum(); got != 150 {
			t.Fatalf("the sum of the counts is %d, want 150", got)
		}
		if left, err := x.Len(ctx); err != nil || left != int64(300-n) {
			t.Fatalf("Len() = %d, %v, want %d", left, err, 300-n)
		}
		verified(t, x)
		require.Fails(t, index.ErrValue)(x.Cleanup(ctx, 0, maintain.Options{}))
		require.Fails(t, index.ErrValue)(x.Prune(ctx, 0, maintain.Options{}))
	}
}
