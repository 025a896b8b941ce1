package model

import (
	"reflect"
	"strings"

	"retwis/model/internal/schema"
)

// Index is an index on several fields, or on a computed value. A model declares such indexes by
// a method
//
//	func (User) Indexes() []model.Index[User]
//
// which New calls once, on a zero value.
type Index[T any] struct{ d schema.IndexDeclaration }

// Composite returns an index on several fields or computed values. It serves equality
// conditions on the leading columns, combined with a range or an order on the next column. Each
// column is a name, optionally followed by " desc" for descending order. The index is named
// after its columns: "room,price desc".
func Composite[T any](columns ...string) Index[T] {
	return Index[T]{schema.IndexDeclaration{Name: strings.Join(columns, ","), Columns: columns}}
}

// Computed returns an index on a value that a function computes from a record: a string,
// number, bool, time, a slice of these, or a pointer, which is nil for no value. The function
// must depend only on the fields of the record. If you change it, call Store.Repair.
func Computed[T, V any](name string, value func(T) V) Index[T] {
	return Index[T]{schema.IndexDeclaration{
		Name: name, Columns: []string{name},
		Compute: func(record any) any { v := value(*record.(*T)); return &v },
		Result:  reflect.TypeFor[V](),
	}}
}

// Unique makes the index unique: a write of a second record with the same values returns a
// *TakenError.
func (x Index[T]) Unique() Index[T] {
	x.d.Unique = true
	return x
}

// CaseInsensitive makes the index compare text regardless of case and of different encodings of
// the same letters (Unicode NFKC, full case folding).
func (x Index[T]) CaseInsensitive() Index[T] {
	x.d.Fold = true
	return x
}

// computed returns the indexes that the Indexes method of a model declares.
func computed[T any]() []schema.IndexDeclaration {
	type indexer interface{ Indexes() []Index[T] }
	var zero T
	var indexes []Index[T]
	if m, ok := any(zero).(indexer); ok {
		indexes = m.Indexes()
	} else if m, ok := any(&zero).(indexer); ok {
		indexes = m.Indexes()
	}
	all := make([]schema.IndexDeclaration, len(indexes))
	for i, x := range indexes {
		all[i] = x.d
	}
	return all
}
