package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// wantClean fails the test if Verify finds a problem.
func wantClean(t testing.TB, g *Graph) {
	t.Helper()
	report, err := g.Verify(context.Background(), nil, maintain.Options{})
	if err != nil || report.Problems() != 0 {
		t.Fatalf("Verify reports %+v (%v), want no problems", report, err)
	}
}

// state returns the score of every entry. A key is the number of a partition and an entry.
func state(t testing.TB, g *Graph) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	client := g.store.Set.Client
	for i := range g.store.Set.Keys {
		entries, err := client.Do(context.Background(), client.B().Zrange().Key(g.store.Set.Keys[i].Index).Min("0").Max("-1").Withscores().Build()).AsZScores()
		require.OK(t)(err)
		for _, e := range entries {
			found[fmt.Sprintf("%d %s", i, e.Member)] = e.Score
		}
	}
	return found
}

// wantState returns the expected state of a graph with triples.
func wantState(g *Graph, triples []Triple) map[string]float64 {
	want := map[string]float64{}
	for _, t := range triples {
		for _, order := range ordersOf(g.store.compact) {
			want[fmt.Sprintf("%d %s", g.store.Set.Index(t.S), order.entry(t.escaped()))] = 0
		}
	}
	return want
}

// sameState fails the test unless the entries of a graph are those of triples.
func sameState(t testing.TB, g *Graph, triples []Triple) {
	t.Helper()
	got, want := state(t, g), wantState(g, triples)
	for entry, score := range want {
		if s, ok := got[entry]; !ok || s != score {
			t.Errorf("entry %q: found %v, score %v, want score %v", entry, ok, s, score)
		}
		delete(got, entry)
	}
	for entry := range got {
		t.Errorf("unexpected entry %q", entry)
	}
}

// damage runs a command on the sorted set that holds the triples of a subject.
func damage(t testing.TB, g *Graph, subject string, command ...string) {
	t.Helper()
	client := g.store.Set.Client
	args := append([]string{command[0], g.store.Set.Of(subject).Index}, command[1:]...)
	require.OK(t)(client.Do(context.Background(), client.B().Arbitrary(args...).Build()).Error())
}

// Verify reports every kind of damage, and Repair corrects it.
func TestRepair(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, opt := range []Options{{}, {Partitions: 3}} {
		t.Run(fmt.Sprintf("%+v", opt), func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, redistest.DB(t).Client(t), "g", opt)
			triples := network(100)
			put(t, g, triples...)
			wantClean(t, g)
			sameState(t, g, triples)

			damage(t, g, "person00001", "ZREM", "pos:lives-in:city1:person00001")
			damage(t, g, "person00002", "ZREM", "spo:person00002:lives-in:city2")
			damage(t, g, "person00003", "ZREM", "spo:person00003:lives-in:city3", "sop:person00003:city3:lives-in", "osp:city3:person00003:lives-in")
			damage(t, g, "person00004", "ZREM", "spo:person00004:lives-in:city4", "sop:person00004:city4:lives-in", "osp:city4:person00004:lives-in", "pos:lives-in:city4:person00004")
			damage(t, g, "person00005", "ZADD", "3", "ops:city5:lives-in:person00005")
			damage(t, g, "person00006", "ZADD", "-1", "spo:person00006:lives-in:city6")
			damage(t, g, "nobody", "ZADD", "0", "spo:nobody:likes:beer")
			damage(t, g, "nobody", "ZADD", "0", "what is this", "0", "spo:a:b", "0", "xyz:a:b:c", "0", "")
			want := maintain.Report{Missing: 3, Stale: 2, Dangling: 6}
			if opt.Partitions > 1 { // move an entry to another partition: one missing, one orphan
				other := (g.store.Set.Index("person00007") + 1) % 3
				client := g.store.Set.Client
				for _, command := range []rueidis.Completed{
					client.B().Zrem().Key(g.store.Set.Of("person00007").Index).Member("pso:lives-in:person00007:city7").Build(),
					client.B().Zadd().Key(g.store.Set.Keys[other].Index).ScoreMember().ScoreMember(0, "pso:lives-in:person00007:city7").Build(),
				} {
					require.OK(t)(client.Do(ctx, command).Error())
				}
				want.Missing, want.Dangling = 4, 7
			}
			before := state(t, g)
			report, err := g.Verify(ctx, nil, maintain.Options{Examples: 100})
			if err != nil || report.Missing != want.Missing || report.Stale != want.Stale || report.Dangling != want.Dangling || report.Repaired != 0 {
				t.Errorf("Verify reports %+v, want %+v (%v)", report, want, err)
			}
			if len(report.Examples) != int(report.Problems()) || report.Checked != int64(len(before)) {
				t.Errorf("%d examples of %d problems, %d of %d entries checked", len(report.Examples), report.Problems(), report.Checked, len(before))
			}
			if fmt.Sprint(state(t, g)) != fmt.Sprint(before) {
				t.Error("Verify changed an entry")
			}
			report, err = g.Repair(ctx, nil, maintain.Options{})
			if err != nil || report.Problems() != want.Problems() || report.Repaired != want.Problems() {
				t.Errorf("Repair reports %+v, want %+v, all repaired (%v)", report, want, err)
			}
			wantClean(t, g)
			lost := Triple{"person00004", "lives-in", "city4"}
			sameState(t, g, slices.DeleteFunc(slices.Clone(triples), func(triple Triple) bool { return triple == lost }))

			report, err = g.Verify(ctx, sourceOf(triples), maintain.Options{})
			if err != nil || report.Missing != 1 || report.Problems() != 1 || report.Examples[0].ID != lost.id() {
				t.Errorf("Verify with a source reports %+v, want 1 missing (%v)", report, err)
			}
			if report, err = g.Repair(ctx, sourceOf(triples), maintain.Options{}); err != nil || report.Repaired != 1 {
				t.Errorf("Repair with a source reports %+v, want 1 repaired (%v)", report, err)
			}
			sameState(t, g, triples)
		})
	}
}

// Repair of a compact graph treats entries of the other orders as orphans.
func TestRepairCompact(t *testing.T) {
	t.Parallel()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{Compact: true})
	put(t, g, Triple{"a", "p", "1"}, Triple{"b", "p", "2"}, Triple{"c", "p", "3"})
	sameState(t, g, []Triple{{"a", "p", "1"}, {"b", "p", "2"}, {"c", "p", "3"}})
	damage(t, g, "a", "ZREM", "osp:1:a:p")
	damage(t, g, "b", "ZREM", "osp:2:b:p", "spo:b:p:2")
	damage(t, g, "c", "ZADD", "0", "sop:c:3:p")
	report, err := g.Repair(context.Background(), nil, maintain.Options{})
	if err != nil || report.Missing != 1 || report.Dangling != 2 || report.Repaired != 3 {
		t.Errorf("Repair reports %+v, want 1 missing, 2 dangling, 3 repaired (%v)", report, err)
	}
	sameState(t, g, []Triple{{"a", "p", "1"}, {"c", "p", "3"}})
	wantClean(t, g)
}

// After arbitrary damage, Repair leaves exactly the triples that kept at least half of their
// entries, with all entries.
func TestRepairArbitraryDamage(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	ctx := context.Background()
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		g, err := New(client, fmt.Sprintf("r%d", run), Options{Compact: rapid.Bool().Draw(r, "compact")})
		require.OK(r)(err)
		model := rapid.SliceOfNDistinct(triples(), 1, 30, rapid.ID[Triple]).Draw(r, "triples")
		require.OK(r)(g.PutMany(ctx, slices.Values(model)))
		orders := ordersOf(g.store.compact)
		var want []Triple
		for _, triple := range model {
			removed := rapid.SliceOfNDistinct(rapid.SampledFrom(orders), 0, len(orders), rapid.ID[tripleOrder]).Draw(r, "gone")
			key := g.store.Set.Keys[0].Index
			for _, order := range orders {
				command := client.B().Zadd().Key(key).Xx().ScoreMember().ScoreMember(float64(rapid.IntRange(-1, 1).Draw(r, "score")), order.entry(triple.escaped())).Build()
				if slices.Contains(removed, order) {
					command = client.B().Zrem().Key(key).Member(order.entry(triple.escaped())).Build()
				}
				require.OK(r)(client.Do(ctx, command).Error())
			}
			if 2*(len(orders)-len(removed)) >= len(orders) {
				want = append(want, triple)
			}
		}
		verified, err := g.Verify(ctx, nil, maintain.Options{})
		require.OK(r)(err)
		report, err := g.Repair(ctx, nil, maintain.Options{})
		if err != nil || report.Repaired != verified.Problems() {
			r.Fatalf("Repair reports %+v, want %d repaired (%v)", report, verified.Problems(), err)
		}
		after, err := g.Verify(ctx, nil, maintain.Options{})
		if err != nil || after.Problems() != 0 {
			r.Fatalf("Verify after Repair reports %+v (%v)", after, err)
		}
		slices.SortFunc(want, compareIn(spo))
		found, err := collect(g.Select(ctx, Pattern{}, index.Page{}))
		if err != nil || !slices.Equal(found, want) {
			r.Fatalf("triples after Repair: %q, want %q (%v)", found, want, err)
		}
	})
}

// Repair runs while connections put and remove the same triples and damage entries. The last
// Repair leaves no problem.
func TestRepairDuringWrites(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := redistest.DB(t)
	g := newGraph(t, db.Client(t), "g", Options{})
	triples := network(20)
	var writers sync.WaitGroup
	for i := range 6 {
		own := newGraph(t, db.Client(t), "g", Options{})
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for range 150 {
				triple := triples[r.IntN(len(triples))]
				var err error
				switch r.IntN(6) {
				case 0: // damage
					entry := ordersOf(false)[r.IntN(6)].entry(triple.escaped())
					err = own.store.Set.Client.Do(ctx, own.store.Set.Client.B().Zrem().Key("g").Member(entry).Build()).Error()
				case 1, 2:
					_, err = own.Remove(ctx, triple)
				default:
					_, err = own.PutMany(ctx, slices.Values(triples[:r.IntN(len(triples))]))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			require.OK(t)(g.Repair(ctx, nil, maintain.Options{}))
		}
	}
	require.OK(t)(g.Repair(ctx, nil, maintain.Options{}))
	wantClean(t, g)
}

// Without damage, Verify never finds a problem, even if writers lose their connection during a
// write.
func TestWriters(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := redistest.DB(t)
	g := newGraph(t, db.Client(t), "g", Options{Partitions: 2})
	triples := network(20)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 2))
			for range 5 {
				client, err := rueidis.NewClient(rueidis.ClientOption{
					InitAddress: []string{strings.TrimPrefix(strings.Split(db.URL(), "?")[0], "unix://")}, ForceSingleClient: true,
					DialCtxFn: dialUnix, SelectDB: databaseNumber(t, db.URL()), DisableCache: true, PipelineMultiplex: -1,
				})
				if err != nil {
					t.Error(err)
					return
				}
				own, err := New(client, "g", Options{Partitions: 2})
				if err != nil {
					t.Error(err)
					return
				}
				// The connection is closed during these writes.
				var writes sync.WaitGroup
				for range 20 {
					from := r.IntN(len(triples))
					batch, remove := triples[from:min(from+30, len(triples))], r.IntN(2) == 0
					writes.Go(func() {
						if remove {
							_, _ = own.RemoveMany(ctx, slices.Values(batch))
						} else {
							_, _ = own.PutMany(ctx, slices.Values(batch))
						}
					})
				}
				client.Close()
				writes.Wait()
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			wantClean(t, g)
		}
	}
	wantClean(t, g)
}

// An interrupted Repair keeps its corrections, and the next Repair makes the remaining ones.
func TestInterruptedRepair(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		g := newGraph(t, redistest.DB(t).Client(t), "g", Options{Partitions: partitions})
		triples := network(400)
		put(t, g, triples...)
		for i := range 400 {
			name := fmt.Sprintf("person%05d", i)
			damage(t, g, name, "ZREM", fmt.Sprintf("osp:city%d:%s:lives-in", i%10, name))
		}
		var repaired int64
		runs := 0
		for ; ; runs++ {
			ctx, cancel := context.WithCancel(context.Background())
			steps := 0
			report, err := g.Repair(ctx, nil, maintain.Options{Progress: func(p maintain.Progress) {
				if steps++; steps == 3*(runs+1) {
					cancel()
				}
				if p.Total == 0 {
					t.Errorf("progress %+v, want a total", p)
				}
			}})
			cancel()
			repaired += report.Repaired
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		if repaired != 400 || runs < 2 {
			t.Errorf("%d entries were repaired in %d runs, want 400 in at least 3", repaired, runs+1)
		}
		sameState(t, g, triples)
	}
}

// Verify, Repair and Rebuild return an error of the source.
func TestSourceFails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	put(t, g, Triple{"a", "b", "c"})
	broken := errors.New("broken")
	var bad iter.Seq2[Triple, error] = func(yield func(Triple, error) bool) {
		_ = yield(Triple{"x", "y", "z"}, nil) && yield(Triple{}, broken)
	}
	empty := sourceOf([]Triple{{"a", "", "c"}})
	for name, run := range map[string]func(iter.Seq2[Triple, error]) error{
		"verify":  func(s iter.Seq2[Triple, error]) error { _, err := g.Verify(ctx, s, maintain.Options{}); return err },
		"repair":  func(s iter.Seq2[Triple, error]) error { _, err := g.Repair(ctx, s, maintain.Options{}); return err },
		"rebuild": func(s iter.Seq2[Triple, error]) error { _, err := g.Rebuild(ctx, s, maintain.Options{}); return err },
	} {
		if err := run(bad); !errors.Is(err, broken) {
			t.Errorf("%s: %v, want %v", name, err, broken)
		}
		if err := run(empty); !errors.Is(err, index.ErrValue) {
			t.Errorf("%s with an empty name: %v, want ErrValue", name, err)
		}
	}
	sameState(t, g, []Triple{{"a", "b", "c"}})
	wantNoRebuild(t, g)
}
