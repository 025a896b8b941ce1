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
// records Checked and Repaired and the problems of each kind (Missing, Stale, Dangling,
// Invalid). Examples has the first problems with id, found and expected state. The kinds are
//
//	missing   a record that is not in its indexes, or not in all of them
//	stale     a record for which an index has other values
//	dangling  entries, sets or lists of a record that does not exist
//	invalid   a record with a field that is unreadable, or that an index cannot hold
//	taken     a record with a unique value that belongs to another record; counted as invalid
//
// Unknown counts keys that could be records, but that the model did not write and Options.Adopt
// does not accept. UnknownKeys has examples of these keys.
type Report = run.Report

// Verify checks that records and indexes are consistent, in short steps while the model is in
// use, and changes nothing. It checks each apparent problem again in one script that reads the
// record and all its index entries, so that concurrent writes are not reported. It costs two
// round trips per 100 records, one per 100 index entries, and a SCAN of the keys of every
// server.
func (s *Store[T]) Verify(ctx context.Context, opt maintain.Options) (Report, error) {
	return verify(ctx, s.t, run.DryRun, opt)
}

// Repair corrects the problems that Verify finds: indexes are changed to match the fields of
// the records. Records written by other programs are added to the indexes if Options.Adopt
// accepts them. Expired records, and leftovers of deleted records with their sets and lists,
// are removed. Invalid and taken records are not changed: correct these records. The model
// stays in use, and an interrupted run can be repeated.
func (s *Store[T]) Repair(ctx context.Context, opt maintain.Options) (Report, error) {
	return verify(ctx, s.t, run.Repair, opt)
}

func verify(ctx context.Context, t *record.Table, m run.Mode, opt maintain.Options) (Report, error) {
	r, err := run.Verify(ctx, t, m, opt)
	return r, wrap(t, err)
}

// Migrate puts the declaration of this Store into force and adds all records to its indexes,
// while the model is in use. If the declaration is in force already, Migrate only adds the
// records that Options.Adopt, if set, accepts; after a Migrate that only dropped indexes, it
// scans all records again.
//
// From the start of Migrate, writers with other declarations get ErrSchema, since they would
// not maintain the new indexes. The exception is a migration that only drops indexes: writers
// with the previous declaration may continue if it has all the indexes of the new one, and the
// same expires field. After the last of these writers has ended, call Migrate once more: it
// removes their entries from the dropped indexes, and refuses such writers from then on.
//
// Within a second, queries get ErrSchema on an index that is not built yet, or will be dropped;
// indexes in both declarations stay available. Records that no model wrote are found by their keys,
// and added to the indexes if Options.Adopt accepts them, in the order of their ids if these come
// from a counter. Without Adopt the Report counts them as Unknown, and the first Migrate with keys
// older than the model returns ErrUnknown before the indexes count as built. Finally, the keys of
// indexes that are no longer declared are deleted, except keys named in Options.Keys.
//
// If an index becomes unique and two records have the same value, the record created first owns
// the value. Among records of different partitions, or records that no model wrote, the record
// that Migrate reads first owns it; before Migrate has read that record, a writer can give the
// value to another record. The Report lists the other record as "taken". The taken record is in
// all other indexes, and Repair gives it the value once the owner has released the value. Until
// then, writing the taken record returns ErrTaken unless its value changes, and Verify reports
// the record again. An unreadable record is reported as invalid, and not changed.
//
// An interrupted run does no harm; a repeated run starts from the beginning. Two concurrent
// runs do the same work twice. If a program with the old declaration starts again and also
// calls Migrate, it reverts the migration: call Migrate from one place, such as a deployment
// step. Migrate costs two round trips per 100 records, and a SCAN of the keys of every server.
func (s *Store[T]) Migrate(ctx context.Context, opt maintain.Options) (Report, error) {
	return migrateAll(ctx, s.t, opt)
}

func migrateAll(ctx context.Context, t *record.Table, opt maintain.Options) (Report, error) {
	r, err := run.Migrate(ctx, t, opt)
	return r, wrap(t, err)
}

// Pending describes what Migrate would do: the indexes it would build and drop, or nothing if
// the database matches the declaration. One round trip.
func (s *Store[T]) Pending(ctx context.Context) ([]string, error) {
	all, err := s.t.Registry.Pending(ctx)
	return all, wrap(s.t, err)
}

// Drop deletes the model with all its data: records with their sets and lists, indexes, the
// counter, and the entry in the list of models. Records of other models that refer to the model
// are not changed, nor are keys that the model has not adopted.
//
// Writers get ErrSchema until Drop ends; later writers start with an empty model. Drop works in
// steps of a hundred records; an interrupted run must be repeated.
func (s *Store[T]) Drop(ctx context.Context, opt maintain.Options) (Report, error) {
	return drop(ctx, s.t, opt)
}

func drop(ctx context.Context, t *record.Table, opt maintain.Options) (Report, error) {
	r, err := run.Drop(ctx, t, opt)
	return r, wrap(t, err)
}

// Sweep removes expired records from the indexes, a hundred per pipeline, and returns their
// number. Queries never find expired records, swept or not: sweeping frees memory.
func (s *Store[T]) Sweep(ctx context.Context) (int, error) {
	n, err := s.t.SweepAll(ctx)
	return n, wrap(s.t, err)
}

// SweepEvery calls Sweep at an interval until the context ends, and returns the error of the
// context or the first error of Sweep. Any number of processes may call it.
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
