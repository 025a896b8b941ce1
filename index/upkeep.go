package index

import "time"

// Upkeep says how Verify, Repair and Rebuild go about their work. The zero value
// is a good default.
type Upkeep struct {
	// Rate is how many entries are looked at in a second, at most. 0: as fast
	// as it goes, a few hundred at a time.
	Rate int
	// Examples is how many problems the report shows. 0: 10, negative: none.
	Examples int
	// After is the Cursor of an earlier Verify or Repair that was cut short: go
	// on there. A Rebuild always begins at the beginning.
	After string
	// Progress is called after every step.
	Progress func(Progress)
}

// Progress is how far a run has come.
type Progress struct {
	Report
	Total   int64 // how many there are to look at, about; 0: not known
	Elapsed time.Duration
	Cursor  string // for Upkeep.After, to go on behind here; empty in a Rebuild
}

// Report says what Verify found, and what Repair did.
type Report struct {
	Checked  int64 // how many entries and objects were looked at
	Missing  int64 // objects, or entries, that the index does not lead to
	Stale    int64 // entries that say something else than their object
	Dangling int64 // entries of objects that are not there, or of nothing at all
	Invalid  int64 // objects with a value that the index cannot hold
	Repaired int64 // how many of these were mended
	Examples []Problem
}

// Problems is how many were found.
func (r *Report) Problems() int64 { return r.Missing + r.Stale + r.Dangling + r.Invalid }

// Problem is one thing that was found.
type Problem struct {
	Kind  string // "missing", "stale", "dangling" or "invalid"
	ID    string
	Found string // what the index says, for a person; empty: nothing
	Want  string // what it should say; empty: nothing
}
