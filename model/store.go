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

// Store holds the records of type T. Any number of goroutines and processes may use
// it at the same time.
type Store[T any] struct {
	o     *record.Objects
	t     *record.Table
	locks *locks
}

// New returns the store of a model. It reads the declaration from the struct, and
// names the field if that is no valid model. It publishes the schema in the database: about
// eight round trips, however many partitions there are. If that is cut short, the next New
// continues. If the database has other indexes, Pending lists the ones that Migrate would
// build.
func New[T any](ctx context.Context, client rueidis.Client, opt Options) (*Store[T], error) {
	o, err := open(ctx, client, opt, reflect.TypeFor[T](), computed[T]())
	if err != nil {
		return nil, err
	}
	s := &Store[T]{o: o, t: o.Table, locks: &locks{}}
	record.Relate(o, o)
	return s, nil
}

// open opens the records of a model as structs of a type.
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

// Create writes a new record and returns it with its id and version 1. If another
// record has one of its unique values, or the caller's own id, it returns a
// *TakenError and writes nothing. One script; every twentieth Create of a process takes
// ids from the counter before, in another round trip. So does an own id beside the counter
// that is larger than all that this process has seen.
func (s *Store[T]) Create(ctx context.Context, record T) (T, error) {
	created := record
	if err := s.o.Create(ctx, &created); err != nil {
		return record, wrap(s.t, err)
	}
	return created, nil
}

// Get returns a record, or ErrNotFound: one round trip. With Options.Cache it may
// answer from the memory of the client, unless this Store has written the record
// since.
func (s *Store[T]) Get(ctx context.Context, id string) (T, error) {
	var record, none T
	if err := s.o.Get(ctx, id, &record); err != nil {
		return none, wrap(s.t, err)
	}
	return record, nil
}

// GetBy returns the record that has a value of a unique field, or ErrNotFound. The value
// is of the type of the field, or means the same, as in a Cond. Two commands, one after the
// other: one finds the id, the other reads the record.
func (s *Store[T]) GetBy(ctx context.Context, field string, value any) (T, error) {
	var none T
	ptr, err := query.GetBy(ctx, s.o, field, value)
	if err != nil {
		return none, wrap(s.t, err)
	}
	return *ptr.(*T), nil
}

// GetMany returns the records with these ids that exist, in the order of the ids: one
// pipeline. It leaves out records that cannot be read; the error joins a *RecordError
// for each of the first hundred of them.
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

// Has reports whether there is a record with an id: one round trip.
func (s *Store[T]) Has(ctx context.Context, id string) (bool, error) {
	if !s.t.Layout.IsID(id) {
		return false, nil
	}
	there, err := s.t.Client.Do(ctx, s.t.Client.B().Exists().Key(s.t.Layout.Of(id).Record(id)).Build()).AsBool()
	return there, wrap(s.t, err)
}

// Save writes a whole record that exists, and returns it with its next version.
// Fields of the stored record that the struct does not have stay; counters keep their
// stored values, which are returned. If the model has a version, and another writer
// has changed the record, it returns ErrConflict; without a version the last writer
// wins. It returns ErrNotFound if there is no such record, and a *TakenError as
// Create does. One script, or two if the value of an indexed field changes.
func (s *Store[T]) Save(ctx context.Context, record T) (T, error) {
	saved := record
	if err := s.o.Save(ctx, &saved); err != nil {
		return record, wrap(s.t, err)
	}
	return saved, nil
}

// Put writes a whole record, whether one with its id exists or not, and returns it with its
// version. Without an id it is Create. It overwrites: the version of the struct is ignored,
// and that of the stored record goes up by one, so that a Save of what was read before
// returns ErrConflict. Counters and the time of creation of a record that exists stay as
// they are, and are returned; so do fields that the struct does not have. It returns a
// *TakenError as Create does. One script; a second one if the record exists and its indexed
// values change, or it has indexes of what stays as it is.
func (s *Store[T]) Put(ctx context.Context, record T) (T, error) {
	written := record
	if err := s.o.Put(ctx, &written); err != nil {
		return record, wrap(s.t, err)
	}
	return written, nil
}

// Touch makes a record expire after ttl from now, by the clock of the server. It changes
// the field with the option expires, and nothing else: not the version either, so that a
// Save of what was read before sets it back. One script, unless the field has an index, or
// the model has computed ones: then it is a Patch. It returns ErrNotFound if there is no
// such record.
func (s *Store[T]) Touch(ctx context.Context, id string, ttl time.Duration) error {
	return wrap(s.t, s.o.Touch(ctx, id, ttl))
}

// Update reads a record, calls f with it, writes what f changed, and returns the record as
// it is then. It starts again if another writer interfered: f may be called more than
// once, and should have no other effect. An error of f ends it with nothing written; so do
// ErrNotFound and a *TakenError.
//
// Two round trips without interference; one if f changes nothing. A model without a version
// compares all fields, as a digest: the server reads the record, 0.1 ms for each 16 kB. In a
// model with computed indexes a change of indexed values takes one more.
func (s *Store[T]) Update(ctx context.Context, id string, f func(*T) error) (T, error) {
	ptr, err := s.o.Update(ctx, id, func(ptr any) error { return f(ptr.(*T)) })
	return edited[T](s.t, ptr, err)
}

// Patch sets some fields of a record, by their stored names, and leaves the others
// alone, so that writers of different fields do not disturb each other. A value has
// the type of the field, or means the same, as in a Cond; nil clears the field. If the
// model has a version, it goes up by one. The old value of a patched field need not be
// readable. It returns the record with the fields as they are then, and others as they
// were read. It returns the errors of Update, and costs as much; without a version it
// compares only the fields that have indexes.
func (s *Store[T]) Patch(ctx context.Context, id string, values map[string]any) (T, error) {
	ptr, err := s.o.Patch(ctx, id, values)
	return edited[T](s.t, ptr, err)
}

// edited returns the record of an Update or Patch.
func edited[T any](t *record.Table, ptr any, err error) (_ T, _ error) {
	if err != nil {
		var none T
		return none, wrap(t, err)
	}
	return *ptr.(*T), nil
}

// Incr adds n, which may be negative, to a counter of a record and returns the sum. A
// counter is a field with the option counter, which only Incr changes. One script, which
// moves the index entries too. In a model with computed indexes it reads and writes the
// record as Patch does. It returns ErrNotFound if there is no such
// record, a *BoundError if the sum would be beyond the option min or max of the field, with
// the value as it is, ErrValue if it would not fit into the field, and a *TakenError if
// another record has a unique value that is computed from it; then nothing is changed. The
// version and the time of the last write of the record stay.
func (s *Store[T]) Incr(ctx context.Context, id, field string, n int64) (int64, error) {
	sum, err := s.o.Incr(ctx, id, field, n)
	return sum, wrap(s.t, err)
}

// Delete deletes a record, its sets and lists, and its index entries. It returns
// ErrNotFound if there is none, ErrCorrupt if its key does not hold a hash, and ErrUnknown
// for a hash that the model did not write, unless Options.Adopt accepts it. First it treats the records of this and other models
// (see Relate) that refer to it, by the rule of the field:
//
//	restrict  there must be none: otherwise it returns a *ReferencedError
//	cascade   they are deleted, by the rules of those that refer to them in turn
//	clear     their references are removed
//
// If nothing refers to the record that is a command that reads its index entries, and one
// script, which also checks that nothing refers to it. So it is for models in one hash slot
// of one database. Records in other slots, of models with Partitions and in other databases
// are looked for before; references made meanwhile are found only by cascade and clear,
// which look again afterwards.
//
// A record is deleted after those that refer to it, a hundred at a time. So an interrupted
// Delete leaves a record that can be deleted again, and no dangling reference. Records
// deleted until then stay deleted, even if a restrict is found deeper down; a restrict on
// the record itself refuses before anything is done. Records that refer to each other in a
// cycle are deleted together. Delete needs memory for the longest chain of references, not
// for all records that it deletes.
//
// A record that expires is not deleted: references to it stay. Delete then returns
// ErrNotFound, after it has applied cascade and clear.
func (s *Store[T]) Delete(ctx context.Context, id string) error {
	err := s.o.CheckID(id)
	if err == nil {
		err = s.t.Delete(ctx, id)
	}
	return wrap(s.t, err)
}
