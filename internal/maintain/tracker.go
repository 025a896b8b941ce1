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

// Tracker lets the writers of an index note which ids they change while a Repair or a
// Rebuild goes on. A run has a lease in the metadata of each partition: when its process
// is killed, the next write after the lease removes what it left.
type Tracker struct {
	set  *partition.Set
	more func(*partition.Keys) []string

	trackerScripts
}

type trackerScripts struct{ begin, renew, end, leftover script.Script }

var allScripts = sync.OnceValue(func() trackerScripts {
	of := func(source string) script.Script { return partition.NewScript(source) }
	return trackerScripts{begin: of(beginLua), renew: of(renewLua), end: of(endLua), leftover: of(leftoverLua)}
})

// NewTracker returns the tracker of an index. more returns the keys of a partition that a
// rebuild makes besides Next and NextContent, KEYS[7] and on; it may be nil.
func NewTracker(set *partition.Set, more func(*partition.Keys) []string) *Tracker {
	return &Tracker{set: set, more: more, trackerScripts: allScripts()}
}

// NewFinish returns the script of Rebuild.Finish, which may use the functions of
// finish.lua.
func NewFinish(sources ...string) script.Script {
	return partition.NewScript(append([]string{finishLua}, sources...)...)
}

// endTimeout bounds the attempt to end a run that was cut short. Where it cannot be
// ended, its lease runs out.
const endTimeout = 5 * time.Second

// During runs a function while writers note what they change. However the function
// ends, they stop, and what it made and did not put in place is removed.
func (t *Tracker) During(ctx context.Context, f func(ctx context.Context, run string) error) error {
	_, err := t.during(ctx, f)
	return err
}

// IfIdle is During where no run is under way, and reports whether that was so. It leaves
// other runs alone, and one that begins meanwhile replaces it, which is no error.
func (t *Tracker) IfIdle(ctx context.Context, f func(ctx context.Context, run string) error) (bool, error) {
	idle, err := t.during(ctx, f, "idle")
	if errors.Is(err, maintain.ErrReplaced) {
		return false, nil
	}
	return idle, err
}

// during runs a function unless begin.lua replies with these arguments that another run is
// under way.
func (t *Tracker) during(ctx context.Context, f func(ctx context.Context, run string) error, args ...string) (bool, error) {
	if len(t.set.Keys) > 1 { // or it would begin in partitions that the index does not have
		if err := t.set.Declare(ctx); err != nil {
			return false, err
		}
	}
	run := rand.Text()
	busy, err := t.everywhere(ctx, t.begin, run, args...)
	if err == nil && !busy {
		stop := t.keepLease(ctx, run)
		err = f(ctx, run)
		stop()
	}
	// Also when ctx is done, and when it began in some partitions only.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if _, ended := t.everywhere(ending, t.end, run); err == nil {
		err = ended
	}
	return !busy, Replaced(err)
}

// Begin begins a run without keeping its lease: on its own only for tests of a run that
// was killed.
func (t *Tracker) Begin(ctx context.Context, run string) error {
	_, err := t.everywhere(ctx, t.begin, run)
	return err
}

// keepLease renews the lease of a run until it is stopped.
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
				// Where it fails for too long, the steps of the run are refused.
				_, _ = t.everywhere(ctx, t.renew, run)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// everywhere runs a script with the name of a run, its lease and other arguments in every
// partition. It reports whether one replied something other than 0.
func (t *Tracker) everywhere(ctx context.Context, s script.Script, run string, args ...string) (other bool, err error) {
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
		other = other || n != 0
	}
	return other, nil
}

func (t *Tracker) keys(i int) []string {
	keys := &t.set.Keys[i]
	if t.more == nil {
		return keys.All()
	}
	return append(keys.All(), t.more(keys)...)
}

// Leftovers looks for what a killed run left, and removes it if repair is set.
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

// Rebuild are the parts of a rebuild.
type Rebuild struct {
	// Fill puts what the source has into the new data. Its scripts check with the
	// function replaced of declare.lua that the run is under way.
	Fill func(ctx context.Context, run string) error
	// Finish is a script of NewFinish. Its arguments are the declaration, the name of the
	// run, and Args.
	Finish script.Script
	Keys   func(*partition.Keys) []string // of Finish; nil: Keys.All
	Args   []string
}

// Rebuild makes new data next to the present ones, and puts them in their place once they
// have caught up with all that was written meanwhile: in one step of each partition.
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

// maxPipeline is the maximum number of last steps in one pipeline.
const maxPipeline = 64

// catchUp runs the last steps of a rebuild in one partition. The pipelines grow: with one
// step per round trip it would never catch up with writers that pipeline.
func (t *Tracker) catchUp(ctx context.Context, finish script.Script, step script.Call) error {
	for n := 1; ; n = min(2*n, maxPipeline) {
		done, err := finished(finish.RunMany(ctx, t.set.Client, slices.Repeat([]script.Call{step}, n)))
		if done || err != nil {
			return err
		}
	}
}

// finished reports whether one of the steps was the last. Those after it are refused,
// which is no error.
func finished(steps []rueidis.RedisResult) (bool, error) {
	for _, s := range steps {
		n, err := s.AsInt64()
		if err != nil || n != 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// Replaced returns maintain.ErrReplaced where a script replied that another run is under
// way, and other errors as they are.
func Replaced(err error) error {
	var reply *rueidis.RedisError
	if errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "REPLACED") {
		return maintain.ErrReplaced
	}
	return err
}
