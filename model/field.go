package model

import (
	"context"
	"errors"
	"iter"
	"reflect"
)

// Field reads a single field of a record, by its stored name. V must be the Go type of the
// field; otherwise it returns ErrValue. A field that is not stored has its zero value. It
// returns ErrNotFound if there is no such record. One round trip; it does not use the
// client-side cache.
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
// Query.All does. It reads only this field and those of the conditions.
//
//	for name, err := range model.Pluck[string](ctx, people.Find().OrderBy("name"), "name") {
func Pluck[V, T any](ctx context.Context, q *Query[T], name string) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var none V
		t := q.f.Objects.Table
		number, err := q.f.Objects.TypedField(name, reflect.TypeFor[V]())
		if err == nil {
			err = q.f.EachField(ctx, number, func(field reflect.Value, err error) bool {
				if err != nil {
					return yield(none, wrap(t, err))
				}
				return yield(field.Interface().(V), nil)
			})
		}
		if err != nil {
			yield(none, wrap(t, err))
		}
	}
}

// Get returns the record with an id if it matches the query, or ErrNotFound. OrderBy, Limit and
// After are ignored. It reads the record and no index: one round trip.
func (q *Query[T]) Get(ctx context.Context, id string) (T, error) {
	var none T
	ptr, err := q.f.Get(ctx, id)
	if err != nil {
		return none, wrap(q.f.Objects.Table, err)
	}
	return *ptr.(*T), nil
}

// Has reports whether the record with an id matches the query, as Get does.
func (q *Query[T]) Has(ctx context.Context, id string) (bool, error) {
	_, err := q.Get(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
