package model

import (
	"context"
	"reflect"
)

// Ref is a reference to a record of another model, or of the same: its id. A
// field of this type is stored as the id; the zero Ref refers to nothing, and is
// not stored. With an index it can be followed back: see Store.Refs.
//
// The record may be in another database: it is the Store given to Get that knows
// where.
type Ref[T any] struct{ ID string }

// To returns a reference to the record with an id: one that is an integer in
// decimal.
func To[T any](id string) Ref[T] { return Ref[T]{ID: id} }

// Get returns the record that is referred to: one round trip, or ErrNotFound.
func (r Ref[T]) Get(ctx context.Context, s *Store[T]) (T, error) { return s.Get(ctx, r.ID) }

// IsZero tells whether it refers to nothing.
func (r Ref[T]) IsZero() bool { return r.ID == "" }

// MarshalText is the id.
func (r Ref[T]) MarshalText() ([]byte, error) { return []byte(r.ID), nil }

// UnmarshalText reads an id.
func (r *Ref[T]) UnmarshalText(text []byte) error {
	r.ID = string(text)
	return nil
}

func (r Ref[T]) target() reflect.Type { return reflect.TypeFor[T]() }

// targetOf returns what a Ref refers to, and nil for other types.
func targetOf(t reflect.Type) reflect.Type {
	if ref, ok := reflect.Zero(t).Interface().(interface{ target() reflect.Type }); ok {
		return ref.target()
	}
	return nil
}
