package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

// objects are hashes person:ID with a field age, and an index of these.
type objects struct {
	t      testing.TB
	client rueidis.Client
	index  *Composite
	source Source[[]any]
}

func newObjects(t testing.TB, c rueidis.Client, key string, partitions int) *objects {
	o := &objects{t: t, client: c, index: composite(t, c, key, Options{Columns: columns(t, "age:int"), Partitions: partitions})}
	var err error
	o.source, err = Hashes(c, key+":person:*", o.index.Values)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *objects) key(id string) string { return o.index.Key() + ":person:" + id }

// put writes an object, then its entry.
func (o *objects) put(id string, age int) {
	if err := o.client.Do(o.t.Context(), o.client.B().Hset().Key(o.key(id)).FieldValue().FieldValue("age", strconv.Itoa(age)).Build()).Error(); err != nil {
		o.t.Error(err)
	}
	if err := o.index.Put(o.t.Context(), id, age); err != nil {
		o.t.Error(err)
	}
}

// remove removes an object, then its entry.
func (o *objects) remove(id string) {
	if err := o.client.Do(o.t.Context(), o.client.B().Del().Key(o.key(id)).Build()).Error(); err != nil {
		o.t.Error(err)
	}
	if _, err := o.index.Remove(o.t.Context(), id); err != nil {
		o.t.Error(err)
	}
}

func (o *objects) verify() Report {
	o.t.Helper()
	report, err := o.index.Verify(o.t.Context(), &o.source, Upkeep{})
	if err != nil {
		o.t.Fatal(err)
	}
	return report
}

func (o *objects) do(words ...string) {
	o.t.Helper()
	if err := o.client.Do(o.t.Context(), o.client.B().Arbitrary(words...).Build()).Error(); err != nil {
		o.t.Fatal(err)
	}
}

// write has many write the same few ids until stop is called: each id has one who
// writes it, so that its object and its entry end alike.
func (o *objects) write(prefix string) (stop func()) {
	ctx, cancel := context.WithCancel(o.t.Context())
	var all sync.WaitGroup
	var writes atomic.Int64
	for w := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for ctx.Err() == nil {
				id := prefix + fmt.Sprint(w, "-", random.IntN(25))
				if random.IntN(4) == 0 {
					o.remove(id)
				} else {
					o.put(id, random.IntN(100))
				}
				writes.Add(1)
			}
		})
	}
	return func() {
		for writes.Load() < 200 && !o.t.Failed() {
			select {
			case <-o.t.Context().Done():
			default:
				o.put(prefix+"more", 1)
			}
		}
		cancel()
		all.Wait()
	}
}

// Whoever writes the same ids from many connections leaves an index that agrees
// with itself, and one entry for each id.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	server := redistest.One(t)
	x := composite(t, server.Client(t), "many", Options{Columns: columns(t, "a:int,b:string")})
	var all sync.WaitGroup
	for w := range 6 {
		c := server.Client(t)
		all.Go(func() {
			mine := composite(t, c, "many", Options{Columns: columns(t, "a:int,b:string")})
			random := rand.New(rand.NewPCG(2, uint64(w)))
			for range 150 {
				id := fmt.Sprint(random.IntN(20))
				var err error
				switch random.IntN(3) {
				case 0:
					_, err = mine.Remove(t.Context(), id)
				case 1:
					err = mine.Put(t.Context(), id, random.IntN(10), "b")
				case 2:
					_, err = mine.PutMany(t.Context(), func(yield func(Entry) bool) {
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
	all.Wait()
	healthy(t, x.Verify)
	seen := map[string]bool{}
	for _, e := range list(t, x.Select(t.Context(), Page{})) {
		if seen[e.ID] {
			t.Errorf("%s is there twice", e.ID)
		}
		seen[e.ID] = true
	}
}

// A reader that pages while others write sees each entry that stayed once.
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
			t.Errorf("saw %d of 300", len(seen))
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("saw %s %d times", id, n)
			}
		}
	}
	stop()
}

// damage does by hand what an index would never do, and says how many problems
// that makes.
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
	o.do("ZREM", index, member("still0"))             // an entry that was lost: missing
	o.do("ZADD", index, "7", member("still1"))        // moved by its score: stale
	o.do("ZADD", index, "0", "junk")                  // added: dangling
	o.do("ZADD", index, "0", strings.Repeat("j", 9))  // added, as of an id j: dangling
	o.do("ZREM", index, member("still3"))             // moved: missing
	o.do("ZADD", index, "0", moved.Member)            // and stale
	o.do("HDEL", content, "still4")                   // without what is beside it: dangling, and missing for its object
	o.do("HSET", content, "still5", "nonsense")       // beside it nonsense: dangling; its entry stale; stale for its object
	o.do("HSET", content, "nobody", member("still6")) // beside it an entry of another: dangling
	o.do("DEL", o.key("still7"))                      // without an object: dangling
	o.do("HSET", o.key("still8"), "age", "77")        // an object that was changed behind its back: stale
	o.do("HSET", o.key("new"), "age", "5")            // an object that was never put: missing
	return 4, 5, 6
}

// What was damaged by hand is found and mended, all of it, while others write.
func TestRepair(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "repair", 1)
	for i := range 500 {
		o.put(fmt.Sprint("still", i), i%90)
	}
	if r := o.verify(); r.Problems() != 0 || r.Checked != 1000 {
		t.Fatalf("before: %+v", r)
	}
	missing, stale, dangling := o.damage()
	if r := o.verify(); r.Missing != missing || r.Stale != stale || r.Dangling != dangling || len(r.Examples) != 10 {
		t.Fatalf("%+v, expected %d missing, %d stale, %d dangling", r, missing, stale, dangling)
	}
	stop := o.write("go")
	// Problems of one entry can hide behind each other.
	for range 2 {
		if r, err := o.index.Repair(t.Context(), &o.source, Upkeep{}); err != nil {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	stop()
	if r := o.verify(); r.Problems() != 0 {
		t.Fatalf("after: %+v", r)
	}
	for id, age := range map[string]int64{"still0": 0, "still3": 3, "still4": 4, "still5": 5, "still8": 77, "new": 5} {
		if e, err := o.index.Get(t.Context(), id); err != nil || e.Values[0] != age {
			t.Errorf("%s: %v, %v, expected %d", id, e.Values, err, age)
		}
	}
	if _, err := o.index.Get(t.Context(), "still7"); !errors.Is(err, ErrNotFound) {
		t.Errorf("still7: %v", err)
	}
	if state, _ := o.client.Do(t.Context(), o.client.B().Hget().Key("repair.meta").Field("rebuild").Build()).ToString(); state != "" {
		t.Errorf("writers still note what they change: %q", state)
	}
}

// Without objects to compare with, what stands beside the index is right.
func TestRepairByItself(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "alone", 1)
	for i := range 100 {
		o.put(fmt.Sprint("still", i), i%90)
	}
	o.damage()
	if r, err := o.index.Repair(t.Context(), nil, Upkeep{}); err != nil || r.Repaired != r.Problems() || r.Problems() == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	healthy(t, o.index.Verify)
	// What an object says is for a repair that knows it.
	if _, err := o.index.Repair(t.Context(), &Source[[]any]{Walk: o.source.Walk}, Upkeep{}); err == nil || !strings.Contains(err.Error(), "Lookup") {
		t.Fatalf("without Lookup: %v", err)
	}
}

// An object that the index cannot hold is told of, and stops nothing but a rebuild,
// which would lose it.
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
			t.Fatalf("%+v", r)
		}
		if r, err := o.index.Repair(t.Context(), &o.source, Upkeep{}); err != nil || r.Invalid != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	for id, age := range map[string]int64{"1": 1, "2": 22} {
		if e, err := o.index.Get(t.Context(), id); err != nil || e.Values[0] != age {
			t.Errorf("%s: %v, %v", id, e.Values, err)
		}
	}
	if _, err := o.index.Rebuild(t.Context(), o.source, Upkeep{}); err == nil || !strings.Contains(err.Error(), "is not an integer") {
		t.Errorf("rebuild: %v", err)
	}
}

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

// A Verify that was cut short goes on from where it was, whatever part that was
// in.
func TestVerifyGoesOn(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "goes", 3)
	for i := range 1500 {
		o.put(fmt.Sprint(i), i%90)
	}
	var cursors []string
	whole, err := o.index.Verify(t.Context(), &o.source, Upkeep{Rate: 1e6, Progress: func(p Progress) { cursors = append(cursors, p.Cursor) }})
	if err != nil || whole.Checked != 3000 || len(cursors) < 10 {
		t.Fatalf("%+v, %v, %d cursors", whole, err, len(cursors))
	}
	for i, cursor := range cursors {
		rest, err := o.index.Verify(t.Context(), &o.source, Upkeep{After: cursor})
		if err != nil || rest.Problems() != 0 || rest.Checked > whole.Checked {
			t.Fatalf("from %q: %+v, %v", cursor, rest, err)
		}
		if last := i == len(cursors)-1; last && rest.Checked != 0 {
			t.Errorf("from the end, %q, it checked %d", cursor, rest.Checked)
		}
		if i > len(cursors)/2 && rest.Checked > whole.Checked*3/4 {
			t.Errorf("from %q of %d it checked %d", cursor, i, rest.Checked)
		}
	}
	for _, wrong := range []string{"nonsense", "content 0 x", "members 3 0"} {
		if _, err := o.index.Verify(t.Context(), nil, Upkeep{After: wrong}); err == nil {
			t.Errorf("the wrong cursor %q was taken", wrong)
		}
	}
	// Behind the last page of a partition comes the next: none is looked at again.
	cursors = nil
	whole, err = o.index.Verify(t.Context(), nil, Upkeep{Progress: func(p Progress) { cursors = append(cursors, p.Cursor) }})
	if err != nil {
		t.Fatal(err)
	}
	if rest, err := o.index.Verify(t.Context(), nil, Upkeep{After: cursors[len(cursors)-1]}); err != nil || rest.Checked != 0 {
		t.Fatalf("%+v, %v, from %q", rest, err, cursors[len(cursors)-1])
	}
	if !slices.Contains(cursors, "content 1 0") || !slices.Contains(cursors, "members 0 0") || slices.Contains(cursors, "content 0 0") {
		t.Errorf("%q", cursors)
	}
}

// What is refused leaves nothing behind in the partitions that an index does not
// have.
func TestRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	x := composite(t, c, "spread", Options{Columns: columns(t, "age:int")})
	n, err := NewNumeric[int](c, "numbers", NumericOptions{})
	if err == nil {
		err = cmpOr(x.Put(ctx, "1", 1), n.Put(ctx, "1", 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	y := composite(t, c, "spread", Options{Columns: columns(t, "age:int"), Partitions: 2})
	source := objectsOf([]Object[[]any]{{ID: "1", Value: []any{1}}}, func(int) {})
	source.Lookup = func(context.Context, []string) ([]Object[[]any], error) { return nil, nil }
	if _, err := y.Rebuild(ctx, source, Upkeep{}); !isErr(err, ErrDeclared) {
		t.Error(err)
	}
	if _, err := y.Repair(ctx, &source, Upkeep{}); !isErr(err, ErrDeclared) {
		t.Error(err)
	}
	m, err := NewNumeric[int](c, "numbers", NumericOptions{Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Remove(ctx, "1"); !isErr(err, ErrDeclared) {
		t.Error(err)
	}
	left, err := c.Do(ctx, c.B().Keys().Pattern("{*").Build()).AsStrSlice()
	if err != nil || len(left) != 0 {
		t.Fatal(left, err)
	}
}

// A repair that could not begin in every partition ends in those in which it did.
func TestRepairBeginsHalf(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "half", 2)
	for i := range 10 {
		o.put(fmt.Sprint(i), i)
	}
	o.do("HSET", "{half.1}.meta", "declaration", "something else")
	if _, err := o.index.Repair(t.Context(), &o.source, Upkeep{}); !isErr(err, ErrDeclared) {
		t.Fatal(err)
	}
	n, err := o.client.Do(t.Context(), o.client.B().Hexists().Key("{half.0}.meta").Field("rebuild").Build()).AsInt64()
	if err != nil || n != 0 {
		t.Fatal("writers would note what they change for ever", err)
	}
}

// What would fail in the middle of a walk is refused at once.
func TestHashesRefused(t *testing.T) {
	t.Parallel()
	value := func(string, map[string]string) (int, bool, error) { return 0, true, nil }
	for _, pattern := range []string{"", "room", "a*b*", "a?*", "[a]*"} {
		if _, err := Hashes(none{}, pattern, value); err == nil {
			t.Errorf("%q was taken", pattern)
		}
	}
	if _, err := Hashes(nil, "room:*", value); err == nil {
		t.Error("no client was taken")
	}
	if _, err := Hashes[int](none{}, "room:*", nil); err == nil {
		t.Error("no function was taken")
	}
}

// A key of another type is not an object: neither in the walk over all objects nor
// when some are looked up.
func TestOnlyHashesAreObjects(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "types", 1)
	for i := range 3 {
		o.put(fmt.Sprint(i), i)
	}
	o.do("DEL", o.key("1"))
	o.do("SET", o.key("1"), "a string")
	o.do("SADD", o.key("set"), "a member")
	if r := o.verify(); r.Dangling != 1 || r.Problems() != 1 {
		t.Fatalf("%+v", r)
	}
	if r, err := o.index.Repair(t.Context(), &o.source, Upkeep{}); err != nil || r.Repaired != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := Fetch(t.Context(), o.client, []string{"1"}, FetchOptions{Key: o.key}); err == nil {
		t.Error("Fetch says nothing of a string")
	}
}

// Read-repair: whoever finds an object gone takes its entry out.
func TestFetch(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "fetch", 1)
	for i := range 5 {
		o.put(fmt.Sprint(i), i)
	}
	o.do("DEL", o.key("2"))
	var gone []string
	found, err := Fetch(t.Context(), o.client, []string{"4", "2", "0", "none"}, FetchOptions{
		Key: o.key,
		Missing: func(ctx context.Context, ids []string) error {
			gone = ids
			_, err := o.index.Remove(ctx, ids...)
			return err
		},
	})
	if err != nil || len(found) != 2 || found[0].ID != "4" || found[1].Fields["age"] != "0" || strings.Join(gone, " ") != "2 none" {
		t.Fatalf("%+v, %v, gone %v", found, err, gone)
	}
	if r := o.verify(); r.Problems() != 0 {
		t.Fatalf("%+v", r)
	}
	// An entry that was put again meanwhile stays.
	e, err := o.index.Get(t.Context(), "3")
	if err != nil {
		t.Fatal(err)
	}
	o.put("3", 30)
	if n, err := o.index.RemoveExactly(t.Context(), e); err != nil || n != 0 {
		t.Fatal(n, err)
	}
	e, _ = o.index.Get(t.Context(), "3")
	if n, err := o.index.RemoveExactly(t.Context(), e); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	some, err := Fetch(t.Context(), o.client, []string{"4"}, FetchOptions{Key: o.key, Fields: []string{"age", "none"}})
	if err != nil || len(some) != 1 || len(some[0].Fields) != 1 {
		t.Fatalf("%+v, %v", some, err)
	}
	// A hash without the fields that are asked for is there all the same.
	gone = nil
	some, err = Fetch(t.Context(), o.client, []string{"none", "4", "2", "0"}, FetchOptions{
		Key: o.key, Fields: []string{"name"},
		Missing: func(_ context.Context, ids []string) error { gone = ids; return nil },
	})
	if err != nil || len(some) != 2 || some[0].ID != "4" || some[1].ID != "0" || len(some[0].Fields) != 0 || strings.Join(gone, " ") != "none 2" {
		t.Fatalf("%+v, %v, gone %v", some, err, gone)
	}
}
