package space

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

const plane = "x:int(0..1000),y:decimal(6)(-1..1)"

// write starts goroutines that move and remove the same few points. stop waits for 100 writes of
// each goroutine and stops them.
func write(t *testing.T, x *Index, prefix string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	enough := make(chan struct{}, 4)
	for w := range 4 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(5, uint64(w)))
			for n := 0; ctx.Err() == nil; n++ {
				var err error
				if id := fmt.Sprint(prefix, random.IntN(30)); random.IntN(4) == 0 {
					_, err = x.Remove(t.Context(), id)
				} else {
					err = x.Put(t.Context(), id, random.IntN(1001), float64(random.IntN(1000))/1000)
				}
				if err != nil {
					t.Error(err)
					enough <- struct{}{}
					return
				}
				if n == 100 {
					enough <- struct{}{}
				}
			}
		})
	}
	return func() {
		for range 4 {
			<-enough
		}
		cancel()
		writers.Wait()
	}
}

// Concurrent writes of the same points leave a consistent index. Pages that are read during the
// writes contain every other point exactly once.
func TestWritersAndPages(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), redistest.One(t)
	x := newIndex(t, server.Client(t), "pages", plane, Options{Partitions: 2})
	for i := range 400 {
		require.OK(t)(x.Put(ctx, fmt.Sprint("stay", i), i*31%1001, float64(i)/400))
	}
	stop := write(t, newIndex(t, server.Client(t), "pages", plane, Options{Partitions: 2}), "go")
	for _, reverse := range []bool{false, true} {
		seen := map[string]int{}
		for page := (index.Page{Limit: 7, Reverse: reverse}); ; {
			part := list(t, x.Select(ctx, Box{{0, 900}, {-0.5, 1}}, page))
			for _, e := range part {
				seen[e.ID]++
			}
			if len(part) < page.Limit {
				break
			}
			page.After = part[len(part)-1].Cursor()
		}
		for i := range 400 {
			want := 1
			if i*31%1001 > 900 {
				want = 0
			}
			if id := fmt.Sprint("stay", i); seen[id] != want {
				t.Errorf("saw %s %d times, want %d", id, seen[id], want)
			}
		}
	}
	stop()
	if r, err := x.Verify(ctx, nil, maintain.Options{}); err != nil || r.Problems() != 0 {
		t.Errorf("Verify: %+v, %v, want no problems", r, err)
	}
}

// A writer whose connection closes during a write leaves a consistent index.
func TestWriterKilled(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), redistest.Own(t)
	watcher := server.Client(t)
	x := newIndex(t, watcher, "killed", plane, Options{})
	for round := range 5 {
		c := server.Client(t)
		y := newIndex(t, c, "killed", plane, Options{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = y.PutMany(ctx, func(yield func(Entry) bool) {
				for i := range 50_000 {
					if !yield(Entry{ID: fmt.Sprint(i % 5000), Values: []any{(i + round) % 1001, 0.5}}) {
						return
					}
				}
			})
		}()
		for n := int64(0); n < int64(round)*900+1; {
			var err error
			if n, err = x.Len(ctx); err != nil {
				t.Fatal(err)
			}
			select {
			case <-done:
				n = 1 << 30
			default:
			}
		}
		c.Close()
		<-done
		if r, err := x.Verify(ctx, nil, maintain.Options{}); err != nil || r.Problems() != 0 {
			t.Fatalf("Verify: %+v, %v, want no problems", r, err)
		}
	}
}

// hashes returns a source of the objects of the points.
func hashes(t *testing.T, c rueidis.Client, x *Index) index.Source[[]any] {
	t.Helper()
	src, err := x.Hashes(x.Key() + ":point:*")
	require.OK(t)(err)
	return src
}

func do(t *testing.T, c rueidis.Client, args ...string) {
	t.Helper()
	require.OK(t)(c.Do(t.Context(), c.B().Arbitrary(args...).Build()).Error())
}

// Repair and Rebuild correct all damage during concurrent writes.
func TestRepairAndRebuild(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), redistest.DB(t).Client(t)
	for _, rebuild := range []bool{false, true} {
		x := newIndex(t, c, "repair"+strconv.FormatBool(rebuild), plane, Options{})
		object := func(i int) string { return fmt.Sprint(x.Key(), ":point:", i) }
		for i := range 300 {
			do(t, c, "HSET", object(i), "x", fmt.Sprint(i), "y", "0.25")
			require.OK(t)(x.Put(ctx, fmt.Sprint(i), i, 0.25))
		}
		src := hashes(t, c, x)
		if r, err := x.Verify(ctx, &src, maintain.Options{}); err != nil || r.Problems() != 0 {
			t.Fatalf("Verify before the damage: %+v, %v", r, err)
		}
		member := func(id string, values ...any) string {
			m, err := x.reader.points.member(id, values)
			require.OK(t)(err)
			return m
		}
		do(t, c, "ZREM", x.Key(), member("1", 1, 0.25))                                   // missing
		do(t, c, "ZADD", x.Key(), "1", member("2", 2, 0.25))                              // stale
		do(t, c, "ZADD", x.Key(), "0", member("3", 999, 0.25))                            // stale
		do(t, c, "ZADD", x.Key(), "0", strings.Repeat("\xff", x.reader.points.head)+"id") // dangling: outside every range
		do(t, c, "ZADD", x.Key(), "0", "short")                                           // dangling
		do(t, c, "HDEL", x.Key()+".content", "4")                                         // missing, and missing for the object
		do(t, c, "HSET", object(5), "x", "500")                                           // stale for the object
		do(t, c, "DEL", object(7))                                                        // dangling
		do(t, c, "HSET", object(1000), "x", "1000", "y", "1")                             // missing
		r, err := x.Verify(ctx, &src, maintain.Options{})
		if err != nil || r.Missing != 4 || r.Stale != 3 || r.Dangling != 3 {
			t.Errorf("Verify: %+v, %v, want 4 missing, 3 stale, 3 dangling", r, err)
		}
		stop := write(t, x, "go")
		if rebuild {
			_, err = x.Rebuild(ctx, src, maintain.Options{})
		} else {
			for range 2 {
				if _, err = x.Repair(ctx, &src, maintain.Options{}); err != nil {
					break
				}
			}
		}
		stop()
		require.OK(t)(err)
		for i := range 30 {
			require.OK(t)(x.Remove(ctx, fmt.Sprint("go", i)))
		}
		if r, err := x.Verify(ctx, &src, maintain.Options{}); err != nil || r.Problems() != 0 {
			t.Errorf("rebuild %v: Verify: %+v, %v, want no problems", rebuild, r, err)
		}
		if e, err := x.Get(ctx, "5"); err != nil || e.Values[0] != int64(500) {
			t.Errorf("Get: %v, %v, want 500", e, err)
		}
	}
}
