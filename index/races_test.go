package index

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// The tests in this file write at the critical moment of another operation.

// objectsOf returns a source that calls between before it yields each object.
func objectsOf[V any](objects []Object[V], between func(i int)) Source[V] {
	return Source[V]{All: func(context.Context) iter.Seq2[Object[V], error] {
		return func(yield func(Object[V], error) bool) {
			for i, o := range objects {
				between(i)
				if !yield(o, nil) {
					return
				}
			}
		}
	}}
}

// A write during a rebuild wins over the source, whether the source yields the id before or
// after it.
func TestRebuildKeepsWrites(t *testing.T) {
	t.Parallel()
	x := composite(t, client(t), "keeps", Options{Columns: columns(t, "age:int")})
	y := numeric[int](t, "keeps", NumericOptions{})
	ctx := t.Context()
	fail := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	put := func(id string, age int) { fail(x.Put(ctx, id, age)); fail(y.Put(ctx, id, age)) }
	remove := func(id string) {
		_, err := x.Remove(ctx, id)
		fail(err)
		_, err = y.Remove(ctx, id)
		fail(err)
	}
	want := map[string]int{}
	var all []Object[[]any]
	var numbers []Object[int]
	object := func(id string, age int) {
		all, numbers = append(all, Object[[]any]{ID: id, Value: []any{age}}), append(numbers, Object[int]{ID: id, Value: age})
	}
	for i := range 500 {
		id := fmt.Sprint(i)
		put(id, 1)
		object(id, 2)
		want[id] = 2
	}
	object("7", 5) // again: the last one wins
	want["7"] = 5
	write := func(i int) {
		switch i {
		case 100: // an entry that has been filled in, and one that has not
			remove("0")
			remove("400")
			put("1", 9)
			put("401", 9)
			put("new", 9)
		case 450: // more changes than one catch-up step handles
			for i := 150; i < 400; i++ {
				put(fmt.Sprint(i), 9)
			}
		}
	}
	delete(want, "0")
	delete(want, "400")
	for _, id := range []string{"1", "401", "new"} {
		want[id] = 9
	}
	for i := 150; i < 400; i++ {
		want[fmt.Sprint(i)] = 9
	}
	_, err := x.Rebuild(ctx, objectsOf(all, write), maintain.Options{Rate: 1e6})
	fail(err)
	// The other index already has these writes: reset it for its own rebuild.
	for i := range 500 {
		put(fmt.Sprint(i), 1)
	}
	remove("new")
	_, err = y.Rebuild(ctx, objectsOf(numbers, write), maintain.Options{Rate: 1e6})
	fail(err)
	for _, e := range list(t, y.Select(ctx, Page{})) {
		if want[e.ID] != e.Number {
			t.Errorf("numeric: %s is %d, expected %d", e.ID, e.Number, want[e.ID])
		}
	}
	if n, err := y.Len(ctx); err != nil || int(n) != len(want) {
		t.Errorf("numeric: %d entries, expected %d, %v", n, len(want), err)
	}
	// The first index also has the writes made during the rebuild of y.
	_, err = x.Rebuild(ctx, objectsOf(all, write), maintain.Options{Rate: 1e6})
	fail(err)
	for _, e := range list(t, x.Select(ctx, Page{})) {
		if int64(want[e.ID]) != e.Values[0] {
			t.Errorf("composite: %s is %v, expected %d", e.ID, e.Values, want[e.ID])
		}
	}
	if n, err := x.Len(ctx); err != nil || int(n) != len(want) {
		t.Errorf("composite: %d entries, expected %d, %v", n, len(want), err)
	}
	healthy(t, x.Verify)
}

// A rebuild catches up with continuous writes at full speed.
func TestRebuildCatchesUp(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	x := composite(t, server.Client(t), "busy", Options{Columns: columns(t, "a:int")})
	writing, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 3 {
		y := composite(t, server.Client(t), "busy", x.opt)
		all.Go(func() {
			// The error only reports the cancellation.
			_, _ = y.PutMany(writing, func(yield func(Entry) bool) {
				for writing.Err() == nil && yield(Entry{ID: fmt.Sprint(rand.IntN(1_000_000)), Values: []any{1}}) {
				}
			})
		})
	}
	ctx := t.Context()
	for n := int64(0); n < 10_000 && ctx.Err() == nil; n, _ = x.Len(ctx) {
	}
	_, err := x.Rebuild(ctx, objectsOf([]Object[[]any]{{ID: "a", Value: []any{1}}}, func(int) {}), maintain.Options{})
	stop()
	all.Wait()
	require.OK(t)(err)
	healthy(t, x.Verify)
}

// A writer writes an object and its entry after a repair has read the object and before it
// corrects the entry.
func TestRepairYieldsToWriters(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "yields", 1)
	y := numeric[int](t, "yields", NumericOptions{})
	ctx := t.Context()
	for _, id := range []string{"x", "y"} {
		o.put(id, 1)
		require.OK(t)(y.Put(ctx, id, 1))
	}
	// According to the objects both entries are wrong.
	ages := map[string]int{"x": 2, "y": 3}
	calls := 0
	lookup := func(ids []string, write func()) map[string]int {
		found := map[string]int{}
		for _, id := range ids {
			if age, ok := ages[id]; ok {
				found[id] = age
			}
		}
		// The first call is for the comparison, the next one for the correction.
		if calls++; calls == 2 {
			ages["x"] = 77
			write()
		}
		return found
	}
	src := Source[[]any]{
		All: func(context.Context) iter.Seq2[Object[[]any], error] {
			return func(yield func(Object[[]any], error) bool) {
				_ = yield(Object[[]any]{ID: "x", Value: []any{2}}, nil) && yield(Object[[]any]{ID: "y", Value: []any{3}}, nil)
			}
		},
		Lookup: func(_ context.Context, ids []string) (all []Object[[]any], _ error) {
			for id, age := range lookup(ids, func() { o.put("x", 77); o.put("y", 1) }) {
				all = append(all, Object[[]any]{ID: id, Value: []any{age}})
			}
			return all, nil
		},
	}
	if r, err := o.index.Repair(ctx, &src, maintain.Options{}); err != nil || r.Repaired != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for id, want := range map[string]int64{"x": 77, "y": 3} {
		if e, err := o.index.Get(ctx, id); err != nil || e.Values[0] != want {
			t.Errorf("%s is %v, %v, expected %d", id, e.Values, err, want)
		}
	}

	calls, ages["x"] = 0, 2
	numbers := Source[int]{
		All: func(context.Context) iter.Seq2[Object[int], error] {
			return func(yield func(Object[int], error) bool) {
				_ = yield(Object[int]{ID: "x", Value: 2}, nil) && yield(Object[int]{ID: "y", Value: 3}, nil)
			}
		},
		Lookup: func(_ context.Context, ids []string) (all []Object[int], err error) {
			found := lookup(ids, func() { err = cmp.Or(y.Put(ctx, "x", 77), y.Put(ctx, "y", 1)) })
			for id, age := range found {
				all = append(all, Object[int]{ID: id, Value: age})
			}
			return all, err
		},
	}
	if r, err := y.Repair(ctx, &numbers, maintain.Options{}); err != nil || r.Repaired != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for id, want := range map[string]int{"x": 77, "y": 3} {
		if e, err := y.Get(ctx, id); err != nil || e.Number != want {
			t.Errorf("%s is %v, %v, expected %d", id, e.Number, err, want)
		}
	}
}

// An entry corrected by a concurrent write is not changed.
func TestRepairComparesAgain(t *testing.T) {
	t.Parallel()
	x := composite(t, client(t), "again", Options{Columns: columns(t, "age:int")})
	ctx := t.Context()
	require.OK(t)(x.Put(ctx, "1", 5))
	right, err := x.member("1", []any{5})
	require.OK(t)(err)
	old, err := x.member("1", []any{4})
	require.OK(t)(err)
	todo := []string{
		"drop", "1", right, // now the right entry of its id
		"restore", "1", old, // no longer in the reverse index
		"forget", "1", old, // the reverse index has another member
		"restore", "2", right, // the id has no entry
	}
	n, err := x.entries.Scripts.Repair.Run(ctx, x.entries.Set.Client, x.entries.Set.Keys[0].All(), append(x.entries.Set.Args(), todo...)).AsInt64()
	if err != nil || n != 0 {
		t.Fatal(n, err)
	}
	if got := ids(list(t, x.Select(ctx, Page{}))); got != "1" {
		t.Fatal(got)
	}
	healthy(t, x.Verify)
}
