package model_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

// resolveTaken changes records until Verify reports no value as taken. A value that its owner
// released meanwhile has no owner until a repair. Any other problem ends the test.
func resolveTaken(t testing.TB, e edition) {
	t.Helper()
	for range 100 {
		r, err := e.store.Verify(t.Context(), maintain.Options{Examples: 1000})
		require.OK(t)(err)
		if r.Problems() == 0 {
			return
		}
		for i, p := range r.Examples {
			if p.Kind == "missing" && p.Found == "" && (strings.HasPrefix(p.Want, "email=") || strings.HasPrefix(p.Want, "phone=")) {
				require.OK(t)(e.store.Repair(t.Context(), maintain.Options{}))
				continue
			}
			if p.Kind != "taken" || p.ID == "" || !strings.Contains(p.Found, "is taken by record") {
				t.Fatalf("problem %+v in %+v; want only taken values", p, r)
			}
			err := e.patch(t.Context(), p.ID, map[string]any{"phone": nil, "email": fmt.Sprintf("%s.%d@x", p.ID, i)})
			if err != nil && !errors.Is(err, model.ErrTaken) {
				t.Fatal(err)
			}
		}
	}
	t.Fatal("values are still taken after 100 attempts")
}

// Whatever was declared before, a migration with concurrent writers leaves the same indexes as if
// only the new declaration had ever existed.
func TestMigrate(t *testing.T) {
	t.Parallel()
	for i, before := range editions()[:3] {
		t.Run(fmt.Sprint("edition ", i), func(t *testing.T) {
			t.Parallel()
			forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
				random := rand.New(rand.NewPCG(uint64(i), 7))
				old := before(t, client, opt)
				for range 120 {
					if _, err := old.create(t.Context(), randomCitizen(random)); err != nil && !errors.Is(err, model.ErrTaken) {
						t.Fatal(err)
					}
				}
				now := editionOf[citizen](t, client, opt)
				if pending, err := now.store.Pending(t.Context()); err != nil || len(pending) == 0 {
					t.Fatalf("Pending = %q, %v; want entries", pending, err)
				}
				var done, refused atomic.Bool
				var wg sync.WaitGroup
				for w := range 4 {
					wg.Go(func() {
						random := rand.New(rand.NewPCG(uint64(w), 8))
						e := old
						for n := 0; !done.Load() || n < 30; n++ {
							err := e.randomWrite(t.Context(), random, 100)
							if errors.Is(err, model.ErrSchema) {
								refused.Store(true)
								e = now
							} else if err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				report, err := now.store.Migrate(t.Context(), maintain.Options{})
				done.Store(true)
				wg.Wait()
				if err != nil || report.Checked == 0 {
					t.Fatalf("Migrate: %+v, %v; want checked records", report, err)
				}
				// Writers that have all the indexes, and more, may continue. The next migration
				// removes what they have written to the additional indexes.
				if more := i == 2; refused.Load() == more {
					t.Errorf("writers of the old declaration were refused: %v, want %v", refused.Load(), !more)
				} else if more {
					require.OK(t)(now.store.Migrate(t.Context(), maintain.Options{}))
				}
				if pending, err := now.store.Pending(t.Context()); err != nil || len(pending) > 0 {
					t.Fatalf("Pending = %q, %v; want none", pending, err)
				}
				resolveTaken(t, now)
				agree(t, client, opt, store[citizen](t, client, opt))
				checkIndexKeys(t, client, opt)
			})
		})
	}
}

// checkIndexKeys fails the test if keys of undeclared indexes are left.
func checkIndexKeys(t testing.TB, client rueidis.Client, opt model.Options) {
	t.Helper()
	base := opt.Name
	if opt.Partitions > 1 {
		base = "{" + opt.Name + ".0}"
	}
	keyNames := indexKeyNames(t, client, base)
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*.by.*").Build()).AsStrSlice()
	require.OK(t)(err)
	for _, key := range keys {
		_, name, _ := strings.Cut(key, ".by.")
		name, _, _ = strings.Cut(name, ":")
		if !slices.ContainsFunc(slices.Collect(mapsValues(keyNames)), func(n string) bool { return n == name }) {
			t.Errorf("key %s is left", key)
		}
	}
}

func mapsValues(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// After any sequence of declarations, complete or interrupted migrations and writes, a migration
// to the last declaration leaves consistent indexes.
func TestDeclarationsComeAndGo(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	rapid.Check(t, func(r *rapid.T) {
		if err := client.Do(t.Context(), client.B().Flushdb().Build()).Error(); err != nil {
			r.Fatal(err)
		}
		opt := model.Options{Name: "citizen", Partitions: rapid.SampledFrom([]int{1, 2}).Draw(r, "partitions")}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 1))
		all := editions()
		var open []edition
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			e := all[rapid.IntRange(0, 3).Draw(r, "edition")](t, client, opt)
			open = append(open, e)
			for range 10 {
				running := open[random.IntN(len(open))]
				if err := running.randomWrite(t.Context(), random, 20); err != nil && !errors.Is(err, model.ErrSchema) {
					r.Fatal(err)
				}
			}
			running := open[random.IntN(len(open))]
			switch rapid.IntRange(0, 2).Draw(r, "migrate") {
			case 1:
				if _, err := running.store.Migrate(t.Context(), maintain.Options{}); err != nil {
					r.Fatal(err)
				}
			case 2:
				stop, cancel := context.WithCancel(t.Context())
				_, _ = running.store.Migrate(stop, maintain.Options{Progress: func(maintain.Progress) { cancel() }})
				cancel()
			}
		}
		e := all[3](t, client, opt)
		if _, err := e.store.Migrate(t.Context(), maintain.Options{}); err != nil {
			r.Fatal(err)
		}
		for range 10 {
			if err := e.randomWrite(t.Context(), random, 20); err != nil {
				r.Fatal(err)
			}
		}
		resolveTaken(t, e)
		agree(t, client, opt, store[citizen](t, client, opt))
	})
}

// failing is a client whose commands fail once left is used up.
type failing struct {
	rueidis.Client
	left atomic.Int64 // number of calls that still succeed
}

var errCut = errors.New("cut off")

func (f *failing) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if f.left.Add(-1) < 0 {
		cut, cancel := context.WithCancelCause(ctx)
		cancel(errCut)
		return f.Client.Do(cut, cmd)
	}
	return f.Client.Do(ctx, cmd)
}

func (f *failing) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	if f.left.Add(-1) < 0 {
		cut, cancel := context.WithCancelCause(ctx)
		cancel(errCut)
		return f.Client.DoMulti(cut, multi...)
	}
	return f.Client.DoMulti(ctx, multi...)
}

// A migration interrupted at any of its commands can be repeated, even by two processes at
// once.
func TestMigrateInterrupted(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for _, partitions := range []int{1, 2} {
		opt := model.Options{Name: "citizen", Partitions: partitions}
		step := int64(1)
		for n, completed := int64(0), false; !completed; n += step {
			if partitions > 1 { // fewer cases: an interruption leaves claims, for which a migration waits
				step += 2
			}
			step += redistest.Cases[int64](5, 0)
			require.OK(t)(client.Do(t.Context(), client.B().Flushdb().Build()).Error())
			random := rand.New(rand.NewPCG(uint64(n), 3))
			old := editionOf[otherCitizen](t, client, opt)
			for range 12 {
				if _, err := old.create(t.Context(), randomCitizen(random)); err != nil && !errors.Is(err, model.ErrTaken) {
					t.Fatal(err)
				}
			}
			cut := &failing{Client: client}
			cut.left.Store(1 << 40)
			now := editionOf[citizen](t, cut, opt)
			cut.left.Store(n)
			_, err := now.store.Migrate(t.Context(), maintain.Options{})
			completed = err == nil
			again := editionOf[citizen](t, client, opt)
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					checkErr(t, errOf(again.store.Migrate(t.Context(), maintain.Options{})))
				})
			}
			wg.Wait()
			resolveTaken(t, again)
			agree(t, client, opt, store[citizen](t, client, opt))
			checkIndexKeys(t, client, opt)
		}
	}
}
