package model

import (
	"context"
	"reflect"
)

// Ref is a reference, by id, to a record of another or the same model. A field of this type is
// stored as the id; the zero Ref refers to nothing, and is not stored. With an index, the
// reference can be followed in reverse: see Store.Refs.
//
// The record may be in another database: the database of the Store passed to Get.
type Ref[T any] struct{ ID string }

// To returns a reference to the record with an id; integer ids are in decimal.
func To[T any](id string) Ref[T] { return Ref[T]{ID: id} }

// Get returns the record, or ErrNotFound: one round trip.
func (r Ref[T]) Get(ctx context.Context, s *Store[T]) (T, error) { return s.Get(ctx, r.ID) }

// IsZero reports whether the Ref refers to nothing.
func (r Ref[T]) IsZero() bool { return r.ID == "" }

// MarshalText returns the id.
func (r Ref[T]) MarshalText() ([]byte, error) { return []byte(r.ID), nil }

// UnmarshalText sets the id.
func (r *Ref[T]) UnmarshalText(text []byte) error {
	r.ID = string(text)
	return nil
}

// target returns the type of the records that the Ref refers to.
func (r Ref[T]) target() reflect.Type { return reflect.TypeFor[T]() }
