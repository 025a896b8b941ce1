package model

import (
	"fmt"
	"reflect"
	"strings"
)

// Index is an index that no single field has: a model declares these by a method
//
//	func (User) Indexes() []model.Index[User]
//
// which New calls once, on a zero value.
type Index[T any] struct {
	name    string
	columns []string
	unique  bool
	fold    bool
	compute func(record any) any // nil: a composite
	result  reflect.Type
}

// Composite is an index on several fields, or computed values, in turn: it
// answers equalities of the first ones together with a range or an order of the
// next. Each column is a name, with " desc" behind it where the greatest comes
// first. Its own name is that of its columns: "room,price desc".
func Composite[T any](columns ...string) Index[T] {
	return Index[T]{name: strings.Join(columns, ","), columns: columns}
}

// Computed is an index on a value that a function makes of a record: a string,
// number, bool, time, or a slice of these, or a pointer, where nil is none. The
// function must depend on nothing but the fields of the record; where it changes,
// call Store.Repair.
func Computed[T, V any](name string, value func(T) V) Index[T] {
	return Index[T]{
		name: name, columns: []string{name},
		compute: func(record any) any { v := value(*record.(*T)); return &v },
		result:  reflect.TypeFor[V](),
	}
}

// Unique makes the index refuse a second record with the same values.
func (x Index[T]) Unique() Index[T] {
	x.unique = true
	return x
}

// Fold makes the index compare text without regard to case and to different ways
// to write the same letters (Unicode NFKC, full case folding).
func (x Index[T]) Fold() Index[T] {
	x.fold = true
	return x
}

// computed are the indexes that a model declares by its method.
func computed[T any]() []Index[T] {
	var zero T
	if m, ok := any(zero).(interface{ Indexes() []Index[T] }); ok {
		return m.Indexes()
	}
	if m, ok := any(&zero).(interface{ Indexes() []Index[T] }); ok {
		return m.Indexes()
	}
	return nil
}

// call runs a function of a model's author, whose panic on an unusual record is
// an error of that record.
func call(name string, compute func(record any) any, record any) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: the computed index %s panicked: %v", ErrValue, name, p)
		}
	}()
	return compute(record), nil
}
