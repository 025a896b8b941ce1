package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// Concurrent writes of the same ids leave a consistent index with one entry per id.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	server := redistest.One(t)
	x := composite(t, server.Client(t), "many", Options{Columns: columns(t, "a:int,b:string")})
	var writers sync.WaitGroup
	for w := range 6 {
		c := server.Client(t)
		writers.Go(func() {
			own := composite(t, c, "many", Options{Columns: columns(t, "a:int,b:string")})
			random := rand.New(rand.NewPCG(2, uint64(w)))
			for range 150 {
				id := fmt.Sprint(random.IntN(20))
				var err error
				switch random.IntN(3) {
				case 0:
					_, err = own.Remove(t.Context(), id)
				case 1:
					err = own.Put(t.Context(), id, random.IntN(10), "b")
				case 2:
					_, err = own.PutMany(t.Context(), func(yield func(Entry) bool) {
						for range 30 {
							if !yield(Entry{ID: fmt.Sprint(random.IntN(20)), Values: []any{random.IntN(10), "many"}}) {
								return
							}
						}
					})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	healthy(t, x.Verify)
	seen := map[string]bool{}
	for _, e := range list(t, x.Select(t.Context(), Page{})) {
		if seen[e.ID] {
			t.Errorf("%s has two entries", e.ID)
		}
		seen[e.ID] = true
	}
}

// Pages that are read during concurrent writes contain each unchanged entry exactly once.
func TestPagingWhileWriting(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "paging", 2)
	for i := range 300 {
		o.put(fmt.Sprint("stay", i), i%50)
	}
	stop := o.write("go")
	for _, reverse := range []bool{false, true} {
		seen := map[string]int{}
		page := Page{Limit: 7, Reverse: reverse}
		for {
			part := list(t, o.index.Select(t.Context(), page))
			for _, e := range part {
				if strings.HasPrefix(e.ID, "stay") {
					seen[e.ID]++
				}
			}
			if len(part) == 0 {
				break
			}
			page.After = part[len(part)-1].Cursor()
		}
		if len(seen) != 300 {
			t.Errorf("saw %d entries, want 300", len(seen))
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("saw %s %d times, want once", id, n)
			}
		}
	}
	stop()
}

// damage damages the index, and returns the number of problems of each kind that Verify must
// report.
func (o *objects) damage() (missing, stale, dangling int64) {
	index, content := o.index.Key(), o.index.Key()+".content"
	member := func(id string) string {
		m, err := o.client.Do(o.t.Context(), o.client.B().Hget().Key(content).Field(id).Build()).ToString()
		if err != nil {
			o.t.Fatal(err)
		}
		return m
	}
	moved, err := o.index.member("still3", []any{99})
	if err != nil {
		o.t.Fatal(err)
	}
	o.do("ZREM", index, member("still0"))             // entry removed: missing
	o.do("ZADD", index, "7", member("still1"))        // score changed: stale
	o.do("ZADD", index, "0", "junk")                  // unreadable entry added: dangling
	o.do("ZADD", index, "0", strings.Repeat("j", 9))  // entry with the ID j added: dangling
	o.do("ZREM", index, member("still3"))             // entry with another value: missing
	o.do("ZADD", index, "0", moved)                   // … and stale
	o.do("HDEL", content, "still4")                   // removed from the reverse index: missing, and missing for the object
	o.do("HSET", content, "still5", "nonsense")       // invalid in the reverse index: dangling; entry stale; stale for the object
	o.do("HSET", content, "nobody", member("still6")) // the entry of another id: dangling
	o.do("DEL", o.key("still7"))                      // object removed: dangling
	o.do("HSET", o.key("still8"), "age", "77")        // object changed without its entry: stale
	o.do("HSET", o.key("new"), "age", "5")            // object without an entry: missing
	return 5, 5, 5
}

// Repair finds and corrects all damage during concurrent writes.
func TestRepair(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "repair", 1)
	for i := range 500 {
		o.put(fmt.Sprint("still", i), i%90)
	}
	if r := o.verify(); r.Problems() != 0 || r.Checked != 1000 {
		t.Fatalf("Verify before the damage: %+v, want no problems and 1000 checked", r)
	}
	missing, stale, dangling := o.damage()
	if r := o.verify(); r.Missing != missing || r.Stale != stale || r.Dangling != dangling || len(r.Examples) != 10 {
		t.Fatalf("Verify: %+v, want %d missing, %d stale, %d dangling", r, missing, stale, dangling)
	}
	stop := o.write("go")
	// One problem of an entry can hide a second problem.
	for range 2 {
		if r, err := o.index.Repair(t.Context(), &o.source, maintain.Options{}); err != nil {
			t.Fatalf("Repair: %+v, %v", r, err)
		}
	}
	stop()
	if r := o.verify(); r.Problems() != 0 {
		t.Fatalf("Verify after Repair: %+v", r)
	}
	for id, age := range map[string]int64{"still0": 0, "still3": 3, "still4": 4, "still5": 5, "still8": 77, "new": 5} {
		if e, err := o.index.Get(t.Context(), id); err != nil || e.Values[0] != age {
			t.Errorf("%s: %v, %v, want %d", id, e.Values, err, age)
		}
	}
	if _, err := o.index.Get(t.Context(), "still7"); !errors.Is(err, ErrNotFound) {
		t.Errorf("still7: %v, want ErrNotFound", err)
	}
	if state, _ := o.client.Do(t.Context(), o.client.B().Hget().Key("repair.meta").Field("rebuild").Build()).ToString(); state != "" {
		t.Errorf("writers still track changes for %q", state)
	}
}

// Without a source, Repair makes the entries match the reverse index.
func TestRepairWithoutSource(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "alone", 1)
	for i := range 100 {
		o.put(fmt.Sprint("still", i), i%90)
	}
	o.damage()
	if r, err := o.index.Repair(t.Context(), nil, maintain.Options{}); err != nil || r.Repaired != r.Problems() || r.Problems() == 0 {
		t.Fatalf("Repair: %+v, %v, want all problems repaired", r, err)
	}
	healthy(t, o.index.Verify)
	if _, err := o.index.Repair(t.Context(), &Source[[]any]{All: o.source.All}, maintain.Options{}); err == nil || !strings.Contains(err.Error(), "Lookup") {
		t.Fatalf("Repair with a source without Lookup: %v", err)
	}
}

// Verify and Repair report an object that the index cannot hold. Rebuild fails, because the object
// would lose its entry.
func TestInvalidObjects(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "invalid", 1)
	for i := range 5 {
		o.put(fmt.Sprint(i), i)
	}
	o.do("HSET", o.key("1"), "age", "old")
	o.do("HSET", o.key("never"), "age", "young")
	o.do("HSET", o.key("2"), "age", "22")
	for range 2 {
		r := o.verify()
		if r.Invalid != 2 || r.Dangling != 0 || r.Missing != 0 || r.Checked != 11 {
			t.Fatalf("Verify: %+v, want 2 invalid, 11 checked", r)
		}
		if r, err := o.index.Repair(t.Context(), &o.source, maintain.Options{}); err != nil || r.Invalid != 2 {
			t.Fatalf("Repair: %+v, %v, want 2 invalid", r, err)
		}
	}
	for id, age := range map[string]int64{"1": 1, "2": 22} {
		if e, err := o.index.Get(t.Context(), id); err != nil || e.Values[0] != age {
			t.Errorf("%s: %v, %v, want %d", id, e.Values, err, age)
		}
	}
	if _, err := o.index.Rebuild(t.Context(), o.source, maintain.Options{}); err == nil || !strings.Contains(err.Error(), "is not an integer") {
		t.Errorf("Rebuild: %v, want an error for the invalid object", err)
	}
}

// Verify and Repair with a source check every entry and object of every partition once, and
// report progress after each step.
func TestProgress(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "goes", 3)
	for i := range 1500 {
		o.put(fmt.Sprint(i), i%90)
	}
	steps := 0
	opt := maintain.Options{Rate: 1e6, Progress: func(p maintain.Progress) {
		if steps++; p.Total != 1500 {
			t.Errorf("progress %+v, want a total of 1500", p)
		}
	}}
	for _, run := range []func(context.Context, *Source[[]any], maintain.Options) (maintain.Report, error){o.index.Verify, o.index.Repair} {
		if r, err := run(t.Context(), &o.source, opt); err != nil || r.Problems() != 0 || r.Checked != 3000 {
			t.Errorf("%+v, %v, want no problems and 3000 checked", r, err)
		}
	}
	if steps < 20 {
		t.Errorf("%d progress reports, want at least 20", steps)
	}
}

// A refused write creates no keys in partitions that the index does not have.
func TestRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	x := composite(t, c, "spread", Options{Columns: columns(t, "age:int")})
	n, err := NewNumeric[int](c, "numbers", NumericOptions{})
	if err == nil {
		err = cmp.Or(x.Put(ctx, "1", 1), n.Put(ctx, "1", 1))
	}
	require.OK(t)(err)
	y := composite(t, c, "spread", Options{Columns: columns(t, "age:int"), Partitions: 2})
	source := objectsOf([]Object[[]any]{{ID: "1", Value: []any{1}}}, func(int) {})
	source.Lookup = func(context.Context, []string) ([]Object[[]any], error) { return nil, nil }
	if _, err := y.Rebuild(ctx, source, maintain.Options{}); !isErr(err, ErrDeclared) {
		t.Errorf("Rebuild: %v, want ErrDeclared", err)
	}
	if _, err := y.Repair(ctx, &source, maintain.Options{}); !isErr(err, ErrDeclared) {
		t.Errorf("Repair: %v, want ErrDeclared", err)
	}
	m, err := NewNumeric[int](c, "numbers", NumericOptions{Partitions: 2})
	require.OK(t)(err)
	if _, err := m.Remove(ctx, "1"); !isErr(err, ErrDeclared) {
		t.Errorf("Remove: %v, want ErrDeclared", err)
	}
	left, err := c.Do(ctx, c.B().Keys().Pattern("{*").Build()).AsStrSlice()
	if err != nil || len(left) != 0 {
		t.Fatalf("keys of partitions: %q, %v, want none", left, err)
	}
}

// If a repair cannot start in one partition, the repair ends in the other partitions.
func TestRepairFailsInOnePartition(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "half", 2)
	for i := range 10 {
		o.put(fmt.Sprint(i), i)
	}
	o.do("HSET", "{half.1}.meta", "declaration", "something else")
	if _, err := o.index.Repair(t.Context(), &o.source, maintain.Options{}); !isErr(err, ErrDeclared) {
		t.Fatalf("Repair: %v, want ErrDeclared", err)
	}
	n, err := o.client.Do(t.Context(), o.client.B().Hexists().Key("{half.0}.meta").Field("rebuild").Build()).AsInt64()
	if err != nil || n != 0 {
		t.Fatalf("writers still track changes for the repair: %d, %v", n, err)
	}
}
