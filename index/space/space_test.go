package space

import (
	"errors"
	"fmt"
	"iter"
	"math"
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

func newIndex(t rapid.TB, c rueidis.Client, key, dims string, opt Options) *Index {
	t.Helper()
	var err error
	if dims != "" {
		if opt.Dims, err = ParseDims(dims); err != nil {
			t.Fatal(err)
		}
	}
	x, err := New(c, key, opt)
	require.OK(t)(err)
	return x
}

func list[E any](t require.T, entries iter.Seq2[E, error]) []E {
	var all []E
	for e, err := range entries {
		require.OK(t)(err)
		all = append(all, e)
	}
	return all
}

func pointsOf(values map[string][]any) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for id, v := range values {
			if !yield(Entry{ID: id, Values: v}) {
				return
			}
		}
	}
}

func sortedIDs(all []Entry) []string {
	ids := make([]string, len(all))
	for i, e := range all {
		ids[i] = e.ID
	}
	slices.Sort(ids)
	return ids
}

// The tutorial's box in a plane of points.
func TestTutorialQuery(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := newIndex(t, redistest.DB(t).Client(t), "points", "x:int(0..400),y:int(0..400)", Options{})
	points := map[string][]any{}
	for i := range 401 * 401 / 49 {
		points[fmt.Sprint(i)] = []any{i * 49 % 401, i * 49 / 401}
	}
	points["90"] = []any{75, 200}
	require.Gives(t, len(points))(x.PutMany(ctx, pointsOf(points)))
	var want []string
	for id, p := range points {
		if px, py := p[0].(int), p[1].(int); px >= 50 && px <= 100 && py >= 100 && py <= 300 {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	box := Box{{50, 100}, {100, 300}}
	if got := sortedIDs(list(t, x.Select(ctx, box, index.Page{}))); !slices.Equal(got, want) {
		t.Errorf("got %d points, want %d", len(got), len(want))
	}
	e, err := x.Explain(ctx, box)
	require.OK(t)(err)
	if len(e.Ranges) > 32 || e.Returned != int64(len(want)) || e.Read > 2*e.Returned {
		t.Errorf("Explain: %d ranges, %d read, %d returned, want %d", len(e.Ranges), e.Read, e.Returned, len(want))
	}
	if got, err := x.Get(ctx, "90"); err != nil || got.Values[0] != int64(75) || got.Values[1] != int64(200) {
		t.Errorf("Get: %v, %v, want 75 and 200", got, err)
	}
	if n, err := x.Remove(ctx, "90", "nobody"); err != nil || n != 1 {
		t.Errorf("Remove() = %d, %v, want 1", n, err)
	}
	if _, err := x.Get(ctx, "90"); !errors.Is(err, index.ErrNotFound) {
		t.Errorf("Get after Remove: %v, want ErrNotFound", err)
	}
	if n, err := x.Len(ctx); err != nil || n != int64(len(points)-1) {
		t.Errorf("Len() = %d, %v, want %d", n, err, len(points)-1)
	}
}

// For a long, thin box, the server skips most points outside the box.
func TestThinBox(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, partitions := range []int{1, 3} {
		x := newIndex(t, redistest.DB(t).Client(t), "thin", "x:int(0..9999),y:int(0..9999)", Options{Partitions: partitions})
		model := map[string][]any{}
		for i := range 20_000 {
			model[fmt.Sprint(i)] = []any{i * 7919 % 10_000, 4500 + i*104_729/7%1000}
		}
		for i := range 3_000 { // more points at one place than a script reads
			model[fmt.Sprint("crowd", i)] = []any{5000, 5000}
		}
		require.OK(t)(x.PutMany(ctx, pointsOf(model)))
		box := Box{{100, 9900}, {4996, 5005}}
		var want []string
		for id, v := range model {
			if inBox(t, x.Dims(), v, box) {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		all := list(t, x.Select(ctx, box, index.Page{}))
		if got := sortedIDs(all); !slices.Equal(got, want) {
			t.Fatalf("%d partitions: got %d points, want %d", partitions, len(got), len(want))
		}
		e, err := x.Explain(ctx, box)
		if err != nil || len(e.Ranges) > 32 || e.Returned != int64(len(want)) || e.Read > 2*e.Returned {
			t.Errorf("%d partitions: Explain: %d ranges, %d read, %d returned, %v, want %d", partitions, len(e.Ranges), e.Read, e.Returned, err, len(want))
		}
		for _, reverse := range []bool{false, true} {
			var paged []Entry
			for page := (index.Page{Limit: 333, Reverse: reverse}); ; {
				part := list(t, x.Select(ctx, box, page))
				if paged = append(paged, part...); len(part) < page.Limit {
					break
				}
				page.After = part[len(part)-1].Cursor()
			}
			if reverse {
				slices.Reverse(paged)
			}
			if !slices.EqualFunc(paged, all, func(a, b Entry) bool { return a.member == b.member }) {
				t.Errorf("%d partitions: %d points in pages, want %d", partitions, len(paged), len(all))
			}
		}
		n := 0
		for range x.Select(ctx, box, index.Page{Offset: 50}) {
			if n++; n == 10 {
				break
			}
		}
		if n != 10 {
			t.Errorf("Select yielded %d points, want 10", n)
		}
	}
}

func TestWrongBoxes(t *testing.T) {
	t.Parallel()
	x := newIndex(t, redistest.DB(t).Client(t), "wrong", "x:int(0..400),p:decimal(2)(0..10),t:time(2020-01-01..2030-01-01)", Options{})
	for _, c := range []struct {
		box  Box
		want string
	}{
		{Box{{1, 2}}, "1 sides for 3 dimensions"},
		{Box{{2, 1}, {}, {}}, "dimension x: 2..1 ends before it begins"},
		{Box{{"a", 1}, {}, {}}, "dimension x: \"a\" is not a number"},
		{Box{{}, {math.NaN(), nil}, {}}, "dimension p: NaN"},
		{Box{{}, {}, {1, 2}}, "dimension t: it is int, not a time"},
		{Box{{}, {nil, strings.Repeat("9", 3000)}, {}}, "too long"},
	} {
		for _, err := range []error{
			func() error {
				for _, err := range x.Select(t.Context(), c.box, index.Page{}) {
					return err
				}
				return nil
			}(),
			second(x.Count(t.Context(), c.box)), second(x.Explain(t.Context(), c.box)),
		} {
			if !errors.Is(err, index.ErrValue) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: got %v, want error with %q", c.box, err, c.want)
			}
		}
	}
	for _, err := range x.Select(t.Context(), Box{{}, {}, {}}, index.Page{After: "!"}) {
		if err == nil || !strings.Contains(err.Error(), "cursor") {
			t.Errorf("invalid cursor: %v", err)
		}
	}
}

// second returns the error of a call with two results.
func second[T any](_ T, err error) error { return err }

func TestDeclaration(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), redistest.DB(t).Client(t)
	if _, err := Open(ctx, c, "declared"); !errors.Is(err, index.ErrNotFound) {
		t.Errorf("open a missing index: %v, want ErrNotFound", err)
	}
	x := newIndex(t, c, "declared", "x:int(0..400),f:decimal(1)(-1..1)", Options{Partitions: 2})
	require.OK(t)(x.Put(ctx, "1", 75, 0.5))
	reopened, err := Open(ctx, c, "declared")
	require.OK(t)(err)
	if e, err := reopened.Get(ctx, "1"); err != nil || fmt.Sprint(e.Values[1]) != "0.5" || textOf(reopened.Dims()) != textOf(x.Dims()) {
		t.Errorf("Get: %v, %v; dimensions %v", e, err, reopened.Dims())
	}
	for _, other := range []*Index{
		newIndex(t, c, "declared", "x:int(0..401),f:decimal(1)(-1..1)", Options{Partitions: 2}),
		newIndex(t, c, "declared", "f:decimal(1)(-1..1),x:int(0..400)", Options{Partitions: 2}),
	} {
		if err := other.Put(ctx, "2", 0, 0); !errors.Is(err, index.ErrDeclared) {
			t.Errorf("put: %v, want ErrDeclared", err)
		}
		for _, err := range other.Select(ctx, Box{{}, {}}, index.Page{}) {
			if !errors.Is(err, index.ErrDeclared) {
				t.Errorf("select: %v, want ErrDeclared", err)
			}
		}
		if _, err := other.Explain(ctx, Box{{}, {}}); !errors.Is(err, index.ErrDeclared) {
			t.Errorf("explain: %v, want ErrDeclared", err)
		}
	}
	words, err := index.NewComposite(c, "words", index.Options{Columns: []index.Column{{Name: "a", Type: index.String}}})
	require.OK(t)(err)
	require.OK(t)(words.Put(ctx, "a", "a"))
	if _, err := Open(ctx, c, "words"); !errors.Is(err, index.ErrDeclared) {
		t.Errorf("open a Composite: %v, want ErrDeclared", err)
	}
	for _, opt := range []Options{{}, {Dims: x.Dims(), MaxRanges: -1}, {Dims: x.Dims(), MaxRanges: 5000}, {Dims: slices.Repeat(x.Dims(), 9)}, {Dims: x.Dims(), Partitions: 5000}} {
		if _, err := New(c, "declared", opt); err == nil {
			t.Errorf("New accepted %+v", opt)
		}
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := redistest.Cluster(t, 3).Client(t)
	for _, partitions := range []int{1, 5} {
		x := newIndex(t, c, fmt.Sprintf("{points%d}", partitions), "x:int(0..1000),y:int(-1000..0)", Options{Partitions: partitions})
		points := map[string][]any{}
		for i := range 2000 {
			points[fmt.Sprint(i)] = []any{i * 37 % 1001, -(i * 91 % 1001)}
		}
		require.OK(t)(x.PutMany(ctx, pointsOf(points)))
		want := 0
		for _, p := range points {
			if p[0].(int) >= 200 && p[0].(int) <= 600 && p[1].(int) >= -500 && p[1].(int) <= -100 {
				want++
			}
		}
		box := Box{{200, 600}, {-500, -100}}
		if got := list(t, x.Select(ctx, box, index.Page{})); len(got) != want {
			t.Errorf("%d partitions: got %d points, want %d", partitions, len(got), want)
		}
		if got, err := x.Count(ctx, box); err != nil || got != int64(want) {
			t.Errorf("%d partitions: Count() = %d, %v, want %d", partitions, got, err, want)
		}
		if near, err := x.Nearest(ctx, []any{500, -500}, 10); err != nil || len(near) != 10 {
			t.Errorf("%d partitions: Nearest: %v, %v, want 10 points", partitions, near, err)
		}
		if e, err := x.Explain(ctx, box); err != nil || e.Returned != int64(want) {
			t.Errorf("%d partitions: Explain: %+v, %v, want %d returned", partitions, e, err, want)
		}
		if r, err := x.Verify(ctx, nil, maintain.Options{}); err != nil || r.Problems() != 0 {
			t.Errorf("%d partitions: Verify: %+v, %v, want no problems", partitions, r, err)
		}
	}
}

func TestOpenWithoutAClient(t *testing.T) {
	if _, err := Open(t.Context(), nil, "points"); err == nil {
		t.Error("Open with a nil client returned no error")
	}
}
