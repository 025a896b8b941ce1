package index

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/partition"
	"retwis/internal/script"
)

// run is a Verify, Repair or Rebuild under way.
type run struct {
	up     Upkeep
	pace   *partition.Pace
	begin  time.Time
	report Report
	total  int64
}

// upkeepStep is how many entries a step looks at.
const upkeepStep = 200

func newRun(up Upkeep) *run {
	switch {
	case up.Examples == 0:
		up.Examples = 10
	case up.Examples < 0:
		up.Examples = 0
	}
	return &run{up: up, pace: partition.NewPace(up.Rate), begin: time.Now()}
}

// found counts a problem.
func (r *run) found(p Problem) {
	switch p.Kind {
	case missing:
		r.report.Missing++
	case stale:
		r.report.Stale++
	case dangling:
		r.report.Dangling++
	case invalid:
		r.report.Invalid++
	}
	if len(r.report.Examples) < r.up.Examples {
		r.report.Examples = append(r.report.Examples, p)
	}
}

// Kinds of problems.
const (
	missing  = "missing"
	stale    = "stale"
	dangling = "dangling"
	invalid  = "invalid"
)

// stepped tells of a step that looked at n entries, and waits until it is time
// for the next.
func (r *run) stepped(ctx context.Context, n int, cursor string) error {
	r.report.Checked += int64(n)
	if r.up.Progress != nil {
		r.up.Progress(Progress{Report: r.report, Total: r.total, Elapsed: time.Since(r.begin), Cursor: cursor})
	}
	return r.pace.Done(ctx, n)
}

// newName returns the name of a run.
func newName() string { return rand.Text() }

// everywhere runs a script with the name of a run, and how long it goes on without
// being heard of, in every partition.
func everywhere(ctx context.Context, set *partition.Set, s script.Script, name string) error {
	calls := make([]script.Call, len(set.Keys))
	for i := range set.Keys {
		calls[i] = script.Call{Keys: set.Keys[i].All(), Args: append(set.Args(), name, strconv.FormatInt(set.Lease.Milliseconds(), 10))}
	}
	for _, r := range s.RunMany(ctx, set.Client, calls) {
		if err := replaced(r.Error()); err != nil {
			return err
		}
	}
	return nil
}

// replaced is what a script replied, ErrReplaced where that is what it says.
func replaced(err error) error {
	if e, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(e.Error(), "REPLACED") {
		return ErrReplaced
	}
	return err
}

// maxCatchUp is how many of the last steps of a Rebuild go in one pipeline, at
// most.
const maxCatchUp = 64

// caughtUp runs the last steps of a Rebuild until every partition has its new
// index. The pipelines grow: those of several PutMany, of twenty scripts each,
// would for ever be ahead of a step a round trip.
func caughtUp(ctx context.Context, set *partition.Set, finish script.Script, name string) error {
	for i := range set.Keys {
		step := script.Call{Keys: set.Keys[i].All(), Args: append(set.Args(), name)}
		for n, done := 1, false; !done; n = min(2*n, maxCatchUp) {
			var err error
			if done, err = finished(finish.RunMany(ctx, set.Client, slices.Repeat([]script.Call{step}, n))); err != nil {
				return replaced(err)
			}
		}
	}
	return nil
}

// finished tells whether one of the last steps of a partition was the last. Those
// behind it are refused, which is no error.
func finished(steps []rueidis.RedisResult) (bool, error) {
	for _, s := range steps {
		n, err := s.AsInt64()
		if err != nil || n != 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// rebuild fills a new index from a source and puts it in the place of the old.
func rebuild(ctx context.Context, set *partition.Set, r *run, scripts noting, fill, finish script.Script, src Source[string]) error {
	switch {
	case src.Walk == nil:
		return errors.New("the source has no Walk")
	case r.up.After != "":
		return fmt.Errorf("%w: a rebuild begins at the beginning: leave After empty", ErrValue)
	}
	return scripts.during(ctx, set, func(ctx context.Context, name string) error {
		w, err := newWriter(ctx, set, fill, append(set.Args(), name))
		if err != nil {
			return err
		}
		if err := r.fillFrom(ctx, w, src); err != nil {
			return replaced(err)
		}
		return caughtUp(ctx, set, finish, name)
	})
}

// fillFrom puts all that a source has into the new index.
func (r *run) fillFrom(ctx context.Context, w *writer, src Source[string]) error {
	step := windowSize
	if r.up.Rate > 0 {
		step = upkeepStep
	}
	stepped := func(n int) error {
		if err := w.close(); err != nil {
			return err
		}
		return r.stepped(ctx, n, "")
	}
	n := 0
	for o, err := range src.Walk(ctx, "") {
		if err = cmp.Or(err, o.Err); err == nil {
			err = w.add(o.ID, o.Value)
		}
		if err != nil {
			return cmp.Or(err, w.close())
		}
		if n++; n == step {
			if err := stepped(n); err != nil {
				return err
			}
			n = 0
		}
	}
	return stepped(n)
}
