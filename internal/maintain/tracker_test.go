package maintain_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
	"retwis/internal/redistest"
	"retwis/maintain"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// These scripts implement an index of IDs without content. A rebuild also creates one extra key.
const (
	putLua = `local noting, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3], KEYS[7])
if refusal then return refusal end
if noting then redis.call('SADD', KEYS[6], ARGV[4]) end
return redis.call('ZADD', KEYS[1], 0, ARGV[4])`
	fillLua = `local refusal = replaced(KEYS[3], ARGV[4])
if refusal then return refusal end
redis.call('SET', KEYS[7], 'made')
return redis.call('ZADD', KEYS[4], 0, ARGV[5])`
	finishLua = `local refusal = finishing(ARGV[4])
if refusal then return refusal end
for _, id in ipairs(changes(1)) do
	redis.call('ZADD', KEYS[4], 0, id)
end
return finished({KEYS[1], KEYS[4], KEYS[8], KEYS[7]})`
)

type index struct {
	t       *testing.T
	set     *partition.Set
	tracker *engine.Tracker

	put, fill, finish script.Script
}

func newIndex(t *testing.T, partitions int) *index {
	t.Helper()
	set, err := partition.New(redistest.DB(t).Client(t), "{k}", partition.Declaration{Kind: "test", Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	return &index{
		t: t, set: set,
		tracker: engine.NewTracker(set, func(k *partition.Keys) []string { return []string{k.Next + ".more"} }),
		put:     partition.NewScript(putLua), fill: partition.NewScript(fillLua), finish: engine.NewFinish(finishLua),
	}
}

func (x *index) keys(k *partition.Keys) []string {
	return append(k.All(), k.Next+".more", k.Index+".more")
}

func (x *index) run(s script.Script, id string, args ...string) error {
	k := x.set.Of(id)
	args = append(append(x.set.Args(), args...), id)
	return s.Run(x.t.Context(), x.set.Client, x.keys(k), args).Error()
}

func (x *index) mustPut(ids ...string) {
	x.t.Helper()
	for _, id := range ids {
		if err := x.run(x.put, id); err != nil {
			x.t.Fatal(err)
		}
	}
}

func (x *index) rebuild(ctx context.Context, fill func(run string) error) error {
	return x.tracker.Rebuild(ctx, engine.Rebuild{
		Fill: func(_ context.Context, run string) error { return fill(run) }, Finish: x.finish, Keys: x.keys,
	})
}

// want fails the test unless the index has exactly the given IDs and no run has left keys behind.
func (x *index) want(ids ...string) {
	x.t.Helper()
	var got []string
	for _, k := range x.set.Keys {
		members, err := x.set.Client.Do(x.t.Context(), x.set.Client.B().Zrange().Key(k.Index).Min("0").Max("-1").Build()).AsStrSlice()
		if err != nil {
			x.t.Fatal(err)
		}
		got = append(got, members...)
		left, err := x.set.Client.Do(x.t.Context(), x.set.Client.B().Exists().Key(k.Next, k.NextContent, k.Changed, k.Next+".more").Build()).AsInt64()
		if err != nil || left != 0 || x.state(&k) != "" {
			x.t.Errorf("%s: %d keys of a run are left, run in progress %q (%v)", k.Index, left, x.state(&k), err)
		}
	}
	if slices.Sort(got); !slices.Equal(got, ids) {
		x.t.Errorf("index has %q, want %q", got, ids)
	}
}

// state returns the name of the run in progress.
func (x *index) state(k *partition.Keys) string {
	run, _ := x.set.Client.Do(x.t.Context(), x.set.Client.B().Hget().Key(k.Meta).Field("rebuild").Build()).ToString()
	return run
}

// lapse expires the lease of the run in progress.
func (x *index) lapse() {
	x.t.Helper()
	for _, k := range x.set.Keys {
		if err := x.set.Client.Do(x.t.Context(), x.set.Client.B().Hset().Key(k.Meta).FieldValue().FieldValue("until", "1").Build()).Error(); err != nil {
			x.t.Fatal(err)
		}
	}
}

// A rebuilt index contains everything from the source and all concurrent writes.
func TestRebuild(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		x := newIndex(t, partitions)
		x.mustPut("old")
		want := []string{"source"}
		err := x.rebuild(t.Context(), func(run string) error {
			for i := range 20 {
				want = append(want, fmt.Sprint("written", i))
				x.mustPut(want[len(want)-1])
			}
			return x.run(x.fill, "source", run)
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		x.want(want...)
	}
}

// A rebuild that fails or is canceled does not change the index and leaves no keys behind.
func TestAbort(t *testing.T) {
	t.Parallel()
	x := newIndex(t, 2)
	x.mustPut("a", "b")
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(t.Context())
	for want, fail := range map[error]func() error{
		broken:           func() error { return broken },
		context.Canceled: func() error { cancel(); return ctx.Err() },
	} {
		err := x.rebuild(ctx, func(run string) error {
			if err := x.run(x.fill, "new", run); err != nil {
				return err
			}
			x.mustPut("c")
			return fail()
		})
		if !errors.Is(err, want) && !errors.Is(err, context.Canceled) {
			t.Errorf("Rebuild: %v, want %v", err, want)
		}
		x.want("a", "b", "c")
	}
}

// A new run replaces the one in progress.
func TestReplaced(t *testing.T) {
	t.Parallel()
	x := newIndex(t, 1)
	err := x.rebuild(t.Context(), func(run string) error {
		if err := x.run(x.fill, "first", run); err != nil {
			return err
		}
		if err := x.rebuild(t.Context(), func(run string) error { return x.run(x.fill, "second", run) }); err != nil {
			t.Error(err)
		}
		return x.run(x.fill, "third", run)
	})
	if !errors.Is(err, maintain.ErrReplaced) {
		t.Errorf("Rebuild: %v, want ErrReplaced", err)
	}
	x.want("second")
}

// Once Finish has started to apply concurrent writes, Fill is rejected because the data from the
// source would be older.
func TestFillAfterFinish(t *testing.T) {
	t.Parallel()
	x := newIndex(t, 1)
	if err := x.tracker.Begin(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	x.mustPut("a", "b")
	k := &x.set.Keys[0]
	finish := func() (int64, error) {
		return x.finish.Run(t.Context(), x.set.Client, x.keys(k), append(x.set.Args(), "run")).AsInt64()
	}
	if n, err := finish(); n != 0 || err != nil {
		t.Fatalf("first Finish = %d, %v; want 0", n, err)
	}
	if err := engine.Replaced(x.run(x.fill, "a", "run")); !errors.Is(err, maintain.ErrReplaced) {
		t.Errorf("Fill after Finish: %v, want ErrReplaced", err)
	}
	if n, err := finish(); n != 1 || err != nil {
		t.Fatalf("second Finish = %d, %v; want 1", n, err)
	}
	x.want("a", "b")
}

// After its lease, a killed run cannot continue. The keys of the run are reported, and the next
// write, a repair or the next run removes the keys.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(x *index) error{
		"write": func(x *index) error { x.mustPut("a"); return nil },
		"repair": func(x *index) error {
			r := engine.Start(maintain.Options{})
			err := x.tracker.Leftovers(t.Context(), r, true)
			if r.Report.Repaired != 1 || r.Report.Dangling != 1 {
				t.Errorf("report of the repair: %+v, want 1 dangling and 1 repaired", r.Report)
			}
			return err
		},
		"next run": func(x *index) error {
			return x.rebuild(t.Context(), func(run string) error { return x.run(x.fill, "a", run) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newIndex(t, 1)
			x.mustPut("a")
			if err := x.tracker.Begin(t.Context(), "killed"); err != nil {
				t.Fatal(err)
			}
			if err := x.run(x.fill, "half", "killed"); err != nil {
				t.Fatal(err)
			}
			x.mustPut("a")
			leftovers := func() *engine.Run {
				r := engine.Start(maintain.Options{})
				if err := x.tracker.Leftovers(t.Context(), r, false); err != nil {
					t.Error(err)
				}
				return r
			}
			if r := leftovers(); r.Report.Problems() != 0 {
				t.Errorf("leftovers before the lease expires: %+v, want none", r.Report)
			}
			x.lapse()
			if err := engine.Replaced(x.run(x.fill, "more", "killed")); !errors.Is(err, maintain.ErrReplaced) {
				t.Errorf("Fill after the lease has expired: %v, want ErrReplaced", err)
			}
			if r := leftovers(); r.Report.Dangling != 1 || !strings.Contains(r.Report.Examples[0].Found, "entries in {k}.next: 1, ids in {k}.changed: 1") {
				t.Errorf("leftovers after the lease: %+v, want 1 dangling", r.Report)
			}
			if err := remove(x); err != nil {
				t.Fatal(err)
			}
			x.want("a")
		})
	}
}

// A run renews its lease while it works, and writes do not end the run.
func TestLease(t *testing.T) {
	t.Parallel()
	x := newIndex(t, 1)
	x.set.Lease = 2 * time.Second
	until := func() string {
		text, err := x.set.Client.Do(t.Context(), x.set.Client.B().Hget().Key("{k}.meta").Field("until").Build()).ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			t.Fatal(err)
		}
		return text
	}
	for {
		err := x.rebuild(t.Context(), func(run string) error {
			for first := until(); until() == first; {
				x.mustPut("a")
			}
			return x.run(x.fill, "b", run)
		})
		if err == nil {
			break
		}
		if !errors.Is(err, maintain.ErrReplaced) { // a stalled machine may fail to renew the lease in time
			t.Fatal(err)
		}
	}
	x.want("a", "b")
}
