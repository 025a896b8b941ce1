package schema

import (
	"errors"
	"fmt"
	"strings"

	"retwis/internal/ordered"
)

// The errors that callers can act on; package model documents them.
var (
	ErrNotFound    = errors.New("no such record")
	ErrTaken       = errors.New("taken by another record")
	ErrConflict    = errors.New("the record has changed since it was read")
	ErrValue       = ordered.ErrValue
	ErrInvalid     = errors.New("the record is not valid")
	ErrBound       = errors.New("the counter would leave its bounds")
	ErrDeclaration = errors.New("not a model")
	ErrSchema      = errors.New("the declaration is not in force")
	ErrUnknown     = errors.New("there are keys that the model did not write")
	ErrCorrupt     = errors.New("the record is damaged")
	ErrNoIndex     = errors.New("no index answers this")
	ErrCursor      = errors.New("the cursor belongs to another query")
	ErrReferenced  = errors.New("another record refers to it")
	ErrNotRelated  = errors.New("a model refers to the records by a rule, and Relate was not called")
	ErrDangling    = errors.New("there is no record that it refers to")
)

// TakenError names the owner of a unique value.
type TakenError struct {
	Field string // the unique field or index; "id" for an id
	Value string // of an index on several fields each of them: room="a",day=3
	Owner string // the id of the record that has it
}

func (e *TakenError) Error() string {
	what := fmt.Sprintf("%s %q", e.Field, Shorten(e.Value))
	if strings.Contains(e.Field, ",") {
		what = e.Value // which has the names of the fields
	}
	return fmt.Sprintf("%s is taken by record %s", what, Shorten(e.Owner))
}

// Is makes the error an ErrTaken.
func (e *TakenError) Is(target error) bool { return target == ErrTaken }

// InvalidError has all that is wrong with a record.
type InvalidError struct {
	Problems []FieldError
}

// FieldError is what is wrong with a field, or with the record as a whole.
type FieldError struct {
	Field string // its name in Redis; empty: the record as a whole
	Err   error
}

func (e *InvalidError) Error() string {
	all := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		if all[i] = p.Err.Error(); p.Field != "" {
			all[i] = p.Field + " " + all[i]
		}
	}
	return fmt.Sprintf("%v: %s", ErrInvalid, strings.Join(all, "; "))
}

// Unwrap returns ErrInvalid and the errors of the fields.
func (e *InvalidError) Unwrap() []error {
	all := []error{ErrInvalid}
	for _, p := range e.Problems {
		all = append(all, p.Err)
	}
	return all
}

// BoundError is returned if a counter would leave its bounds.
type BoundError struct {
	ID    string // of the record
	Field string
	Value int64 // of the counter, which was not changed
	By    int64 // what Incr should add
	Bound int64 // the minimum, or the maximum
}

func (e *BoundError) Error() string {
	what := "maximum"
	if e.By < 0 {
		what = "minimum"
	}
	return fmt.Sprintf("%s of id %q is %d and cannot be changed by %d: the %s is %d", e.Field, Shorten(e.ID), e.Value, e.By, what, e.Bound)
}

// Is makes the error an ErrBound.
func (e *BoundError) Is(target error) bool { return target == ErrBound }

// RecordError is an error of a record that cannot be read.
type RecordError struct {
	ID    string
	Field string // its name in Redis; empty: the record as a whole
	Err   error
}

func (e *RecordError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RecordError) Unwrap() error { return e.Err }

// ReferencedError names a record that refers to one that should be deleted.
type ReferencedError struct {
	Model string // the model that refers
	Field string // its field, with the rule restrict
	ID    string // one of its records
}

func (e *ReferencedError) Error() string {
	return fmt.Sprintf("%s of %s %s refers to it", e.Field, e.Model, Shorten(e.ID))
}

// Is makes the error an ErrReferenced.
func (e *ReferencedError) Is(target error) bool { return target == ErrReferenced }

// DanglingError names a record that does not exist, and the field that would refer to it.
type DanglingError struct {
	Field string // of the record that was not written, with the option exists
	Model string // the model that it refers to
	ID    string // of the record that does not exist
}

func (e *DanglingError) Error() string {
	return fmt.Sprintf("%s refers to %s %q, which does not exist", e.Field, e.Model, Shorten(e.ID))
}

// Is makes the error an ErrDangling.
func (e *DanglingError) Is(target error) bool { return target == ErrDangling }

// Shorten returns text for an error, bounded.
func Shorten(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

func IsNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// ErrReply returns the error for an unexpected reply of a script, unless there is
// another error.
func ErrReply(err error) error {
	if err != nil {
		return nil
	}
	return fmt.Errorf("%w: unexpected reply of a script", ErrCorrupt)
}
