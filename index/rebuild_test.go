package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
)

// An index is made anew while others read and write, and they lose nothing.
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
		var told []Progress
		r, err := o.index.Rebuild(t.Context(), o.source, Upkeep{Progress: func(p Progress) { told = append(told, p) }})
		stop()
		if err != nil || r.Checked < 2000 || len(told) < 2 {
			t.Fatalf("%+v, %v, %d steps", r, err, len(told))
		}
		if r := o.verify(); r.Problems() != 0 {
			t.Fatalf("after: %+v", r)
		}
	}
}

// A rebuild that was cut short harms nothing, and goes on from where it was.
func TestRebuildCutShort(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "cut", 1)
	for i := range 1000 {
		o.put(fmt.Sprint(i), i%90)
	}
	o.do("ZADD", "cut", "0", "junk")
	ctx, cancel := context.WithCancel(t.Context())
	cursor := ""
	_, err := o.index.Rebuild(ctx, o.source, Upkeep{Rate: 1e6, Progress: func(p Progress) {
		if p.Cursor != "" && p.Checked >= 400 {
			cursor = p.Cursor
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || cursor == "" {
		t.Fatalf("%v at %q", err, cursor)
	}
	// Meanwhile others go on.
	o.put("0", 50)
	o.remove("1")
	o.put("new", 3)
	if n, err := o.index.Len(t.Context()); err != nil || n != 1001 {
		t.Fatal(n, err)
	}
	r, err := o.index.Rebuild(t.Context(), o.source, Upkeep{After: cursor})
	if err != nil || r.Checked >= 1000 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r := o.verify(); r.Problems() != 0 || r.Checked != 2000 {
		t.Fatalf("after: %+v", r)
	}
	if _, err := o.index.Rebuild(t.Context(), o.source, Upkeep{After: cursor}); !errors.Is(err, ErrReplaced) {
		t.Fatalf("from a cursor of a rebuild that has ended: %v", err)
	}
}

// Of two rebuilds at once the one that began last goes on.
func TestRebuildTwice(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "twice", 1)
	for i := range 100 {
		o.put(fmt.Sprint(i), i)
	}
	second := false
	source := Source[[]any]{Walk: func(ctx context.Context, after string) iter.Seq2[Object[[]any], error] {
		if !second {
			second = true
			if _, err := o.index.Rebuild(ctx, o.source, Upkeep{}); err != nil {
				t.Error(err)
			}
		}
		return o.source.Walk(ctx, after)
	}}
	if _, err := o.index.Rebuild(t.Context(), source, Upkeep{}); !errors.Is(err, ErrReplaced) {
		t.Fatal(err)
	}
	if r := o.verify(); r.Problems() != 0 {
		t.Fatalf("after: %+v", r)
	}
}
