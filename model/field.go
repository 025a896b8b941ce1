package model

import (
	"context"
	"errors"
	"iter"
	"reflect"
)

// Field reads a single field of a record, by its stored name. V must be the Go type of the
// field; otherwise Field returns ErrValue. For a field that is not stored, Field returns the
// zero value, and for a missing record, ErrNotFound. One round trip; the client-side cache is
// not used.
//
//	name, err := model.Field[string](ctx, people, id, "name")
func Field[V, T any](ctx context.Context, s *Store[T], id, name string) (V, error) {
	var value V
	number, err := s.o.TypedField(name, reflect.TypeFor[V]())
	if err == nil {
		var field reflect.Value
		if field, err = s.o.Field(ctx, id, number); err == nil {
			value = field.Interface().(V)
		}
	}
	return value, wrap(s.t, err)
}

// Pluck streams a single field of each record that a query finds, in the order of the query, as
// Query.All does. It reads only this field and the fields of the conditions.
//
//	for name, err := range model.Pluck[string](ctx, people.Find().OrderBy("name"), "name") {
func Pluck[V, T any](ctx context.Context, q *Query[T], name string) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var zero V
		t := q.f.Objects.Table
		number, err := q.f.Objects.TypedField(name, reflect.TypeFor[V]())
		if err == nil {
			err = q.f.EachField(ctx, number, func(field reflect.Value, err error) bool {
				if err != nil {
					return yield(zero, wrap(t, err))
				}
				return yield(field.Interface().(V), nil)
			})
		}
		if err != nil {
			yield(zero, wrap(t, err))
		}
	}
}

// Get returns the record with an id if it matches the query, or ErrNotFound. OrderBy, Limit and
// After are ignored. Get reads only the record, not the indexes: one round trip.
func (q *Query[T]) Get(ctx context.Context, id string) (T, error) {
	var zero T
	ptr, err := q.f.Get(ctx, id)
	if err != nil {
		return zero, wrap(q.f.Objects.Table, err)
	}
	return *ptr.(*T), nil
}

// Has reports whether a record with an id exists and matches the query. It costs as much as
// Get.
func (q *Query[T]) Has(ctx context.Context, id string) (bool, error) {
	_, err := q.Get(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
