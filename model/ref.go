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
func (r Ref[T]) to() string           { return r.ID }

// reference is any Ref.
type reference interface {
	target() reflect.Type
	to() string
}

// OnDelete says what becomes of a reference when the record that it refers to is
// deleted. It is an option in the tag of a Ref field, which needs an index too. See
// Refer and Store.Delete.
type OnDelete string

// The rules for references.
const (
	Restrict OnDelete = "restrict" // the record cannot be deleted
	Cascade  OnDelete = "cascade"  // the record that refers is deleted as well
	Clear    OnDelete = "clear"    // the reference is made to refer to nothing
)
