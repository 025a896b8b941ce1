package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"retwis/internal/ordered/orderedtest"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

func numeric[N Number](t testing.TB, key string, opt NumericOptions) *Numeric[N] {
	t.Helper()
	x, err := NewNumeric[N](client(t), key, opt)
	require.OK(t)(err)
	return x
}

func numericIDs[N Number](entries []NumericEntry[N]) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.ID)
	}
	return strings.Join(all, " ")
}

// The tutorial's index of ages.
func TestAges(t *testing.T) {
	t.Parallel()
	ages, ctx := numeric[int](t, "myindex", NumericOptions{}), t.Context()
	for id, age := range map[string]int{"Manuel": 25, "Anna": 18, "Jon": 35, "Helen": 67} {
		require.OK(t)(ages.Put(ctx, id, age))
	}
	if got := list(t, ages.Select(ctx, Page{}, Between("value", 20, 40))); numericIDs(got) != "Manuel Jon" || got[0].Number != 25 {
		t.Fatalf("between 20 and 40: %v, want Manuel and Jon", got)
	}
	for want, conditions := range map[string][]Condition{
		"Anna Manuel Jon Helen": {},
		"Manuel Jon Helen":      {Above("value", 18)},
		"Anna Manuel":           {Below("value", 35)},
		"Manuel Jon":            {Above("value", 18), AtMost("value", 35)},
		"":                      {AtLeast("value", 68)},
		"Anna Jon":              {In("value", 35, 18, 4)},
		"Jon":                   {Eq("value", "35")},
	} {
		if got := list(t, ages.Select(ctx, Page{}, conditions...)); numericIDs(got) != want {
			t.Errorf("%+v: %s, want %s", conditions, numericIDs(got), want)
		}
		if n, err := ages.Count(ctx, conditions...); err != nil || int(n) != len(strings.Fields(want)) {
			t.Errorf("Count(%+v) = %d, %v, want %d", conditions, n, err, len(strings.Fields(want)))
		}
	}
	for want, c := range map[string]Condition{
		"no column":       Eq("age", 1),
		"have prefixes":   Prefix("value", "1"),
		"not an integer":  Eq("value", 1.5),
		"use a Composite": Eq("value", 1<<60),
	} {
		if _, err := ages.Count(ctx, c); !errors.Is(err, ErrValue) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want error with %q", err, want)
		}
	}
	// Put replaces an existing number.
	require.OK(t)(ages.Put(ctx, "Manuel", 26))
	if e, err := ages.Get(ctx, "Manuel"); err != nil || e.Number != 26 {
		t.Fatalf("Get: %v, %v, want 26", e, err)
	}
	require.Gives(t, 1)(ages.Remove(ctx, "Manuel", "Nobody"))
	if _, err := ages.Get(ctx, "Manuel"); !isErr(err, ErrNotFound) {
		t.Fatalf("Get after Remove: %v, want ErrNotFound", err)
	}
	require.Gives(t, 3)(ages.Len(ctx))
	if _, err := OpenNumeric[float64](ctx, ages.entries.Set.Client, "myindex"); !isErr(err, ErrDeclared) {
		t.Fatalf("open as floats: %v, want ErrDeclared", err)
	}
	lexical := composite(t, ages.entries.Set.Client, "lexical", Options{Columns: columns(t, "a:string")})
	require.OK(t)(lexical.Put(ctx, "a", "a"))
	if _, err := OpenNumeric[int](ctx, ages.entries.Set.Client, "lexical"); !isErr(err, ErrDeclared) {
		t.Fatalf("open a Composite: %v, want ErrDeclared", err)
	}
	if reopened, err := OpenNumeric[int](ctx, ages.entries.Set.Client, "myindex"); err != nil || reopened.Key() != "myindex" {
		t.Fatalf("open: %v", err)
	}
}

// Put refuses a number that a score cannot hold exactly.
func TestNumbersRefused(t *testing.T) {
	t.Parallel()
	ints, floats := numeric[int64](t, "ints", NumericOptions{}), numeric[float64](t, "floats", NumericOptions{})
	for _, n := range []int64{1<<53 + 1, -1<<53 - 1, math.MaxInt64, math.MinInt64} {
		if err := ints.Put(t.Context(), "1", n); !isErr(err, ErrValue) || !strings.Contains(err.Error(), "use a Composite") {
			t.Errorf("Put(%d): %v, want ErrValue", n, err)
		}
	}
	if err := floats.Put(t.Context(), "1", math.NaN()); !isErr(err, ErrValue) {
		t.Errorf("Put(NaN): %v, want ErrValue", err)
	}
	for _, f := range []float64{math.Inf(-1), -math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, 1 << 60, math.Inf(1)} {
		id := strconv.FormatFloat(f, 'g', -1, 64)
		if err := floats.Put(t.Context(), id, f); err != nil {
			t.Errorf("Put(%g): %v", f, err)
		}
		if e, err := floats.Get(t.Context(), id); err != nil || e.Number != f {
			t.Errorf("Get after Put(%g) = %g, %v", f, e.Number, err)
		}
	}
	if got := numericIDs(list(t, floats.Select(t.Context(), Page{}))); got != "-Inf -1.7976931348623157e+308 5e-324 0.1 1.152921504606847e+18 +Inf" {
		t.Errorf("floats in order: %s", got)
	}
}

// A Numeric behaves like a sorted list, for any page.
func TestNumericIsASortedList(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		x, err := NewNumeric[float64](c, fmt.Sprint("list", n), NumericOptions{Partitions: rapid.SampledFrom([]int{1, 3}).Draw(t, "partitions")})
		require.OK(t)(err)
		number := rapid.SampledFrom([]float64{math.Inf(-1), -2.5, 0, 1, 1, 1, 1e300, math.Inf(1)})
		model := map[string]float64{}
		var many []NumericEntry[float64]
		for range rapid.IntRange(0, 40).Draw(t, "puts") {
			e := NumericEntry[float64]{"i" + orderedtest.DrawText(t), number.Draw(t, "number")}
			many = append(many, e)
			model[e.ID] = e.Number
		}
		require.Gives(t, len(many))(x.PutMany(ctx, slices.Values(many)))
		for range 3 {
			var conditions []Condition
			low, high := number.Draw(t, "low"), number.Draw(t, "high")
			inside := func(float64) bool { return true }
			switch rapid.IntRange(0, 4).Draw(t, "conditions") {
			case 4:
				last := number.Draw(t, "last")
				conditions = []Condition{In("value", high, low, last), AtMost("value", 1e300), In("value", last, low, 7)}
				inside = func(f float64) bool { return (f == low || f == last) && f <= 1e300 }
			case 0:
				conditions = []Condition{Between("value", low, high)}
				inside = func(f float64) bool { return f >= low && f <= high }
			case 1:
				conditions = []Condition{Above("value", low), Below("value", high)}
				inside = func(f float64) bool { return f > low && f < high }
			case 2:
				conditions = []Condition{Above("value", low)}
				inside = func(f float64) bool { return f > low }
			}
			var want []NumericEntry[float64]
			for id, f := range model {
				if inside(f) {
					want = append(want, NumericEntry[float64]{id, f})
				}
			}
			slices.SortFunc(want, func(a, b NumericEntry[float64]) int {
				return cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.ID, b.ID))
			})
			page := Page{Limit: rapid.IntRange(0, 5).Draw(t, "limit"), Offset: rapid.IntRange(0, 3).Draw(t, "offset"), Reverse: rapid.Bool().Draw(t, "reverse")}
			if page.Reverse {
				slices.Reverse(want)
			}
			all := int64(len(want))
			want = want[min(page.Offset, len(want)):]
			for {
				part := want
				if page.Limit > 0 {
					part = want[:min(page.Limit, len(want))]
				}
				got := list(t, x.Select(ctx, page, conditions...))
				if n, err := x.Count(ctx, conditions...); page.After == "" && (err != nil || n != all) {
					t.Fatalf("Count(%+v) = %d, %v, want %d", conditions, n, err, all)
				}
				if !slices.Equal(got, part) {
					t.Fatalf("%+v %+v: %v, want %v", conditions, page, got, part)
				}
				if len(got) == 0 || page.Limit == 0 {
					break
				}
				last := got[len(got)-1]
				want = want[len(part):]
				page.Offset, page.After = 0, last.Cursor()
				if rapid.Bool().Draw(t, "gone") { // the cursor of a removed entry stays valid
					require.OK(t)(x.Remove(ctx, last.ID))
					delete(model, last.ID)
				}
			}
		}
	})
}

// Select reads long ranges in steps. Repair corrects entries that differ from their objects.
// Rebuild keeps concurrent writes.
func TestNumericMaintenance(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	c, ctx := cluster.Client(t), t.Context()
	for key, partitions := range map[string]int{"{one}": 1, "many": 4} {
		x, err := NewNumeric[int](c, key, NumericOptions{Partitions: partitions})
		require.OK(t)(err)
		source, err := Hashes(c, key+":person:*", func(_ string, fields map[string]string) (int, bool, error) {
			n, err := strconv.Atoi(fields["age"])
			return n, true, err
		})
		require.OK(t)(err)
		const people = 1500
		var many []NumericEntry[int]
		for i := range people {
			require.OK(t)(c.Do(ctx, c.B().Hset().Key(fmt.Sprint(key, ":person:", i)).FieldValue().FieldValue("age", fmt.Sprint(i)).Build()).Error())
			many = append(many, NumericEntry[int]{fmt.Sprint(i), i})
		}
		require.Gives(t, people)(x.PutMany(ctx, slices.Values(many)))
		if all := list(t, x.Select(ctx, Page{})); !slices.Equal(all, many) {
			t.Fatalf("Select returned %d entries, want %d in order", len(all), people)
		}
		if r, err := x.Verify(ctx, &source, maintain.Options{}); err != nil || r.Problems() != 0 || r.Checked != 2*people {
			t.Fatalf("Verify: %+v, %v, want no problems, %d checked", r, err, 2*people)
		}
		for _, command := range [][]string{
			{"ZREM", x.entries.Set.Of("1").Index, "1"}, {"ZADD", x.entries.Set.Of("2").Index, "77", "2"}, {"ZADD", x.entries.Set.Of("missing").Index, "5", "missing"},
		} {
			require.OK(t)(c.Do(ctx, c.B().Arbitrary(command[0]).Keys(command[1]).Args(command[2:]...).Build()).Error())
		}
		if r, err := x.Verify(ctx, &source, maintain.Options{}); err != nil || r.Missing != 1 || r.Stale != 1 || r.Dangling != 1 {
			t.Fatalf("Verify: %+v, %v, want 1 missing, 1 stale, 1 dangling", r, err)
		}
		if r, err := x.Repair(ctx, &source, maintain.Options{}); err != nil || r.Repaired != 3 {
			t.Fatalf("Repair: %+v, %v, want 3 repaired", r, err)
		}
		if r, err := x.Verify(ctx, &source, maintain.Options{}); err != nil || r.Problems() != 0 {
			t.Fatalf("Verify after Repair: %+v, %v", r, err)
		}
		// Rebuild during a Put and a Remove.
		require.OK(t)(x.Put(ctx, "missing", 5))
		written := false
		r, err := x.Rebuild(ctx, source, maintain.Options{Rate: 1e6, Progress: func(maintain.Progress) {
			if !written {
				written = true
				if err := x.Put(ctx, "late", 9); err != nil {
					t.Error(err)
				}
				if _, err := x.Remove(ctx, "3"); err != nil {
					t.Error(err)
				}
			}
		}})
		if err != nil || r.Checked != people {
			t.Fatalf("Rebuild: %+v, %v, want %d checked", r, err, people)
		}
		if r, err := x.Verify(ctx, &source, maintain.Options{}); err != nil || r.Missing != 1 || r.Dangling != 1 || r.Stale != 0 {
			t.Fatalf("Verify after Rebuild: %+v, %v, want 1 missing, 1 dangling", r, err)
		}
	}
}

// Verify treats zero and negative zero as the same number: Redis does not replace either with the
// other, so a repair would never succeed.
func TestNegativeZero(t *testing.T) {
	t.Parallel()
	x, ctx := numeric[float64](t, "zeros", NumericOptions{}), t.Context()
	c, minus := x.entries.Set.Client, math.Copysign(0, -1)
	require.OK(t)(x.Put(ctx, "a", minus))
	require.OK(t)(c.Do(ctx, c.B().Zadd().Key("zeros").ScoreMember().ScoreMember(minus, "b").Build()).Error())
	source := objectsOf([]Object[float64]{{ID: "a"}, {ID: "b", Value: minus}}, func(int) {})
	if r, err := x.Verify(ctx, &source, maintain.Options{}); err != nil || r.Problems() != 0 {
		t.Fatalf("Verify: %+v, %v, want no problems", r, err)
	}
	source = objectsOf([]Object[float64]{{ID: "a", Value: minus}, {ID: "b"}}, func(int) {})
	if r, err := x.Verify(ctx, &source, maintain.Options{}); err != nil || r.Problems() != 0 {
		t.Fatalf("Verify: %+v, %v, want no problems", r, err)
	}
	require.Gives(t, 2)(x.Count(ctx, Between("value", 0.0, minus)))
}

// Get and Select return ErrCorrupt for a score that an index of integers never writes. Repair
// corrects the score.
func TestFractionalScore(t *testing.T) {
	t.Parallel()
	x, ctx := numeric[int](t, "fractions", NumericOptions{}), t.Context()
	require.OK(t)(x.Put(ctx, "a", 1))
	c := x.entries.Set.Client
	source := objectsOf([]Object[int]{{ID: "a", Value: 1}}, func(int) {})
	source.Lookup = func(context.Context, []string) ([]Object[int], error) { return []Object[int]{{ID: "a", Value: 1}}, nil }
	for _, score := range []float64{1.5, math.Inf(1), math.Inf(-1), 1e300} {
		require.OK(t)(c.Do(ctx, c.B().Zadd().Key("fractions").ScoreMember().ScoreMember(score, "a").Build()).Error())
		if _, err := x.Get(ctx, "a"); !isErr(err, ErrCorrupt) {
			t.Errorf("Get with score %g: %v, want ErrCorrupt", score, err)
		}
		for e, err := range x.Select(ctx, Page{}) {
			if !isErr(err, ErrCorrupt) {
				t.Errorf("Select with score %g: %+v, %v, want ErrCorrupt", score, e, err)
			}
		}
		if r, err := x.Repair(ctx, &source, maintain.Options{}); err != nil || r.Repaired != 1 {
			t.Errorf("Repair: %+v, %v, want 1 repaired", r, err)
		}
		if e, err := x.Get(ctx, "a"); err != nil || e.Number != 1 {
			t.Errorf("Get after Repair: %+v, %v, want 1", e, err)
		}
	}
}
