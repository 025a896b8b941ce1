package model

import (
	"context"
	"fmt"
	"reflect"

	"github.com/redis/rueidis"
)

// Store holds the records of type T. Any number of goroutines and processes may use
// it at the same time.
type Store[T any] struct {
	o     *objects
	t     *table
	locks *locks
}

// New returns the store of a model. It reads the declaration from the struct, and
// names the field if that is no valid model. It publishes the schema in the database:
// one round trip for each partition, within 10 seconds. If the database has other
// indexes, Pending lists the ones that Migrate would build.
func New[T any](client rueidis.Client, opt Options) (*Store[T], error) {
	o, err := open(client, opt, reflect.TypeFor[T](), computed[T]())
	if err != nil {
		return nil, err
	}
	s := &Store[T]{o: o, t: o.t, locks: &locks{}}
	relate(o, o)
	return s, nil
}

// open opens the records of a model as structs of a type.
func open(client rueidis.Client, opt Options, typ reflect.Type, indexes []indexDeclaration) (*objects, error) {
	d, err := declare(typ, types{collectionOf, targetOf}, indexes)
	if err != nil {
		return nil, fmt.Errorf("model: %w: %w", ErrDeclaration, err)
	}
	t, err := newTable(client, opt, d)
	if err != nil {
		return nil, fmt.Errorf("model: %w: %w", ErrDeclaration, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), registerTimeout)
	defer cancel()
	o, err := newObjects(ctx, t, d)
	if err != nil {
		return nil, fmt.Errorf("model: %s: %w", opt.Name, err)
	}
	handOvers(o.t)
	return o, nil
}

// Create writes a new record and returns it with its id and version 1. If another
// record has one of its unique values, or the caller's own id, it returns a
// *TakenError and writes nothing. One script, which takes the id from the counter too;
// a second one if another process creates a record at the same moment. For a model
// with Partitions, or whose counter is in another slot of a Cluster, the id takes
// another round trip.
func (s *Store[T]) Create(ctx context.Context, record T) (T, error) {
	err := s.o.create(ctx, &record)
	return record, s.t.wrap(err)
}

// Get returns a record, or ErrNotFound: one round trip. With Options.Cache it may
// answer from the memory of the client, unless this Store has written the record
// since.
func (s *Store[T]) Get(ctx context.Context, id string) (T, error) {
	var record T
	err := s.o.get(ctx, id, &record)
	return record, s.t.wrap(err)
}

// GetMany returns the records with these ids that exist, in the order of the ids: one
// pipeline. It leaves out records that cannot be read; the error joins a *RecordError
// for each of the first hundred of them.
func (s *Store[T]) GetMany(ctx context.Context, ids ...string) ([]T, error) {
	records := make([]T, 0, len(ids))
	var damaged recordErrors
	err := s.o.getMany(ctx, ids, func(ptr any, err error) {
		if err != nil {
			damaged.add(s.t.wrap(err))
		} else {
			records = append(records, *ptr.(*T))
		}
	})
	if err != nil {
		return nil, s.t.wrap(err)
	}
	return records, damaged.join()
}

// Exists reports whether there is a record with an id: one round trip.
func (s *Store[T]) Exists(ctx context.Context, id string) (bool, error) {
	there, err := s.t.client.Do(ctx, s.t.client.B().Exists().Key(s.t.of(id).of(id)).Build()).AsBool()
	return there, s.t.wrap(err)
}

// Save writes a whole record that exists, and returns it with its next version.
// Fields of the stored record that the struct does not have stay; counters keep their
// stored values, which are returned. If the model has a version, and another writer
// has changed the record, it returns ErrConflict; without a version the last writer
// wins. It returns ErrNotFound if there is no such record, and a *TakenError as
// Create does. One script.
func (s *Store[T]) Save(ctx context.Context, record T) (T, error) {
	saved := record
	if err := s.o.save(ctx, &saved); err != nil {
		return record, s.t.wrap(err)
	}
	return saved, nil
}

// Update reads a record, calls f with it and writes what f changed. It starts again
// if another writer interfered: f may be called more than once, and should have no
// other effect. An error of f ends it with nothing written; so do ErrNotFound and a
// *TakenError. Two round trips without interference; one if f changes nothing.
func (s *Store[T]) Update(ctx context.Context, id string, f func(*T) error) error {
	return s.t.wrap(s.o.update(ctx, id, func(ptr any) error { return f(ptr.(*T)) }))
}

// Patch sets some fields of a record, by their stored names, and leaves the others
// alone, so that writers of different fields do not disturb each other. A value has
// the type of the field, or means the same, as in a Cond; nil clears the field. If the
// model has a version, it goes up by one. The old value of a patched field need not be
// readable. It returns the errors of Update, and costs as much.
func (s *Store[T]) Patch(ctx context.Context, id string, values map[string]any) error {
	return s.t.wrap(s.o.patch(ctx, id, values))
}

// Incr adds n, which may be negative, to a counter of a record and returns the sum. A
// counter is a field with the option counter, which only Incr changes. One script. It
// returns ErrNotFound if there is no such record, and ErrValue, with nothing changed,
// if the sum would not fit into the field. The version of the record stays.
func (s *Store[T]) Incr(ctx context.Context, id, field string, n int64) (int64, error) {
	sum, err := s.o.incr(ctx, id, field, n)
	return sum, s.t.wrap(err)
}

// wrap adds the name of the model to an error.
func (t *table) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("model: %s: %w", t.opt.Name, err)
}
