// Package maintain is the engine of package retwis/maintain: it counts the problems that a run
// finds, limits the rate of the run, and lets writers record the ids that they change during a
// repair or rebuild.
package maintain

import (
	"context"
	"iter"
	"time"

	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/maintain"
)

// Run is a Verify, Repair, Rebuild or Adopt in progress. It is not safe for concurrent use.
type Run struct {
	Report maintain.Report
	Total  int64 // see maintain.Progress

	opt   maintain.Options
	begin time.Time
	paced int64 // entries counted towards the rate
}

// defaultExamples is Options.Examples when it is 0.
const defaultExamples = 10

// Start starts a run.
func Start(opt maintain.Options) *Run {
	if opt.Examples == 0 {
		opt.Examples = defaultExamples
	}
	return &Run{opt: opt, begin: time.Now()}
}

// Limited reports whether the run has a maximum rate, and so must take small steps.
func (r *Run) Limited() bool { return r.opt.Rate > 0 }

// Examples returns the maximum number of examples in the report.
func (r *Run) Examples() int { return max(0, r.opt.Examples) }

// Found counts a problem.
func (r *Run) Found(p maintain.Problem) {
	switch p.Kind {
	case maintain.Missing:
		r.Report.Missing++
	case maintain.Stale:
		r.Report.Stale++
	case maintain.Dangling:
		r.Report.Dangling++
	default:
		r.Report.Invalid++
	}
	if len(r.Report.Examples) < r.opt.Examples {
		r.Report.Examples = append(r.Report.Examples, p)
	}
}

// Step adds n to Report.Checked, reports progress, and waits until the rate allows the next
// step.
func (r *Run) Step(ctx context.Context, n int) error {
	r.Report.Checked += int64(n)
	return r.Uncounted(ctx, n)
}

// Uncounted is like Step, but does not add to Report.Checked.
func (r *Run) Uncounted(ctx context.Context, n int) error {
	if r.opt.Progress != nil {
		r.opt.Progress(maintain.Progress{Report: r.Report, Total: r.Total, Elapsed: time.Since(r.begin)})
	}
	return r.Pace(ctx, n)
}

// Pace waits until the rate allows the next step after n more entries.
func (r *Run) Pace(ctx context.Context, n int) error {
	r.paced += int64(n)
	if r.opt.Rate <= 0 {
		return ctx.Err()
	}
	due := r.begin.Add(time.Duration(float64(r.paced) / float64(r.opt.Rate) * float64(time.Second)))
	wait := time.NewTimer(time.Until(due))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return nil
	}
}

// Entries checks the sorted set of every partition of an index, in pages of at most count
// members, each followed by its score.
func (r *Run) Entries(ctx context.Context, set *partition.Set, count int, check func(i int, page []string) (int, error)) error {
	for i := range set.Keys {
		pages := scan.SortedSet(ctx, set.Client, set.Keys[i].Index, count)
		if err := r.Pages(ctx, pages, func(page []string) (int, error) { return check(i, page) }); err != nil {
			return err
		}
	}
	return nil
}

// Content checks the hash next to the index in every partition, in pages of at most count
// fields, each followed by its value.
func (r *Run) Content(ctx context.Context, set *partition.Set, count int, check func(i int, page []string) (int, error)) error {
	for i := range set.Keys {
		pages := scan.Hash(ctx, set.Client, set.Keys[i].Content, count)
		if err := r.Pages(ctx, pages, func(page []string) (int, error) { return check(i, page) }); err != nil {
			return err
		}
	}
	return nil
}

// Pages calls check for each page of a scan; each page is one step. check returns the number of
// entries that it compared.
func (r *Run) Pages(ctx context.Context, pages iter.Seq2[[]string, error], check func(page []string) (int, error)) error {
	for page, err := range pages {
		if err != nil {
			return err
		}
		n, err := check(page)
		if err != nil {
			return err
		}
		if err := r.Step(ctx, n); err != nil {
			return err
		}
	}
	return nil
}
