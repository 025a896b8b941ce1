package maintain

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
	"retwis/maintain"
)

var (
	//go:embed begin.lua
	beginLua string
	//go:embed renew.lua
	renewLua string
	//go:embed end.lua
	endLua string
	//go:embed leftover.lua
	leftoverLua string
	//go:embed finish.lua
	finishLua string
)

// Tracker lets writers of an index record the ids they change during a Repair or Rebuild. A run
// holds a lease in the metadata of each partition: if the process is killed, the next write after
// the lease expires removes the leftovers of the run.
type Tracker struct {
	set   *partition.Set
	extra func(*partition.Keys) []string

	trackerScripts
}

type trackerScripts struct{ begin, renew, end, leftover script.Script }

var allScripts = sync.OnceValue(func() trackerScripts {
	build := func(source string) script.Script { return partition.NewScript(source) }
	return trackerScripts{begin: build(beginLua), renew: build(renewLua), end: build(endLua), leftover: build(leftoverLua)}
})

// NewTracker returns the tracker of an index. extra returns the keys that a rebuild creates in a
// partition besides Next and NextContent: KEYS[7] onward. It may be nil.
func NewTracker(set *partition.Set, extra func(*partition.Keys) []string) *Tracker {
	return &Tracker{set: set, extra: extra, trackerScripts: allScripts()}
}

// NewFinish returns the script of Rebuild.Finish, which may use the functions of
// finish.lua.
func NewFinish(sources ...string) script.Script {
	return partition.NewScript(append([]string{finishLua}, sources...)...)
}

// endTimeout bounds the attempt to end an interrupted run. If that fails, its lease expires.
const endTimeout = 5 * time.Second

// During runs f while writers record the ids they change. When f returns, with or without an error,
// writers stop recording, and new data that f did not put in place is removed.
func (t *Tracker) During(ctx context.Context, f func(ctx context.Context, run string) error) error {
	_, err := t.during(ctx, f)
	return err
}

// IfIdle is like During, but does nothing if a run is in progress; it reports whether f ran to
// its end. A run that starts meanwhile replaces this run, which is not an error.
func (t *Tracker) IfIdle(ctx context.Context, f func(ctx context.Context, run string) error) (bool, error) {
	idle, err := t.during(ctx, f, "idle")
	if errors.Is(err, maintain.ErrReplaced) {
		return false, nil
	}
	return idle, err
}

// during runs f unless begin.lua, called with args, replies that another run is in progress.
func (t *Tracker) during(ctx context.Context, f func(ctx context.Context, run string) error, args ...string) (bool, error) {
	if len(t.set.Keys) > 1 { // else the run would start in partitions that the index does not have
		if err := t.set.Declare(ctx); err != nil {
			return false, err
		}
	}
	run := rand.Text()
	busy, err := t.inAllPartitions(ctx, t.begin, run, args...)
	if err == nil && !busy {
		stop := t.keepLease(ctx, run)
		err = f(ctx, run)
		stop()
	}
	// End the run even if ctx is done, or if the run started in some of the partitions only.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if _, endErr := t.inAllPartitions(ending, t.end, run); err == nil {
		err = endErr
	}
	return !busy, Replaced(err)
}

// Begin starts a run without renewing its lease. It is exported for tests of killed runs.
func (t *Tracker) Begin(ctx context.Context, run string) error {
	_, err := t.inAllPartitions(ctx, t.begin, run)
	return err
}

// keepLease renews the lease of a run until stop is called.
func (t *Tracker) keepLease(ctx context.Context, run string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(t.set.Lease / 4)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// If this fails for too long, the scripts refuse the steps of the run.
				_, _ = t.inAllPartitions(ctx, t.renew, run)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// inAllPartitions runs a script in each partition, with the name of a run, its lease and args. It
// reports whether any reply is not 0.
func (t *Tracker) inAllPartitions(ctx context.Context, s script.Script, run string, args ...string) (nonzero bool, err error) {
	calls := make([]script.Call, len(t.set.Keys))
	for i := range t.set.Keys {
		calls[i] = script.Call{
			Keys: t.keys(i),
			Args: append(append(t.set.Args(), run, strconv.FormatInt(t.set.Lease.Milliseconds(), 10)), args...),
		}
	}
	for _, r := range s.RunMany(ctx, t.set.Client, calls) {
		n, err := r.AsInt64()
		if err != nil {
			return false, err
		}
		nonzero = nonzero || n != 0
	}
	return nonzero, nil
}

func (t *Tracker) keys(i int) []string {
	keys := &t.set.Keys[i]
	if t.extra == nil {
		return keys.All()
	}
	return append(keys.All(), t.extra(keys)...)
}

// Leftovers reports leftovers of a killed run, and removes them if repair is set.
func (t *Tracker) Leftovers(ctx context.Context, r *Run, repair bool) error {
	remove := ""
	if repair {
		remove = "1"
	}
	for i := range t.set.Keys {
		keys := &t.set.Keys[i]
		left, err := t.leftover.Run(ctx, t.set.Client, t.keys(i), append(t.set.Args(), remove)).AsIntSlice()
		if err != nil {
			return err
		}
		if len(left) == 0 {
			continue
		}
		r.Found(maintain.Problem{
			Kind:  maintain.Dangling,
			Found: fmt.Sprintf("left by a killed repair or rebuild: entries in %s: %d, ids in %s: %d", keys.Next, left[0], keys.Changed, left[1]),
		})
		if repair {
			r.Report.Repaired++
		}
	}
	return nil
}

// Rebuild describes a rebuild.
type Rebuild struct {
	// Fill writes the objects of the source into the new data. Its scripts call replaced
	// (declare.lua) to check that the run is still in progress.
	Fill func(ctx context.Context, run string) error
	// Finish is a script made by NewFinish. Its arguments are the declaration, the name of the
	// run, and Args.
	Finish script.Script
	Keys   func(*partition.Keys) []string // keys of Finish; nil: Keys.All
	Args   []string
}

// Rebuild builds new data next to the current data, and replaces the current data once the new data
// has caught up with all concurrent writes, in one atomic step per partition.
func (t *Tracker) Rebuild(ctx context.Context, r Rebuild) error {
	if r.Keys == nil {
		r.Keys = (*partition.Keys).All
	}
	return t.During(ctx, func(ctx context.Context, run string) error {
		if err := r.Fill(ctx, run); err != nil {
			return err
		}
		for i := range t.set.Keys {
			call := script.Call{Keys: r.Keys(&t.set.Keys[i]), Args: append(append(t.set.Args(), run), r.Args...)}
			if err := t.catchUp(ctx, r.Finish, call); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxPipeline is the maximum number of finish scripts in one pipeline.
const maxPipeline = 64

// catchUp runs the finish script of a rebuild in one partition until the rebuild is done. The
// pipelines grow: one step per round trip would never catch up with writers that pipeline.
func (t *Tracker) catchUp(ctx context.Context, finish script.Script, step script.Call) error {
	for n := 1; ; n = min(2*n, maxPipeline) {
		done, err := finished(finish.RunMany(ctx, t.set.Client, slices.Repeat([]script.Call{step}, n)))
		if done || err != nil {
			return err
		}
	}
}

// finished reports whether one of the steps was the last step. The steps after the last step are
// refused, which is not an error.
func finished(steps []rueidis.RedisResult) (bool, error) {
	for _, s := range steps {
		n, err := s.AsInt64()
		if err != nil || n != 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// Replaced returns maintain.ErrReplaced if a script replied that another run is in progress,
// and other errors unchanged.
func Replaced(err error) error {
	var reply *rueidis.RedisError
	if errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "REPLACED") {
		return maintain.ErrReplaced
	}
	return err
}
