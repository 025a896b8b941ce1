package suggest

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// Rebuild builds a new index from a source. The new index then replaces the current one
// atomically, partition by partition. The source yields terms with numbers of searches, each
// term once or, as in a log, many times; blocked terms are skipped. Concurrent writes win over
// the source. The report counts the terms of the source.
//
// A failed rebuild changes nothing, except for partitions already replaced. Leftovers of a
// killed rebuild are removed by Repair, or by the first write a minute later. If another rebuild
// starts, the first rebuild returns maintain.ErrReplaced.
func (x *Index) Rebuild(ctx context.Context, source iter.Seq2[Suggestion, error], opt maintain.Options) (maintain.Report, error) {
	report, err := x.rebuild(ctx, source, opt)
	if err != nil {
		err = fmt.Errorf("rebuild: %w", err)
		x.wrap(&err)
	}
	return report, err
}

func (x *Index) rebuild(ctx context.Context, source iter.Seq2[Suggestion, error], opt maintain.Options) (maintain.Report, error) {
	run := engine.Start(opt)
	err := x.tracker().Rebuild(ctx, engine.Rebuild{
		Fill:   func(ctx context.Context, name string) error { return x.fillFrom(ctx, run, name, source) },
		Finish: x.scripts.finish,
		Keys:   func(p *partition.Keys) []string { return keysOf(p).all() },
		Args:   []string{strconv.Itoa(batchTerms), strconv.Itoa(batchBytes)},
	})
	return run.Report, x.set.Error(ctx, err)
}

// tracker records concurrent writes during a rebuild.
func (x *Index) tracker() *engine.Tracker {
	return engine.NewTracker(x.set, func(p *partition.Keys) []string { return []string{keysOf(p).nextCache} })
}

// stepTerms is the number of terms written in a step of a rebuild.
const stepTerms = 1600

// fillFrom writes the terms of a source to the new index.
func (x *Index) fillFrom(ctx context.Context, run *engine.Run, name string, source iter.Seq2[Suggestion, error]) error {
	var batch []request
	step := func() error {
		err := x.write(ctx, batch, writing{rebuild: name})
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
		r, err := x.request(s)
		if err != nil {
			return err
		}
		if batch = append(batch, r); len(batch) == stepTerms {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return step()
}
