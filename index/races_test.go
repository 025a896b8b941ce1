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

// The tests in this file write during the critical step of another operation.

// objectsOf returns a source of objects that calls before(i) before it yields object i.
func objectsOf[V any](objects []Object[V], before func(i int)) Source[V] {
	return Source[V]{All: func(context.Context) iter.Seq2[Object[V], error] {
		return func(yield func(Object[V], error) bool) {
			for i, o := range objects {
				before(i)
				if !yield(o, nil) {
					return
				}
			}
		}
	}}
}

// A write during a rebuild overrides the source, whether the source yields the ID before or after
// the write.
func TestRebuildKeepsWrites(t *testing.T) {
	t.Parallel()
	x := composite(t, client(t), "keeps", Options{Columns: columns(t, "age:int")})
	y := numeric[int](t, "keeps", NumericOptions{})
	ctx := t.Context()
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	put := func(id string, age int) { check(x.Put(ctx, id, age)); check(y.Put(ctx, id, age)) }
	remove := func(id string) {
		_, err := x.Remove(ctx, id)
		check(err)
		_, err = y.Remove(ctx, id)
		check(err)
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
	object("7", 5) // the source yields 7 twice: the last value counts
	want["7"] = 5
	write := func(i int) {
		switch i {
		case 100: // IDs that the source has yielded, and IDs that it has not
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
	check(err)
	// write has also changed y: reset y for its own rebuild.
	for i := range 500 {
		put(fmt.Sprint(i), 1)
	}
	remove("new")
	_, err = y.Rebuild(ctx, objectsOf(numbers, write), maintain.Options{Rate: 1e6})
	check(err)
	for _, e := range list(t, y.Select(ctx, Page{})) {
		if want[e.ID] != e.Number {
			t.Errorf("numeric: %s is %d, want %d", e.ID, e.Number, want[e.ID])
		}
	}
	if n, err := y.Len(ctx); err != nil || int(n) != len(want) {
		t.Errorf("numeric: %d entries, want %d, %v", n, len(want), err)
	}
	// write has also changed x during the rebuild of y.
	_, err = x.Rebuild(ctx, objectsOf(all, write), maintain.Options{Rate: 1e6})
	check(err)
	for _, e := range list(t, x.Select(ctx, Page{})) {
		if int64(want[e.ID]) != e.Values[0] {
			t.Errorf("composite: %s is %v, want %d", e.ID, e.Values, want[e.ID])
		}
	}
	if n, err := x.Len(ctx); err != nil || int(n) != len(want) {
		t.Errorf("composite: %d entries, want %d, %v", n, len(want), err)
	}
	healthy(t, x.Verify)
}

// A rebuild catches up with continuous writes at full speed.
func TestRebuildCatchesUp(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	x := composite(t, server.Client(t), "busy", Options{Columns: columns(t, "a:int")})
	writing, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for range 3 {
		y := composite(t, server.Client(t), "busy", x.opt)
		writers.Go(func() {
			// The error reports the cancellation.
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
	writers.Wait()
	require.OK(t)(err)
	healthy(t, x.Verify)
}

// Repair does not overwrite an entry that a writer changes after Repair has read its object.
func TestRepairYieldsToWriters(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "yields", 1)
	y := numeric[int](t, "yields", NumericOptions{})
	ctx := t.Context()
	for _, id := range []string{"x", "y"} {
		o.put(id, 1)
		require.OK(t)(y.Put(ctx, id, 1))
	}
	// Both entries differ from their objects.
	ages := map[string]int{"x": 2, "y": 3}
	calls := 0
	lookup := func(ids []string, write func()) map[string]int {
		found := map[string]int{}
		for _, id := range ids {
			if age, ok := ages[id]; ok {
				found[id] = age
			}
		}
		// The first call is for the comparison, the second call for the correction.
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
		t.Fatalf("Repair: %+v, %v, want 1 repaired", r, err)
	}
	for id, want := range map[string]int64{"x": 77, "y": 3} {
		if e, err := o.index.Get(ctx, id); err != nil || e.Values[0] != want {
			t.Errorf("%s is %v, %v, want %d", id, e.Values, err, want)
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
		t.Fatalf("Repair: %+v, %v, want 1 repaired", r, err)
	}
	for id, want := range map[string]int{"x": 77, "y": 3} {
		if e, err := y.Get(ctx, id); err != nil || e.Number != want {
			t.Errorf("%s is %v, %v, want %d", id, e.Number, err, want)
		}
	}
}

// Repair does not change an entry that a concurrent write has corrected.
func TestRepairComparesAgain(t *testing.T) {
	t.Parallel()
	x := composite(t, client(t), "again", Options{Columns: columns(t, "age:int")})
	ctx := t.Context()
	require.OK(t)(x.Put(ctx, "1", 5))
	current, err := x.member("1", []any{5})
	require.OK(t)(err)
	outdated, err := x.member("1", []any{4})
	require.OK(t)(err)
	actions := []string{
		"drop", "1", current, // the current entry of the ID
		"restore", "1", outdated, // no longer in the reverse index
		"forget", "1", outdated, // the reverse index has another member
		"restore", "2", current, // not in the reverse index
	}
	n, err := x.entries.Scripts.Repair.Run(ctx, x.entries.Set.Client, x.entries.Set.Keys[0].All(), append(x.entries.Set.Args(), actions...)).AsInt64()
	if err != nil || n != 0 {
		t.Fatalf("Repair changed %d entries, %v, want 0", n, err)
	}
	if got := ids(list(t, x.Select(ctx, Page{}))); got != "1" {
		t.Fatalf("entries %q, want %q", got, "1")
	}
	healthy(t, x.Verify)
}
