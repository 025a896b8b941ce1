// Package maintain has the options and reports of maintenance: checking, repairing and
// rebuilding what the packages of this module derive from other data in Redis.
//
// An index is a copy. It can disagree with the data it was made from: after a crash of
// a program that writes the two in separate steps, after commands typed by hand, after
// a restore from a backup. The types that keep such data have the same methods, most of
// them with a source of the data they were made from:
//
//   - Verify compares and reports. It changes nothing. What is written during the run
//     may be reported although it is right by the end.
//   - Repair finds what Verify finds and corrects it. It compares again in the atomic
//     step that makes the correction, so that it never overwrites a concurrent write.
//   - Rebuild makes everything anew from the source, next to the present data, which
//     keep serving. The new data replace the old in one step of each partition, after
//     they have caught up with all that was written meanwhile; a concurrent write wins
//     over what the source said.
//   - Adopt takes over data that were made by hand, or by an older version.
//
// All of them work in steps of a few hundred entries while the data are in use: they
// take time in proportion to the data, but no step holds up the server. Options.Rate
// bounds their share of it.
//
// # Interrupted runs
//
// A run that fails, or whose context ends, cleans up at once: what Repair has corrected
// stays, an unfinished Rebuild leaves the present data as they were, except that of
// several partitions some can have been replaced already. After a process was killed,
// the next write or Repair removes what it left, a minute later at the earliest.
// Nothing resumes: a run starts at the beginning, and it does no harm to repeat one.
//
// A Rebuild of an index, or a Repair that compares it with objects, replaces one that is
// under way, which then returns ErrReplaced.
package maintain

import (
	"errors"
	"time"
)

// ErrReplaced is returned by a Repair or Rebuild after another has begun on the same
// index, or after it could not reach the database for a minute. What it has repaired
// stays.
var ErrReplaced = errors.New("another repair or rebuild has begun, or this one stood still for too long")

// Options of Verify, Repair, Rebuild and Adopt. The zero value is a good default.
type Options struct {
	// Rate is the maximum number of entries per second. 0: no limit, a few hundred at a
	// time.
	Rate int
	// Examples is the maximum number of problems in Report.Examples. 0: 10, negative:
	// none.
	Examples int
	// Progress is called after every step, from the goroutine of the caller.
	Progress func(Progress)
}

// Progress is the state of a run after a step.
type Progress struct {
	Report
	Total   int64 // how many entries there are, about; 0: not known
	Elapsed time.Duration
}

// Report is the result of a run. It counts the problems by their kind, including those
// that were repaired.
type Report struct {
	Checked  int64 // entries and objects that were compared; of Rebuild, objects of the source
	Missing  int64
	Stale    int64
	Dangling int64
	Invalid  int64 // of kind Invalid, Taken and Rejected
	Repaired int64 // problems that the run has corrected
	Examples []Problem
}

// Problems returns the number of problems found.
func (r *Report) Problems() int64 { return r.Missing + r.Stale + r.Dangling + r.Invalid }

// Problem is one disagreement.
type Problem struct {
	Kind  Kind
	ID    string // of the entry or object
	Found string // what there is, as text for people; empty: nothing
	Want  string // what there should be; empty: nothing
}

// Kind is a kind of problem.
type Kind string

// The kinds of problems.
const (
	Missing  Kind = "missing"  // an object, or a part of an entry, is not in the index
	Stale    Kind = "stale"    // an entry differs from its object
	Dangling Kind = "dangling" // an entry has no object, or cannot be read
	Invalid  Kind = "invalid"  // an object has a value that the index cannot hold
	Taken    Kind = "taken"    // a record has a unique value that another record has
	Rejected Kind = "rejected" // a record is not valid by the rules of its model
)
