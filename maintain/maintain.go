// Package maintain defines the options and reports of maintenance runs: verifying, repairing
// and rebuilding the data that packages of this module derive from other data in Redis.
//
// An index is a copy. It can disagree with the data it was made from: after a crash of a program
// that writes index and data in separate steps, after commands typed by hand, or after a restore
// from a backup. The types that keep derived data share these methods; most take the source that
// the data was derived from:
//
//   - Verify compares and reports. It changes nothing. Data written during the run may be
//     reported although it is correct by the end.
//   - Repair corrects the problems that Verify reports. It compares again in the atomic step
//     that makes the correction, so it never overwrites a concurrent write.
//   - Rebuild builds new data from the source, while the current data remains in use. Once
//     the new data has caught up with all concurrent writes, it replaces the old data in one
//     atomic step per partition. A concurrent write wins over the source.
//   - Adopt takes over data that was created by hand or by an older version.
//
// Options limit the rate of a run and report its progress:
//
//	report, err := rooms.Verify(ctx, nil, maintain.Options{Rate: 5000})
//	if err == nil && report.Problems() > 0 {
//		log.Print(report.Examples)
//	}
//
// # Cost
//
// A run works in steps of a few hundred entries while the data is in use. It takes time
// proportional to the size of the data, but no single step blocks the server for long.
// Options.Rate limits the load.
//
// # Interrupted runs
//
// A run that fails, or whose context ends, cleans up at once. Corrections made by Repair stay.
// An unfinished Rebuild leaves the current data unchanged, except for partitions that it has
// already replaced. If the process is killed, the next write or Repair removes the leftovers of
// the run, one minute later at the earliest. Runs do not resume: a new run starts from the
// beginning. Runs are safe to repeat.
//
// A Rebuild of an index, or a Repair that compares it with objects, replaces a run in progress,
// which then returns ErrReplaced.
package maintain

import (
	"errors"
	"time"
)

// ErrReplaced is returned by a Repair or Rebuild if another run has started on the same index, or
// if the run could not reach the database for a minute. The corrections made so far stay.
var ErrReplaced = errors.New("replaced by another repair or rebuild, or stalled for too long")

// Options configure Verify, Repair, Rebuild and Adopt. The zero value is a good default.
type Options struct {
	// Rate is the maximum number of entries per second. Default 0: no limit.
	Rate int
	// Examples is the maximum number of problems in Report.Examples. Default 10; negative:
	// none.
	Examples int
	// Progress is called after each step, on the caller's goroutine.
	Progress func(Progress)
}

// Progress is the state of a run after a step.
type Progress struct {
	Report
	Total   int64 // number of entries at the start, or 0 if unknown; Checked also counts the objects of a source
	Elapsed time.Duration
}

// Report is the result of a run. It counts problems by kind, including repaired ones.
type Report struct {
	Checked  int64 // entries and objects compared; for Rebuild, objects of the source
	Missing  int64
	Stale    int64
	Dangling int64
	Invalid  int64 // kinds Invalid, Taken and Rejected
	Repaired int64 // problems corrected by the run
	Examples []Problem
}

// Problems returns the number of problems found.
func (r *Report) Problems() int64 { return r.Missing + r.Stale + r.Dangling + r.Invalid }

// Problem describes one problem.
type Problem struct {
	Kind  Kind
	ID    string // ID of the entry or object
	Found string // the current state, human-readable; empty: missing
	Want  string // the expected state; empty: none
}

// Kind classifies a problem.
type Kind string

// The kinds of problems.
const (
	Missing  Kind = "missing"  // an object, or a part of an entry, is not in the index
	Stale    Kind = "stale"    // an entry differs from its object
	Dangling Kind = "dangling" // an entry has no object, or cannot be read
	Invalid  Kind = "invalid"  // an object has a value that the index cannot hold
	Taken    Kind = "taken"    // a record has a unique value that belongs to another record
	Rejected Kind = "rejected" // a record violates the rules of its model
)
