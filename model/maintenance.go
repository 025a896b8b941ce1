package model

import (
	"context"
	"fmt"
	"time"

	"retwis/maintain"
	run "retwis/model/internal/maintain"
	"retwis/model/internal/record"
)

// Report is the result of Verify, Repair, Migrate and Drop. The maintain.Report counts the
// records that were Checked and Repaired and the problems of each kind (Missing, Stale,
// Dangling, Invalid), and Examples has the first of them with id, what was found and what
// was wanted. The kinds are
//
//	missing   a record that is not in its indexes, or not in all of them
//	stale     a record of which an index has other values
//	dangling  entries, sets or lists of a record that does not exist
//	invalid   a record with a field that cannot be read, or that an index cannot hold
//	taken     a record with a unique value that another record has; counted as invalid
//
// Unknown counts the keys that could be records, but that neither the model wrote nor
// Options.Adopt accepts. UnknownKeys are some of them.
type Report = run.Report

// Verify checks that records and indexes agree, in short steps while the model is in
// use, and changes nothing. It compares what seems wrong again in one script, with the
// record and all its index entries: a concurrent write is not reported. It costs two
// round trips for 100 records, one for 100 entries of an index, and a SCAN of the keys
// of every server.
func (s *Store[T]) Verify(ctx context.Context, opt maintain.Options) (Report, error) {
	return verify(ctx, s.t, run.DryRun, opt)
}

// Repair corrects what Verify finds: the fields of a record are right. Records that
// other programs wrote enter the indexes if Options.Adopt accepts them, expired ones
// leave them, and what is left of deleted ones is removed, with their sets and lists.
// Invalid and taken records stay as they are: change the record. The model stays in
// use, and an interrupted run can be repeated.
func (s *Store[T]) Repair(ctx context.Context, opt maintain.Options) (Report, error) {
	return verify(ctx, s.t, run.Repair, opt)
}

func verify(ctx context.Context, t *record.Table, m run.Mode, opt maintain.Options) (Report, error) {
	r, err := run.Verify(ctx, t, m, opt)
	return r, wrap(t, err)
}

// Migrate puts the declaration of this Store into force, and brings all records into
// its indexes, while the model is in use. If it is in force already, Migrate only brings in
// the records that Options.Adopt accepts, if it is set; after a Migrate that only dropped
// indexes, it scans all records again.
//
// From its beginning, writers with other declarations get ErrSchema: they would not
// maintain the new indexes. Only writers with the previous declaration may go on if that
// has all the indexes of this one, and the same expires: then indexes are only dropped.
// Call Migrate once more when the last of them has ended: it removes what they have
// written to the dropped indexes, and refuses them from then on.
//
// Queries get ErrSchema, within a second, on an index that is not
// yet built, or will be dropped; indexes that both declarations have serve throughout.
// Records that no model wrote are found by their keys, and enter the indexes if
// Options.Adopt accepts them, in the order of their ids if these come from a counter.
// Without Adopt the Report counts them as Unknown, and the first Migrate of keys that
// are older than the model ends with ErrUnknown before the indexes count as built. At
// the end the keys of indexes that are no longer declared are deleted, except those
// that Options.Keys named.
//
// If an index becomes unique and two records have the same value, the record that was
// created first gets it. Among records of different partitions, or that no model wrote,
// it is the one that Migrate reads first. A writer can give the value to another record
// before Migrate has read the first. The Report has the other record as "taken". All
// other indexes have that record, and Repair gives it the value after the owner has left it.
// Until then, writing the record returns ErrTaken unless its value changes, and Verify
// reports it again. A record that cannot be read is reported as invalid, and stays as
// it is.
//
// An interrupted run does no harm, and is repeated from the beginning; two at the same
// time do the same work twice. A program with the old declaration that starts again and
// calls Migrate, too, reverts it all: call it from one place, such as a step of the
// deployment. It costs two round trips for 100 records, and a SCAN of the keys of every
// server.
func (s *Store[T]) Migrate(ctx context.Context, opt maintain.Options) (Report, error) {
	return migrateAll(ctx, s.t, opt)
}

func migrateAll(ctx context.Context, t *record.Table, opt maintain.Options) (Report, error) {
	r, err := run.Migrate(ctx, t, opt)
	return r, wrap(t, err)
}

// Pending describes what Migrate would do: which indexes it would build and which it
// would drop, or nothing if the database is as declared. One round trip.
func (s *Store[T]) Pending(ctx context.Context) ([]string, error) {
	all, err := s.t.Registry.Pending(ctx)
	return all, wrap(s.t, err)
}

// Drop deletes the model and all that it has written: records with their sets and
// lists, indexes, its counter and its place in the list of models. Records of other
// models that refer to it stay as they are, and so do keys that it has not adopted.
//
// Writers get ErrSchema until it ends; later ones begin with an empty model. It works
// in steps of a hundred records; an interrupted run must be repeated.
func (s *Store[T]) Drop(ctx context.Context, opt maintain.Options) (Report, error) {
	return drop(ctx, s.t, opt)
}

func drop(ctx context.Context, t *record.Table, opt maintain.Options) (Report, error) {
	r, err := run.Drop(ctx, t, opt)
	return r, wrap(t, err)
}

// Sweep removes expired records from the indexes, a hundred in a pipeline, and returns
// how many there were. Queries never find them, swept or not: sweeping frees their
// memory.
func (s *Store[T]) Sweep(ctx context.Context) (int, error) {
	n, err := s.t.SweepAll(ctx)
	return n, wrap(s.t, err)
}

// SweepEvery calls Sweep at an interval until the context ends, and returns its error
// or the first error of Sweep. Any number of processes may do so.
func (s *Store[T]) SweepEvery(ctx context.Context, interval time.Duration) error {
	if interval <= 0 {
		return wrap(s.t, fmt.Errorf("SweepEvery(%v): the interval must be more than 0", interval))
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if _, err := s.Sweep(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return wrap(s.t, ctx.Err())
		case <-ticker.C:
		}
	}
}
