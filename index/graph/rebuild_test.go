package graph

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/index"
	engine "retwis/internal/maintain"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

func dialUnix(ctx context.Context, addr string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return dialer.DialContext(ctx, "unix", addr)
}

// databaseNumber returns the number of the database in a URL.
func databaseNumber(t testing.TB, url string) int {
	t.Helper()
	_, n, _ := strings.Cut(url, "?db=")
	number, err := strconv.Atoi(n)
	require.OK(t)(err)
	return number
}

// wantNoRebuild fails the test if a rebuild has left keys or a field behind.
func wantNoRebuild(t testing.TB, g *Graph) {
	t.Helper()
	ctx, client := context.Background(), g.store.Set.Client
	for _, k := range g.store.Set.Keys {
		for _, key := range []string{k.Next, k.NextContent, k.Changed, k.Content} {
			if n, err := client.Do(ctx, client.B().Exists().Key(key).Build()).AsInt64(); err != nil || n != 0 {
				t.Errorf("the key %s exists (%v)", key, err)
			}
		}
		if n, err := client.Do(ctx, client.B().Hexists().Key(k.Meta).Field("rebuild").Build()).AsBool(); err != nil || n {
			t.Errorf("%s has the field rebuild (%v)", k.Meta, err)
		}
	}
}

// After a rebuild, the graph has the triples of the source with concurrent writes applied.
func TestRebuild(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, opt := range []Options{{}, {Compact: true}, {Partitions: 3}} {
		t.Run(fmt.Sprintf("%+v", opt), func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, redistest.DB(t).Client(t), "g", opt)
			old := Triple{"old", "is", "here"}
			first, last := Triple{"deleted:before", "p;", "o"}, Triple{"zzz", "deleted", "after"}
			new1, new2 := Triple{"a:new", "comes", "first"}, Triple{"new", "comes", "last"}
			put(t, g, old, first, last)
			damage(t, g, "old", "ZADD", "5", "of nothing")
			network := network(300)
			var source iter.Seq2[Triple, error] = func(yield func(Triple, error) bool) {
				if _, err := g.Remove(ctx, first); err != nil {
					yield(Triple{}, err)
					return
				}
				put(t, g, new1)
				for _, triple := range append([]Triple{first, last}, network...) {
					if !yield(triple, nil) {
						return
					}
				}
				// Reads see the old graph with the new writes applied.
				for triple, want := range map[Triple]bool{old: true, first: false, last: true, new1: true} {
					if has, err := g.Has(ctx, triple); err != nil || has != want {
						t.Errorf("during the rebuild: Has(%v) = %v, %v, want %v", triple, has, err, want)
					}
				}
				if _, err := g.Remove(ctx, last); err != nil {
					yield(Triple{}, err)
				}
				put(t, g, new2)
			}
			var progress maintain.Progress
			report, err := g.Rebuild(ctx, source, maintain.Options{Progress: func(p maintain.Progress) { progress = p }})
			if err != nil || report.Checked != int64(len(network)+2) || progress.Checked != report.Checked {
				t.Errorf("Rebuild reports %+v, progress %+v, want %d checked (%v)", report, progress, len(network)+2, err)
			}
			sameState(t, g, append([]Triple{new1, new2}, network...))
			wantNoRebuild(t, g)
			require.OK(t)(g.Rebuild(ctx, sourceOf(nil), maintain.Options{}))
			sameState(t, g, nil)
			wantNoRebuild(t, g)
		})
	}
}

// Constant writes do not delay a rebuild indefinitely. Triples of the source survive, and removed
// triples stay removed.
func TestRebuildDuringWrites(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := redistest.DB(t)
	g := newGraph(t, db.Client(t), "g", Options{})
	base := network(200)
	put(t, g, base...)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	const n = 4
	var wrote [n]map[Triple]bool // by writer; whether the last write put the triple
	for i := range n {
		wrote[i] = map[Triple]bool{}
		own := newGraph(t, db.Client(t), "g", Options{})
		writers.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-stop:
					return
				default:
				}
				batch := make([]Triple, 0, 40)
				for j := range 40 {
					batch = append(batch, Triple{fmt.Sprintf("writer%d", i), "wrote", strconv.Itoa((k*40 + j) % 1000)})
				}
				change := own.PutMany
				if k%3 == 2 {
					change = own.RemoveMany
				}
				if _, err := change(ctx, slices.Values(batch)); err != nil {
					t.Error(err)
					return
				}
				for _, triple := range batch {
					wrote[i][triple] = k%3 != 2
				}
			}
		})
	}
	for range 5 {
		require.OK(t)(g.Rebuild(ctx, sourceOf(base), maintain.Options{}))
	}
	close(stop)
	writers.Wait()
	wantClean(t, g)
	wantNoRebuild(t, g)
	// A rebuild removes triples that were put before it and are not in its source: check only the
	// triples that a writer removed.
	for i := range n {
		for triple, exists := range wrote[i] {
			if !exists {
				if has, err := g.Has(ctx, triple); err != nil || has {
					t.Errorf("%v was removed but exists (%v)", triple, err)
				}
			}
		}
	}
	for _, triple := range base {
		if has, err := g.Has(ctx, triple); err != nil || !has {
			t.Errorf("%v does not exist (%v)", triple, err)
		}
	}
}

// fillOne adds one triple to a running rebuild.
func fillOne(g *Graph, run string, t Triple) error {
	w, err := g.newWriter(context.Background(), g.fill, run)
	if err == nil {
		err = w.Add(g.place(t))
	}
	if err == nil {
		err = w.Close()
	}
	return engine.Replaced(err)
}

// The later of two concurrent rebuilds replaces the earlier rebuild. A killed rebuild changes no
// triple and does not stop writers.
func TestConcurrentRebuilds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	put(t, g, Triple{"a", "b", "c"})
	// A rebuild is killed after it has added a triple.
	require.OK(t)(g.tracker.Begin(ctx, "killed"))
	require.OK(t)(fillOne(g, "killed", Triple{"left", "by", "killed"}))
	put(t, g, Triple{"d", "e", "f"})
	sameState(t, g, []Triple{{"a", "b", "c"}, {"d", "e", "f"}})
	wantClean(t, g)

	var inner error
	var source iter.Seq2[Triple, error] = func(yield func(Triple, error) bool) {
		if yield(Triple{"first", "of", "outer"}, nil) {
			_, inner = g.Rebuild(ctx, sourceOf([]Triple{{"inner", "is", "later"}}), maintain.Options{})
			yield(Triple{"second", "of", "outer"}, nil)
		}
	}
	_, err := g.Rebuild(ctx, source, maintain.Options{})
	if inner != nil || !errors.Is(err, maintain.ErrReplaced) {
		t.Errorf("inner rebuild: %v; outer rebuild: %v, want ErrReplaced", inner, err)
	}
	sameState(t, g, []Triple{{"inner", "is", "later"}})
	wantNoRebuild(t, g)

	// A canceled rebuild removes its keys.
	canceled, cancel := context.WithCancel(ctx)
	var canceling iter.Seq2[Triple, error] = func(yield func(Triple, error) bool) {
		cancel()
		_ = yield(Triple{"x", "y", "z"}, nil)
	}
	if _, err := g.Rebuild(canceled, canceling, maintain.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled rebuild: %v, want context.Canceled", err)
	}
	sameState(t, g, []Triple{{"inner", "is", "later"}})
	wantNoRebuild(t, g)
}

// A rebuild that stalls may continue until its lease expires. After that, Verify reports its
// leftovers, and the next write or Repair removes the leftovers.
func TestKilledRebuild(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, cleanUp := range map[string]func(*Graph) error{
		"put":    func(g *Graph) error { _, err := g.Put(ctx, Triple{"g", "h", "i"}); return err },
		"remove": func(g *Graph) error { _, err := g.Remove(ctx, Triple{"a", "b", "c"}); return err },
		"repair": func(g *Graph) error { _, err := g.Repair(ctx, nil, maintain.Options{}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
			put(t, g, Triple{"a", "b", "c"})
			require.OK(t)(g.tracker.Begin(ctx, "killed"))
			fill := func() error { return fillOne(g, "killed", Triple{"left", "by", "killed"}) }
			require.OK(t)(fill())
			put(t, g, Triple{"d", "e", "f"})
			wantClean(t, g)
			require.OK(t)(g.store.Set.Client.Do(ctx, g.store.Set.Client.B().Arbitrary("HSET", "g.meta", "until", "1").Build()).Error())
			if err := fill(); !errors.Is(err, maintain.ErrReplaced) {
				t.Errorf("fill after the lease: %v, want ErrReplaced", err)
			}
			if report, err := g.Verify(ctx, nil, maintain.Options{}); err != nil || report.Dangling != 1 {
				t.Errorf("Verify reports %+v, %v, want 1 dangling", report, err)
			}
			require.OK(t)(cleanUp(g))
			wantNoRebuild(t, g)
			wantClean(t, g)
		})
	}
}

// A graph works on a Cluster, in one slot and in several.
func TestCluster(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := redistest.Cluster(t, 3).Client(t)
	if _, err := New(client, "untagged", Options{}); err == nil || !strings.Contains(err.Error(), "{untagged}") {
		t.Errorf("a key without a hash tag on a Cluster: %v", err)
	}
	for key, opt := range map[string]Options{"{one}": {}, "many": {Partitions: 5}, "{some}:more": {Partitions: 3, Compact: true}} {
		g := newGraph(t, client, key, opt)
		triples := network(700)
		put(t, g, triples...)
		if n, err := g.Len(ctx); err != nil || int(n) != len(triples) {
			t.Errorf("%s: Len() = %d, want %d (%v)", key, n, len(triples), err)
		}
		found := all(t, g.Select(ctx, Pattern{P: Name("lives-in"), O: Name("city3")}, index.Page{Limit: 3, Offset: 1}))
		if len(found) != 3 || found[0].S != "person00013" || found[2].S != "person00033" {
			t.Errorf("%s: people in city3: %v", key, found)
		}
		if got := answers(t, g, "?x lives-in city1 . ?y lives-in city2 . ?x knows ?y . ?x ~ 01$ . person00001 knows*0..40 ?x"); len(got) == 0 {
			t.Errorf("%s: no answer", key)
		}
		if _, err := g.RemoveMany(ctx, slices.Values(triples[:100])); err != nil {
			t.Error(err)
		}
		damage(t, g, triples[200].S, "ZREM", triples[200].id())
		if report, err := g.Repair(ctx, sourceOf(triples[:150]), maintain.Options{}); err != nil || report.Repaired != 101 {
			t.Errorf("%s: Repair reports %+v, want 101 repaired (%v)", key, report, err)
		}
		if got := answers(t, g, "?x lives-in ?c . ?y lives-in ?c . ?y knows*1..2 person00033"); len(got) == 0 {
			t.Errorf("%s: no answer to a path", key)
		}
		if _, err := g.Rebuild(ctx, sourceOf(triples[:500]), maintain.Options{}); err != nil {
			t.Errorf("%s: Rebuild: %v", key, err)
		}
		sameState(t, g, triples[:500])
		wantNoRebuild(t, g)
		opened, err := Open(ctx, client, key)
		if err != nil || opened.store.compact != opt.Compact {
			t.Errorf("%s: opened as %+v, want options %+v (%v)", key, opened, opt, err)
		}
	}
}

// A step of finish handles fewer triples if their names are long.
func TestFinishWithLongNames(t *testing.T) {
	client := redistest.DB(t).Client(t)
	ctx := t.Context()
	g := newGraph(t, client, "long", Options{})
	require.OK(t)(g.tracker.Begin(ctx, "ours"))
	for i := range 10 {
		put(t, g, Triple{strings.Repeat("s;", MaxName/2), "p", fmt.Sprint(i)})
	}
	for left := int64(9); left >= 0; left-- {
		done, err := g.finish.Run(ctx, client, g.store.Set.Keys[0].All(), append(g.store.Set.Args(), "ours")).AsInt64()
		require.OK(t)(err)
		n, err := client.Do(ctx, client.B().Scard().Key(g.store.Set.Keys[0].All()[5]).Build()).AsInt64()
		if err != nil || n != left || done == 1 != (left == 0) {
			t.Fatalf("%d triples are left, want %d; the step returned %d, %v", n, left, done, err)
		}
	}
	if n, err := g.Len(ctx); err != nil || n != 10 {
		t.Errorf("Len() = %d, %v, want 10", n, err)
	}
}

// A rebuild that is replaced in one partition stops tracking writes in the other partitions.
func TestReplacedRebuildEndsEverywhere(t *testing.T) {
	client := redistest.DB(t).Client(t)
	ctx := t.Context()
	g := newGraph(t, client, "two", Options{Partitions: 2})
	_, err := g.Rebuild(ctx, func(yield func(Triple, error) bool) {
		// Another rebuild replaces this rebuild in the first partition.
		until := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
		if err := client.Do(ctx, client.B().Arbitrary("HSET", g.store.Set.Keys[0].Meta, "rebuild", "other", "until", until).Build()).Error(); err != nil {
			t.Error(err)
		}
		for i := range 100 {
			if !yield(Triple{fmt.Sprint(i), "p", "o"}, nil) {
				return
			}
		}
	}, maintain.Options{})
	if !errors.Is(err, maintain.ErrReplaced) {
		t.Fatalf("%v, want ErrReplaced", err)
	}
	for i, want := range []string{"other", ""} {
		meta := g.store.Set.Keys[i].All()[2]
		if found, _ := client.Do(ctx, client.B().Hget().Key(meta).Field("rebuild").Build()).ToString(); found != want {
			t.Errorf("partition %d is in rebuild %q, want %q", i, found, want)
		}
	}
}
