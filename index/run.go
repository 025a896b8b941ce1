package index

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	engine "retwis/internal/maintain"
	"retwis/internal/partition"
	"retwis/internal/script"
)

// upkeepStep is how many entries a step looks at.
const upkeepStep = 200

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
func rebuild(ctx context.Context, set *partition.Set, r *engine.Run, scripts noting, fill, finish script.Script, src Source[string]) error {
	if src.All == nil {
		return errors.New("the source has no All")
	}
	return scripts.during(ctx, set, func(ctx context.Context, name string) error {
		w, err := newWriter(ctx, set, fill, append(set.Args(), name))
		if err != nil {
			return err
		}
		if err := fillFrom(ctx, r, w, src); err != nil {
			return replaced(err)
		}
		return caughtUp(ctx, set, finish, name)
	})
}

// fillFrom puts all that a source has into the new index.
func fillFrom(ctx context.Context, r *engine.Run, w *writer, src Source[string]) error {
	step := windowSize
	if r.Limited() {
		step = upkeepStep
	}
	stepped := func(n int) error {
		if err := w.close(); err != nil {
			return err
		}
		return r.Step(ctx, n)
	}
	n := 0
	for o, err := range src.All(ctx) {
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
