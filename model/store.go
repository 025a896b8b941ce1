package model

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/redis/rueidis"

	"retwis/model/internal/query"
	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// Store holds the records of type T. It is safe for concurrent use, by goroutines and by
// processes.
type Store[T any] struct {
	o     *record.Objects
	t     *record.Table
	locks *locks
}

// New returns the store of a model. It reads the declaration from the struct; if the struct is
// not a valid model, the error names the field. It publishes the schema in the database: about
// eight round trips, for any number of partitions. If New is interrupted, the next New
// continues. If the database has different indexes, Pending lists the indexes that Migrate
// would build and drop.
func New[T any](ctx context.Context, client rueidis.Client, opt Options) (*Store[T], error) {
	o, err := open(ctx, client, opt, reflect.TypeFor[T](), computed[T]())
	if err != nil {
		return nil, err
	}
	s := &Store[T]{o: o, t: o.Table, locks: &locks{}}
	record.Relate(o, o)
	return s, nil
}

// open opens a model whose records are structs of a type.
func open(ctx context.Context, client rueidis.Client, opt Options, typ reflect.Type, indexes []schema.IndexDeclaration) (*record.Objects, error) {
	d, err := schema.Declare(typ, schema.Types{Collection: collectionOf, Target: targetOf, Prefixed: isPrefixed}, indexes)
	if err != nil {
		return nil, fmt.Errorf("model: %w: %w", ErrDeclaration, err)
	}
	t, err := record.NewTable(client, record.Options(opt), d)
	if err != nil {
		return nil, fmt.Errorf("model: %w: %w", ErrDeclaration, err)
	}
	o, err := record.NewObjects(ctx, t, d)
	if err != nil {
		return nil, named(opt.Name, err)
	}
	return o, nil
}

// Create writes a new record and returns it with its id and version 1. If another record has
// one of its unique values, or an id set by the caller, it returns a *TakenError and writes
// nothing. One script. Every twentieth Create of a process takes another round trip to reserve
// ids from the counter; so does an integer id set by the caller if it is larger than all ids
// that this process has reserved or set.
func (s *Store[T]) Create(ctx context.Context, record T) (T, error) {
	created := record
	if err := s.o.Create(ctx, &created); err != nil {
		return record, wrap(s.t, err)
	}
	return created, nil
}

// Get returns a record, or ErrNotFound: one round trip. With Options.Cache it may return a
// record cached in the client, unless this Store has written the record since.
func (s *Store[T]) Get(ctx context.Context, id string) (T, error) {
	var record, zero T
	if err := s.o.Get(ctx, id, &record); err != nil {
		return zero, wrap(s.t, err)
	}
	return record, nil
}

// GetBy returns the record with a value of a unique field, or ErrNotFound. The value has the
// type of the field or an equivalent, as in a Cond. Two round trips: one finds the id, the
// other reads the record.
func (s *Store[T]) GetBy(ctx context.Context, field string, value any) (T, error) {
	var zero T
	ptr, err := query.GetBy(ctx, s.o, field, value)
	if err != nil {
		return zero, wrap(s.t, err)
	}
	return *ptr.(*T), nil
}

// GetMany returns the existing records with the given ids, in their order: one pipeline. It
// omits unreadable records; the error joins a *RecordError for each of the first hundred.
func (s *Store[T]) GetMany(ctx context.Context, ids ...string) ([]T, error) {
	records := make([]T, 0, len(ids))
	var damaged recordErrors
	err := s.o.GetMany(ctx, ids, func(ptr any, err error) {
		if err != nil {
			damaged.add(wrap(s.t, err))
		} else {
			records = append(records, *ptr.(*T))
		}
	})
	if err != nil {
		return nil, wrap(s.t, err)
	}
	return records, damaged.join()
}

// Has reports whether a record exists: one round trip.
func (s *Store[T]) Has(ctx context.Context, id string) (bool, error) {
	if !s.t.Layout.IsID(id) {
		return false, nil
	}
	exists, err := s.t.Client.Do(ctx, s.t.Client.B().Exists().Key(s.t.Layout.Of(id).Record(id)).Build()).AsBool()
	return exists, wrap(s.t, err)
}

// Save overwrites an existing record, and returns it with its next version. Stored fields that
// the struct does not have are kept; counters keep their stored values, which are returned. If
// the model has a version, and another writer has changed the record, Save returns ErrConflict;
// without a version the last writer wins. It returns ErrNotFound if there is no such record,
// and a *TakenError as Create does. One script, or two if the value of an indexed field
// changes.
func (s *Store[T]) Save(ctx context.Context, record T) (T, error) {
	saved := record
	if err := s.o.Save(ctx, &saved); err != nil {
		return record, wrap(s.t, err)
	}
	return saved, nil
}

// Put creates or overwrites a record, and returns it with its version. Without an id it is
// Create. It ignores the version of the struct and increments the version of the stored record,
// so that a Save of an earlier read returns ErrConflict. For an existing record, counters and
// the time of creation are kept and returned; stored fields that the struct does not have are
// also kept. It returns a *TakenError as Create does. One script, or two if the record exists
// and its indexed values change, or kept values are indexed.
func (s *Store[T]) Put(ctx context.Context, record T) (T, error) {
	written := record
	if err := s.o.Put(ctx, &written); err != nil {
		return record, wrap(s.t, err)
	}
	return written, nil
}

// Touch makes a record expire after ttl, by the clock of the server. It only changes the field
// with the option expires. The version does not change, so a Save of an earlier read resets the
// expiry. One script, unless the field has an index or the model has computed indexes: then it
// is a Patch. It returns ErrNotFound if there is no such record.
func (s *Store[T]) Touch(ctx context.Context, id string, ttl time.Duration) error {
	return wrap(s.t, s.o.Touch(ctx, id, ttl))
}

// Update reads a record, calls f with it, writes what f changed, and returns the resulting
// record. If another writer interferes, Update starts again: f may be called more than once,
// and should have no side effects. If f returns an error, nothing is written; the same holds
// for ErrNotFound and a *TakenError.
//
// Two round trips without interference; one if f changes nothing. Without a version, the server
// compares a digest of all fields, which takes 0.1 ms per 16 kB. In a model with computed
// indexes a change of indexed values takes one more round trip.
func (s *Store[T]) Update(ctx context.Context, id string, f func(*T) error) (T, error) {
	ptr, err := s.o.Update(ctx, id, func(ptr any) error { return f(ptr.(*T)) })
	return edited[T](s.t, ptr, err)
}

// Patch sets fields of a record, by their stored names, and leaves the others unchanged, so
// that writers of different fields do not interfere. A value has the type of the field or an
// equivalent, as in a Cond; nil clears the field. If the model has a version, it is
// incremented. The old value of a patched field need not be readable. Patch returns the record
// with the new values; other fields are as they were read. It returns the errors of Update, and
// costs as much; without a version it compares only indexed fields.
func (s *Store[T]) Patch(ctx context.Context, id string, values map[string]any) (T, error) {
	ptr, err := s.o.Patch(ctx, id, values)
	return edited[T](s.t, ptr, err)
}

// edited converts the result of an Update or Patch.
func edited[T any](t *record.Table, ptr any, err error) (_ T, _ error) {
	if err != nil {
		var zero T
		return zero, wrap(t, err)
	}
	return *ptr.(*T), nil
}

// Incr adds n, which may be negative, to a counter of a record and returns the sum. A counter
// is a field with the option counter, which only Incr changes. One script, which also updates
// index entries; in a model with computed indexes it reads and writes the record as Patch does.
// It returns ErrNotFound if there is no such record, a *BoundError with the current value if
// the sum would exceed the option min or max of the field, ErrValue if the sum would not fit
// into the field, and a *TakenError if another record has a unique value computed from the sum.
// On an error nothing changes. The version and the time of the last write do not change.
func (s *Store[T]) Incr(ctx context.Context, id, field string, n int64) (int64, error) {
	sum, err := s.o.Incr(ctx, id, field, n)
	return sum, wrap(s.t, err)
}

// Delete deletes a record, its sets and lists, and its index entries. It returns ErrNotFound if
// there is no such record, ErrCorrupt if its key does not hold a hash, and ErrUnknown for a
// hash that the model did not write, unless Options.Adopt accepts the hash. It first handles
// the records of this and other models (see Relate) that refer to the record, by the rule of
// the referring field:
//
//	restrict  Delete returns a *ReferencedError
//	cascade   the referring records are deleted, by the same rules
//	clear     the references are removed
//
// If nothing refers to the record, Delete takes one command that reads the index entries, and
// one script, which also checks for references. This applies to models in the same hash slot of
// the same database. References from other slots, from models with Partitions and from other
// databases are searched before the script; references created meanwhile are only found by
// cascade and clear, which search again after the script.
//
// A record is deleted after the records that refer to it, a hundred at a time. An interrupted
// Delete therefore leaves no dangling references, and can be repeated. If Delete returns an
// error, such as a restrict on a record deeper in the chain, records already deleted stay
// deleted; a restrict on the record itself fails before anything is deleted. Records that refer
// to each other in a cycle are deleted together. Delete needs memory for the longest chain of
// references, not for all records that it deletes.
//
// Expiry does not apply the rules: references to an expired record stay. Delete of an expired
// record applies cascade and clear, and then returns ErrNotFound.
func (s *Store[T]) Delete(ctx context.Context, id string) error {
	err := s.o.CheckID(id)
	if err == nil {
		err = s.t.Delete(ctx, id)
	}
	return wrap(s.t, err)
}
