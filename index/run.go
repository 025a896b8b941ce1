package index

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/index/internal/partition"
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

// everywhere runs a script with the name of a run in every partition.
func everywhere(ctx context.Context, set *partition.Set, script partition.Script, name string) error {
	calls := make([]partition.Call, len(set.Keys))
	for i := range set.Keys {
		calls[i] = partition.Call{Keys: set.Keys[i].All(), Args: append(set.Args(), name)}
	}
	for _, r := range script.RunMany(ctx, set.Client, calls) {
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
func caughtUp(ctx context.Context, set *partition.Set, finish partition.Script, name string) error {
	for i := range set.Keys {
		step := partition.Call{Keys: set.Keys[i].All(), Args: append(set.Args(), name)}
		for n, done := 1, false; !done; n = min(2*n, maxCatchUp) {
			var err error
			if done, err = finished(finish.RunMany(ctx, set.Client, slices.Repeat([]partition.Call{step}, n))); err != nil {
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

// resumed returns the name of the run that a cursor is of, and where its source
// goes on; a new name where there is no cursor.
func resumed(after string) (name, source string, err error) {
	if after == "" {
		return newName(), "", nil
	}
	name, source, ok := strings.Cut(after, " ")
	if !ok {
		return "", "", fmt.Errorf("%q is not a cursor of a rebuild", after)
	}
	return name, source, nil
}

// underWay fails where a run is not under way.
func underWay(ctx context.Context, set *partition.Set, name string) error {
	for i := range set.Keys {
		found, err := set.Client.Do(ctx, set.Client.B().Hget().Key(set.Keys[i].Meta).Field("rebuild").Build()).ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
		if found != name {
			return fmt.Errorf("%w: what the cursor is of has ended: begin anew", ErrReplaced)
		}
	}
	return nil
}

// rebuild fills a new index from a source and puts it in the place of the old.
func rebuild(ctx context.Context, set *partition.Set, r *run, begin, fill, finish partition.Script, src Source[string]) error {
	if src.Walk == nil {
		return errors.New("the source has no Walk")
	}
	name, from, err := resumed(r.up.After)
	if err != nil {
		return err
	}
	// It declares the index, so that nothing begins in the partitions of one that
	// is spread otherwise.
	w, err := newWriter(ctx, set, fill, append(set.Args(), name))
	if err != nil {
		return err
	}
	if r.up.After == "" {
		err = everywhere(ctx, set, begin, name)
	} else {
		err = underWay(ctx, set, name)
	}
	if err != nil {
		return err
	}
	if err := r.fillFrom(ctx, w, name, src, from); err != nil {
		return replaced(err)
	}
	return caughtUp(ctx, set, finish, name)
}

// fillFrom puts all that a source has into the new index.
func (r *run) fillFrom(ctx context.Context, w *writer, name string, src Source[string], from string) error {
	step := windowSize
	if r.up.Rate > 0 {
		step = upkeepStep
	}
	// A cursor may be told only of what is in.
	stepped := func(n int) error {
		if err := w.close(); err != nil {
			return err
		}
		cursor := ""
		if from != "" {
			cursor = name + " " + from
		}
		return r.stepped(ctx, n, cursor)
	}
	n := 0
	for o, err := range src.Walk(ctx, from) {
		if err = cmp.Or(err, o.Err); err == nil {
			err = w.add(o.ID, o.Value)
		}
		if err != nil {
			return cmp.Or(err, w.close())
		}
		if o.Cursor != "" {
			from = o.Cursor
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
