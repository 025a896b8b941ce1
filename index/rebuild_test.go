package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	engine "retwis/internal/maintain"
	"retwis/internal/require"
	"retwis/maintain"
)

// A rebuild during concurrent writes loses no entry.
func TestRebuild(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		o := newObjects(t, client(t), "rebuild", partitions)
		for i := range 2000 {
			o.put(fmt.Sprint("still", i), i%90)
		}
		if partitions == 1 {
			o.damage()
		}
		stop := o.write("go")
		var steps []maintain.Progress
		r, err := o.index.Rebuild(t.Context(), o.source, maintain.Options{Progress: func(p maintain.Progress) { steps = append(steps, p) }})
		stop()
		if err != nil || r.Checked < 2000 || len(steps) < 2 {
			t.Fatalf("Rebuild: %+v, %v, %d progress reports", r, err, len(steps))
		}
		if r := o.verify(); r.Problems() != 0 {
			t.Fatalf("Verify after Rebuild: %+v", r)
		}
	}
}

// A rebuild that is interrupted, or whose source fails, leaves no keys behind.
func TestInterruptedRebuildLeavesNothing(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "cut", 2)
	for i := range 1000 {
		o.put(fmt.Sprint(i), i%90)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := o.index.Rebuild(ctx, o.source, maintain.Options{Rate: 1e6, Progress: func(maintain.Progress) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted rebuild: %v, want context.Canceled", err)
	}
	keys := []string{"cut.meta", "{cut.0}", "{cut.0}.content", "{cut.0}.meta", "{cut.1}", "{cut.1}.content", "{cut.1}.meta"}
	o.put("0", 50)
	o.wantKeys(keys...)

	errSource := errors.New("wrong")
	failing := Source[[]any]{All: func(context.Context) iter.Seq2[Object[[]any], error] {
		return func(yield func(Object[[]any], error) bool) {
			_ = yield(Object[[]any]{ID: "1", Value: []any{1}}, nil) && yield(Object[[]any]{}, errSource)
		}
	}}
	require.Fails(t, errSource)(o.index.Rebuild(t.Context(), failing, maintain.Options{}))
	o.put("1", 50)
	o.wantKeys(keys...)
	n, err := NewNumeric[int](o.client, "number", NumericOptions{})
	if err == nil {
		err = n.Put(t.Context(), "1", 1)
	}
	require.OK(t)(err)
	if _, err := n.Rebuild(t.Context(), Source[int]{All: func(context.Context) iter.Seq2[Object[int], error] {
		return func(yield func(Object[int], error) bool) {
			_ = yield(Object[int]{ID: "1", Value: 1}, nil) && yield(Object[int]{}, errSource)
		}
	}}, maintain.Options{}); !errors.Is(err, errSource) {
		t.Fatalf("Numeric.Rebuild: %v, want %v", err, errSource)
	}
	require.OK(t)(n.Put(t.Context(), "2", 2))
	o.wantKeys(append([]string{"cut.meta", "number", "number.meta"}, keys[1:]...)...)
	if r := o.verify(); r.Problems() != 0 {
		t.Fatalf("Verify: %+v, want no problems", r)
	}
}

// Verify reports the leftovers of a killed rebuild. The first write, Repair or Rebuild after the
// lease of the killed rebuild removes the leftovers.
func TestKilledRebuild(t *testing.T) {
	t.Parallel()
	for name, cleanUp := range map[string]func(*objects) error{
		"put":    func(o *objects) error { return o.index.Put(t.Context(), "new", 3) },
		"remove": func(o *objects) error { _, err := o.index.Remove(t.Context(), "1"); return err },
		"repair": func(o *objects) error { o.repairWithoutSource(); return nil },
		"rebuild": func(o *objects) error {
			_, err := o.index.Rebuild(t.Context(), o.source, maintain.Options{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newObjects(t, client(t), "killed", 1)
			for i := range 100 {
				o.put(fmt.Sprint(i), i%90)
			}
			// The steps of a rebuild until it is killed.
			x, run := o.index.entries, "name of the run"
			require.OK(t)(x.Tracker.Begin(t.Context(), run))
			m, err := o.index.member("7", []any{7})
			require.OK(t)(err)
			fill := func() error {
				args := append(append(x.Set.Args(), run), "7", m)
				return engine.Replaced(x.Scripts.Fill.Run(t.Context(), x.Set.Client, x.Set.Keys[0].All(), args).Error())
			}
			require.OK(t)(fill())
			o.put("8", 9)
			o.wantKeys("killed", "killed.changed", "killed.content", "killed.meta", "killed.next", "killed.next.content")
			if r := o.verifyWithoutSource(); r.Problems() != 0 {
				t.Fatalf("Verify before the lease expires: %+v", r)
			}
			o.do("HSET", "killed.meta", "until", "1") // the lease has expired
			if err := fill(); !errors.Is(err, maintain.ErrReplaced) {
				t.Fatalf("fill after the lease: %v, want ErrReplaced: writes may not have been tracked", err)
			}
			if r := o.verifyWithoutSource(); r.Dangling != 1 || !strings.Contains(r.Examples[0].Found, "entries in killed.next: 1, ids in killed.changed: 1") {
				t.Fatalf("Verify after the lease: %+v, want 1 dangling", r)
			}
			require.OK(t)(cleanUp(o))
			o.wantKeys("killed", "killed.content", "killed.meta")
			if state := o.text("HGET", "killed.meta", "rebuild"); state != "" {
				t.Errorf("writers still track changes for %q", state)
			}
			if r := o.verifyWithoutSource(); r.Problems() != 0 {
				t.Fatalf("Verify after %s: %+v", name, r)
			}
		})
	}
}

// Verify also reports the leftovers of a killed rebuild of a Numeric, and Put removes them.
func TestKilledNumericRebuild(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "none", 1)
	ctx := t.Context()
	x, err := NewNumeric[int](o.client, "number", NumericOptions{})
	if err == nil {
		err = x.Put(ctx, "1", 1)
	}
	if err == nil {
		err = x.entries.Tracker.Begin(ctx, "killed")
	}
	if err == nil {
		err = x.Put(ctx, "1", 1)
	}
	require.OK(t)(err)
	o.wantKeys("number", "number.changed", "number.meta")
	o.do("HSET", "number.meta", "until", "1") // the lease has expired
	source := objectsOf([]Object[int]{{ID: "1", Value: 1}}, func(int) {})
	if r, err := x.Verify(ctx, &source, maintain.Options{}); err != nil || r.Dangling != 1 || r.Problems() != 1 {
		t.Fatalf("Verify: %+v, %v, want 1 dangling", r, err)
	}
	require.OK(t)(x.Put(ctx, "2", 2))
	o.wantKeys("number", "number.meta")
}

// A rebuild with a slow source renews its lease.
func TestSlowRebuildRenewsLease(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "slow", 1)
	o.put("1", 1)
	o.index.entries.Set.Lease = 10 * time.Second
	slow := Source[[]any]{All: func(ctx context.Context) iter.Seq2[Object[[]any], error] {
		return func(yield func(Object[[]any], error) bool) {
			for first := o.text("HGET", "slow.meta", "until"); o.text("HGET", "slow.meta", "until") == first; {
				if err := o.index.Put(ctx, "2", 2); err != nil {
					t.Error(err)
					return
				}
			}
			o.source.All(ctx)(yield)
		}
	}}
	require.OK(t)(o.index.Rebuild(t.Context(), slow, maintain.Options{}))
	if e, err := o.index.Get(t.Context(), "2"); err != nil || e.Values[0] != int64(2) {
		t.Fatalf("Get: %v, %v, want 2", e, err)
	}
}

// The later of two concurrent rebuilds replaces the earlier rebuild.
func TestRebuildTwice(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "twice", 1)
	for i := range 100 {
		o.put(fmt.Sprint(i), i)
	}
	second := false
	source := Source[[]any]{All: func(ctx context.Context) iter.Seq2[Object[[]any], error] {
		if !second {
			second = true
			if _, err := o.index.Rebuild(ctx, o.source, maintain.Options{}); err != nil {
				t.Error(err)
			}
		}
		return o.source.All(ctx)
	}}
	require.Fails(t, maintain.ErrReplaced)(o.index.Rebuild(t.Context(), source, maintain.Options{}))
	if r := o.verify(); r.Problems() != 0 {
		t.Fatalf("Verify: %+v, want no problems", r)
	}
}
