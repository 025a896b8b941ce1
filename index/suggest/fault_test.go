package suggest

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// words returns n terms, many of which share a prefix.
func words(n int) []string {
	r := rand.New(rand.NewPCG(7, 7))
	all := make([]string, n)
	for i := range all {
		for range 1 + r.IntN(8) {
			all[i] += string("aaabbc"[r.IntN(6)])
		}
		all[i] += fmt.Sprint(i)
	}
	return all
}

// counts returns the count of every term of an index, by name.
func counts(t *testing.T, x *Index) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for e, err := range x.All(t.Context(), "", index.Page{}) {
		require.OK(t)(err)
		all[e.Name] = e.Count
	}
	return all
}

// startWriters adds and removes terms over several connections until stop is called. stop returns
// the sum of the counts that were added to each term.
func startWriters(t *testing.T, url string, opt Options, terms []string) (stop func() map[string]int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var mu sync.Mutex
	added := map[string]int64{}
	for w := range 4 {
		client, err := rueidis.NewClient(rueidis.MustParseURL(url))
		require.OK(t)(err)
		x := small(open(t, client, "{words}", opt), 200)
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer client.Close()
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for ctx.Err() == nil {
				var list []Suggestion
				for range 1 + r.IntN(30) {
					list = append(list, Suggestion{Term: terms[r.IntN(len(terms))], Count: 1 + r.Int64N(9)})
				}
				removed := terms[r.IntN(len(terms)/2)]
				// The calls cannot be canceled, so that all counts are added.
				_, err := x.AddMany(context.WithoutCancel(ctx), slices.Values(list))
				if err == nil && r.IntN(3) == 0 {
					_, err = x.Remove(context.WithoutCancel(ctx), removed)
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, s := range list {
					added[s.Term] += s.Count
				}
				mu.Unlock()
			}
		}()
	}
	stop = func() map[string]int64 {
		cancel()
		wg.Wait()
		return added
	}
	t.Cleanup(func() { stop() })
	return stop
}

// checkLists compares completions with a scan of all terms.
func checkLists(t *testing.T, x *Index) {
	t.Helper()
	var all []Entry
	for e, err := range x.All(t.Context(), "", index.Page{}) {
		require.OK(t)(err)
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Compare(b.Count, a.Count) })
	for _, prefix := range []string{"", "a", "b", "c", "aa", "ab", "ba", "aaa", "aab", "abc", "aaaa", "aaaa1"} {
		for _, k := range []int{1, 3, 20} {
			var want []Suggestion
			for _, e := range all {
				if strings.HasPrefix(e.Name, prefix) && len(want) < k {
					want = append(want, e.Suggestion)
				}
			}
			expect(t, complete(t, x, prefix, k), show(want))
		}
	}
}

// Concurrent writers of the same terms leave exact counts and consistent keys.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			db := redistest.DB(t)
			opt := Options{Partitions: partitions}
			x := small(open(t, db.Client(t), "{words}", opt), 200)
			terms := words(redistest.Cases(250, 600))
			stop := startWriters(t, db.URL(), opt, terms)
			for range redistest.Cases(5, 30) {
				complete(t, x, "a", 3)
				// Despite concurrent writes, All yields no term twice.
				last := ""
				for e, err := range x.All(t.Context(), "", index.Page{}) {
					if err != nil || e.Name <= last {
						t.Fatalf("All yielded %v after %q, %v", e, last, err)
					}
					last = e.Name
				}
				verified(t, x)
			}
			added := stop()
			verified(t, x)
			checkLists(t, x)
			got := counts(t, x)
			for _, term := range terms[len(terms)/2:] { // writers never remove these terms
				if got[term] != added[term] {
					t.Fatalf("%s: got %d, want %d", term, got[term], added[term])
				}
			}
		})
	}
}

// cutter is a connection that closes once left bytes have been written.
type cutter struct {
	net.Conn
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		n, _ := c.Conn.Write(p[:c.left])
		c.left = 0
		return n, errors.Join(io.ErrClosedPipe, c.Conn.Close())
	}
	c.left -= len(p)
	return c.Conn.Write(p)
}

// A writer whose connection closes anywhere in a pipeline leaves a consistent index.
func TestWriterCutOff(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	x := open(t, db.Client(t), "words", Options{})
	terms := words(1000)
	addAll(t, x, terms[0])
	for i := range redistest.Cases(6, 12) {
		option := rueidis.MustParseURL(db.URL())
		limit := 2000 + i*4000
		option.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			c, err := d.DialContext(ctx, "unix", address)
			return &cutter{c, limit}, err
		}
		client, err := rueidis.NewClient(option)
		if err != nil {
			continue // closed at the start
		}
		y := open(t, client, "words", Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		for err == nil {
			var list []Suggestion
			for _, term := range terms {
				list = append(list, Suggestion{Term: term, Count: 1})
			}
			_, err = y.AddMany(ctx, slices.Values(list))
		}
		cancel()
		client.Close()
		verified(t, x)
	}
	if n, err := x.Len(t.Context()); err != nil || n == 0 {
		t.Fatalf("Len() = %d, %v, want terms", n, err)
	}
}

// damage returns commands that damage an index in different ways.
func damage() [][]string {
	return [][]string{
		{"ZADD", "{words}", "0", "aaa\t7\tNobody"},
		{"ZADD", "{words}", "0", "zzz\t7\tNobody"},
		{"ZADD", "{words}", "0", "nonsense"},
		{"ZADD", "{words}", "0", ""},
		{"ZADD", "{words}", "0", "a\xff"},
		{"ZADD", "{words}", "0", "\t1\tx"},
		{"ZADD", "{words}", "0", "a\tx\tx"},
		{"ZADD", "{words}", "0", "a\t0\tx"},
		{"ZADD", "{words}", "0", "kept\t5\tKept"},
		{"ZADD", "{words}", "3", "kept\t3\tKept"},
		{"ZADD", "{words}", "-3", "kept\t3\tKept"},
		{"ZREM", "{words}", "kept\t3\tKept"},
		{"HDEL", "{words}.content", "kept"},
		{"HSET", "{words}.content", "kept", "nonsense"},
		{"HSET", "{words}.content", "kept", "9\tKept"},
		{"HSET", "{words}.content", "", "9"},
		{"HSET", "{words}.content", "a\tb", "9"},
		{"HSET", "{words}.content", "aaa lost", "99\tAaa lost"},
		{"HSET", "{words}.content", "kept", "nonsense\nid"},
		{"HSET", "{words}.content", "kept", "8\tKept\nid"},
		{"HDEL", "{words}.meta", "payloads"},
		{"HSET", "{words}.heads", "a", "1\tz\n"},
		{"HSET", "{words}.heads", "", "\n"},
		{"HDEL", "{words}.heads", "a"},
		{"DEL", "{words}.content"},
		{"DEL", "{words}"},
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	for _, writing := range []bool{false, true} {
		t.Run(fmt.Sprint("writing ", writing), func(t *testing.T) {
			t.Parallel()
			db := redistest.DB(t)
			client, ctx := db.Client(t), t.Context()
			x := small(open(t, client, "{words}", Options{}), 200)
			terms := words(600)
			addAll(t, x, terms...)
			require.OK(t)(x.Add(ctx, "Kept", 3))
			stop := func() map[string]int64 { return nil }
			if writing {
				stop = startWriters(t, db.URL(), Options{}, terms)
			}
			for _, command := range damage() {
				require.OK(t)(client.Do(ctx, client.B().Arbitrary(command...).Build()).Error())
				if report, err := x.Verify(ctx, maintain.Options{}); err != nil || report.Problems() == 0 && !writing {
					t.Fatalf("Verify did not report %q: %v %+v", command, err, report)
				}
				report, err := x.Repair(ctx, maintain.Options{})
				if err != nil || !writing && (report.Repaired != report.Problems() || report.Repaired == 0 || len(report.Examples) == 0) {
					t.Fatalf("Repair did not correct %q: %v %+v", command, err, report)
				}
				verified(t, x)
				checkClosed(t, client, x.keys[0])
				if got, err := x.Get(ctx, "Kept"); err != nil || got.Term != "Kept" {
					t.Fatalf("Get(Kept) after %q: %v %v", command, got, err)
				}
			}
			stop()
			verified(t, x)
			checkLists(t, x)
		})
	}
}

// An interrupted Repair keeps its corrections, and the next Repair makes the remaining ones.
func TestInterruptedRepair(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	n := redistest.Cases(300, 1000)
	addAll(t, x, words(n)...)
	for _, key := range []string{"words.content", "words.heads"} {
		require.OK(t)(client.Do(ctx, client.B().Del().Key(key).Build()).Error())
	}
	var repaired int64
	runs := 0
	for done := false; !done; runs++ {
		runCtx, cancel := context.WithCancel(ctx)
		steps := 0
		report, err := x.Repair(runCtx, maintain.Options{Examples: -1, Progress: func(maintain.Progress) {
			if steps++; steps == 2*(runs+1) {
				cancel()
			}
		}})
		cancel()
		repaired += report.Repaired
		if len(report.Examples) > 0 || err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("Repair: %+v, %v", report, err)
		}
		done = err == nil
	}
	if repaired < int64(n) || runs < 2 {
		t.Fatalf("%d problems were repaired in %d runs, want at least %d in at least 2", repaired, runs, n)
	}
	verified(t, x)
	checkLists(t, x)
}

// sourceOf returns a source of terms that calls before(i) before it yields term i.
func sourceOf(terms []string, before func(i int)) iter.Seq2[Suggestion, error] {
	return func(yield func(Suggestion, error) bool) {
		for i, term := range terms {
			before(i)
			if !yield(Suggestion{Term: term, Count: 1000}, nil) {
				return
			}
		}
	}
}

// After a rebuild, the index has the terms of the source with concurrent writes applied.
func TestRebuild(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			x := small(open(t, redistest.DB(t).Client(t), "{words}", Options{Partitions: partitions}), 200)
			ctx := t.Context()
			must := func(_ any, err error) {
				t.Helper()
				require.OK(t)(err)
			}
			addAll(t, x, "old", "stays", "goes", "both", "other")
			terms := append(words(5000), "stays", "goes", "both", "both", "barred", "late barred", "unknown")
			report, err := x.Rebuild(ctx, sourceOf(terms, func(i int) {
				switch i {
				case 0:
					must(x.Add(ctx, "new", 5))
					must(x.Add(ctx, "stays", 1))
					must(x.Remove(ctx, "goes", "unknown"))
					must(nil, x.Block(ctx, "barred"))
				case len(terms) - 1:
					must(x.Add(ctx, terms[0], 7))
					must(x.Remove(ctx, terms[1]))
					must(nil, x.Block(ctx, "late barred"))
					if n, err := x.Len(ctx); err != nil || n != 6 {
						t.Fatalf("Len() during the rebuild = %d, %v, want 6", n, err)
					}
				}
			}), maintain.Options{})
			if err != nil || report.Checked != int64(len(terms)) {
				t.Fatalf("Rebuild: %+v, %v, want %d checked", report, err, len(terms))
			}
			got := counts(t, x)
			want := map[string]int64{"new": 5, "stays": 2, "both": 2000, terms[0]: 7}
			for _, term := range terms[2:5000] {
				want[term] = 1000
			}
			expect(t, got, want)
			verified(t, x)
			checkLists(t, x)
			addAll(t, x, "after")
			expect(t, complete(t, x, "af", 2), "after 1")
		})
	}
}

// A rebuild loses no concurrent write.
func TestRebuildWhileWriting(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	x := small(open(t, db.Client(t), "{words}", Options{}), 200)
	terms := words(200)
	stop := startWriters(t, db.URL(), Options{}, terms)
	for range 3 {
		// The source is the index itself, read after write tracking has started.
		_, err := x.Rebuild(t.Context(), func(yield func(Suggestion, error) bool) {
			for e, err := range x.All(t.Context(), "", index.Page{}) {
				if !yield(e.Suggestion, err) {
					return
				}
			}
		}, maintain.Options{})
		require.OK(t)(err)
		verified(t, x)
	}
	added := stop()
	verified(t, x)
	checkLists(t, x)
	got := counts(t, x)
	for _, term := range terms[len(terms)/2:] {
		if got[term] != added[term] {
			t.Fatalf("%s: got %d, want %d", term, got[term], added[term])
		}
	}
}

// A rebuild that fails or is replaced does not change the index.
func TestRebuildFails(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	addAll(t, x, "banana")
	broken := errors.New("no more")
	_, err := x.Rebuild(ctx, func(yield func(Suggestion, error) bool) {
		_ = yield(Suggestion{Term: "apple", Count: 1}, nil) && yield(Suggestion{}, broken)
	}, maintain.Options{})
	if !errors.Is(err, broken) {
		t.Fatalf("Rebuild with a failing source: %v, want %v", err, broken)
	}
	_, err = x.Rebuild(ctx, func(yield func(Suggestion, error) bool) { yield(Suggestion{Term: "\xff", Count: 1}, nil) }, maintain.Options{})
	if !errors.Is(err, index.ErrValue) {
		t.Fatalf("Rebuild with an invalid term: %v, want ErrValue", err)
	}
	// Leftovers of a crashed rebuild.
	for _, command := range [][]string{
		{"HSET", "words.meta", "rebuild", "crashed"},
		{"ZADD", "words.next", "0", "half\t1\tHalf"},
		{"HSET", "words.next.content", "half", "1\tHalf"},
	} {
		require.OK(t)(client.Do(ctx, client.B().Arbitrary(command...).Build()).Error())
	}
	addAll(t, x, "banana")
	expect(t, complete(t, x, "", 5), "banana 2")
	_, err = x.Rebuild(ctx, sourceOf([]string{"cherry"}, func(int) {
		require.OK(t)(x.Rebuild(ctx, sourceOf([]string{"apple"}, func(int) {}), maintain.Options{}))
	}), maintain.Options{})
	if !errors.Is(err, maintain.ErrReplaced) {
		t.Fatalf("outer rebuild: %v, want ErrReplaced", err)
	}
	expect(t, complete(t, x, "", 5), "apple 1000")
	// An empty source empties the index.
	require.OK(t)(x.Rebuild(ctx, sourceOf(nil, nil), maintain.Options{}))
	expect(t, entries(t, client, "words"), "[]")
	keys, err := client.Do(ctx, client.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %q, %v, want one", keys, err)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	client := redistest.Cluster(t, 3).Client(t)
	if _, err := New(client, "words", Options{}); err == nil {
		t.Fatal("New accepted a key without a hash tag")
	}
	for key, partitions := range map[string]int{"{one}": 1, "many": 8} {
		x := small(open(t, client, key, Options{Partitions: partitions}), 200)
		addAll(t, x, words(600)...)
		require.OK(t)(x.Add(t.Context(), "Banana", 9))
		require.OK(t)(x.Block(t.Context(), "blocked"))
		expect(t, complete(t, x, "", 1), "Banana 9")
		if found, err := x.CompleteFuzzy(t.Context(), "banaan", 1); err != nil || show(found) != "Banana 9" {
			t.Fatalf("CompleteFuzzy: %v, %v, want Banana", found, err)
		}
		verified(t, x)
		checkLists(t, x)
		require.OK(t)(x.Rebuild(t.Context(), sourceOf(words(400), func(int) {}), maintain.Options{}))
		require.Gives(t, 400)(x.Len(t.Context()))
		verified(t, x)
		checkLists(t, x)
		if y, err := Open(t.Context(), client, key); err != nil || y.Options().Partitions != partitions {
			t.Fatalf("Open: %v, want %d partitions", err, partitions)
		}
	}
}
