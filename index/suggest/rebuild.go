package suggest

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	engine "retwis/internal/maintain"
	"retwis/internal/partition"
	"retwis/maintain"
)

// Rebuild makes the index anew, next to the one in use, and replaces it in one step of
// each partition. The source yields how often each term was searched for, once per term
// or, as a log does, many times; blocked terms are passed over. A concurrent write wins
// over the source: of each term that is written meanwhile, the new index has what the
// present one has. The report counts what came from the source.
//
// A rebuild that fails changes nothing, except for partitions that it has replaced
// already. What a killed one left goes with the first write a minute later, or with
// Repair. If another one begins, it ends with maintain.ErrReplaced.
func (x *Index) Rebuild(ctx context.Context, source iter.Seq2[Suggestion, error], opt maintain.Options) (maintain.Report, error) {
	run := engine.Start(opt)
	err := x.tracker().Rebuild(ctx, engine.Rebuild{
		Fill:   func(ctx context.Context, name string) error { return x.fillFrom(ctx, run, name, source) },
		Finish: x.scripts.finish,
		Keys:   func(p *partition.Keys) []string { return keysOf(p).all() },
		Args:   []string{strconv.Itoa(batchTerms), strconv.Itoa(batchBytes)},
	})
	if err != nil {
		err = fmt.Errorf("rebuild: %w", x.set.Error(ctx, err))
		x.wrap(&err)
	}
	return run.Report, err
}

// tracker lets writers note what they change during a rebuild.
func (x *Index) tracker() *engine.Tracker {
	return engine.NewTracker(x.set, engine.TrackerOptions{
		More: func(p *partition.Keys) []string { return []string{keysOf(p).nextHeads} },
	})
}

// fillFrom counts the terms of a source in the new index.
func (x *Index) fillFrom(ctx context.Context, run *engine.Run, name string, source iter.Seq2[Suggestion, error]) error {
	var batch []Suggestion
	step := func() error {
		_, err := x.add(ctx, batch, name)
		if err == nil {
			err = run.Step(ctx, len(batch))
		}
		batch = batch[:0]
		return err
	}
	for s, err := range source {
		if err != nil {
			return err
		}
		if batch = append(batch, s); len(batch) == batchTerms*pipeline {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return step()
}
