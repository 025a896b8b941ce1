package model

import (
	"context"
	"time"

	"retwis/maintain"
)

// Upkeep says how Migrate, Verify, Repair and Drop go about their work. The zero
// value is a good default.
type Upkeep struct {
	// Rate is how many entries are looked at in a second, at most. 0: as fast
	// as it goes, a few hundred at a time.
	Rate int
	// Examples is how many problems the report shows. 0: 10, negative: none.
	Examples int
	// After is the Cursor of an earlier run that was cut short: go on there.
	After string
	// Progress is called after every step.
	Progress func(Progress)
	// Adopt says which hashes (with the encoding JSON, strings) that the model
	// did not write are its records: Migrate and Repair bring them into the
	// indexes, Verify finds them missing. It gets what follows the beginning of
	// the keys of records, and never a key of another model. Nil: none; the
	// Report counts them as Unknown.
	Adopt func(id string) bool
}

// Report says what was found, and what was repaired.
type Report struct {
	maintain.Report
	// Unknown is how many keys there are that could be records, but that the
	// model did not write and Upkeep.Adopt did not take; UnknownKeys are some.
	Unknown     int64
	UnknownKeys []string
}

// Progress is how far a run has come.
type Progress struct {
	maintain.Progress
	Cursor string // for Upkeep.After
}

// Problem is one thing that was found. Beside the kinds that the indexes of
// package index have there is "taken", which counts as invalid: a record with a
// unique value that another record has.
type Problem = maintain.Problem

// Kinds of problems.
const (
	missing  = maintain.Missing
	stale    = maintain.Stale
	dangling = maintain.Dangling
	invalid  = maintain.Invalid
	taken    = maintain.Taken
)

// upkeepStep is how many records or entries a step looks at.
const upkeepStep = 100

// run is a Migrate, Verify or Repair under way.
type run struct {
	t      *table
	mode   mode
	up     Upkeep
	begin  time.Time
	report Report
	total  int64
	asked  bool        // others are known
	others []neighbour // the other models of the database
}

// mode is what a run does with what it finds.
type mode string

// The modes.
const (
	look    mode = "look"
	mend    mode = "mend"
	migrate mode = "migrate" // mends, and forgets what the declaration does not have
)

func (t *table) newRun(m mode, up Upkeep) *run {
	switch {
	case up.Examples == 0:
		up.Examples = 10
	case up.Examples < 0:
		up.Examples = 0
	}
	return &run{t: t, mode: m, up: up, begin: time.Now()}
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
	default:
		r.report.Invalid++
	}
	if len(r.report.Examples) < r.up.Examples {
		r.report.Examples = append(r.report.Examples, p)
	}
}

// unknown counts keys that the model did not write.
func (r *run) unknown(p *partition, ids []string) {
	r.report.Unknown += int64(len(ids))
	for _, id := range ids {
		if len(r.report.UnknownKeys) < r.up.Examples {
			r.report.UnknownKeys = append(r.report.UnknownKeys, p.of(id))
		}
	}
}

// mended counts a problem that was mended, if this run mends.
func (r *run) mended(n int) {
	if r.mode != look {
		r.report.Repaired += int64(n)
	}
}

// stepped tells of a step that looked at n records or entries, and waits until it
// is time for the next.
func (r *run) stepped(ctx context.Context, n int, cursor string) error {
	r.report.Checked += int64(n)
	if r.up.Progress != nil {
		r.up.Progress(Progress{maintain.Progress{Report: r.report.Report, Total: r.total, Elapsed: time.Since(r.begin)}, cursor})
	}
	if r.up.Rate <= 0 {
		return ctx.Err()
	}
	due := r.begin.Add(time.Duration(float64(r.report.Checked) / float64(r.up.Rate) * float64(time.Second)))
	return sleep(ctx, time.Until(due))
}
