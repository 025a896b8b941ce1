package schema

import (
	"errors"
	"fmt"
	"strings"

	"retwis/internal/ordered"
)

// Errors that callers can act on. Package model documents them.
var (
	ErrNotFound    = errors.New("no such record")
	ErrTaken       = errors.New("taken by another record")
	ErrConflict    = errors.New("the record has changed since it was read")
	ErrValue       = ordered.ErrValue
	ErrInvalid     = errors.New("the record is not valid")
	ErrBound       = errors.New("the counter would exceed its bounds")
	ErrDeclaration = errors.New("not a valid model")
	ErrSchema      = errors.New("the declaration is not in force")
	ErrUnknown     = errors.New("there are keys that the model did not write")
	ErrCorrupt     = errors.New("the record is damaged")
	ErrNoIndex     = errors.New("no index answers this")
	ErrCursor      = errors.New("the cursor belongs to another query")
	ErrReferenced  = errors.New("another record refers to it")
	ErrNotRelated  = errors.New("a model refers to the records by a rule, and Relate was not called")
	ErrDangling    = errors.New("the referenced record does not exist")
)

// TakenError names the owner of a unique value.
type TakenError struct {
	Field string // the unique field or index; "id" for an id
	Value string // for an index on several fields, all values: room="a",day=3
	Owner string // id of the record that has it
}

func (e *TakenError) Error() string {
	what := fmt.Sprintf("%s %q", e.Field, Shorten(e.Value))
	if strings.Contains(e.Field, ",") {
		what = e.Value // which includes the field names
	}
	return fmt.Sprintf("%s is taken by record %s", what, Shorten(e.Owner))
}

// Is makes the error an ErrTaken.
func (e *TakenError) Is(target error) bool { return target == ErrTaken }

// InvalidError lists the violations of a record.
type InvalidError struct {
	Problems []FieldError
}

// FieldError is a violation by a field, or by the record as a whole.
type FieldError struct {
	Field string // name of the field in Redis; empty: the record as a whole
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

// BoundError is returned if a counter would exceed its bounds.
type BoundError struct {
	ID    string // id of the record
	Field string
	Value int64 // current value of the counter
	By    int64 // the number passed to Incr
	Bound int64 // the minimum or maximum that the sum would exceed
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

// RecordError is the error of an unreadable record.
type RecordError struct {
	ID    string
	Field string // name of the field in Redis; empty: the record as a whole
	Err   error
}

func (e *RecordError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RecordError) Unwrap() error { return e.Err }

// ReferencedError names a record that refers to the record to be deleted.
type ReferencedError struct {
	Model string // the referring model
	Field string // field of the referring model, with the rule restrict
	ID    string // id of the referring record
}

func (e *ReferencedError) Error() string {
	return fmt.Sprintf("%s of %s %s refers to it", e.Field, e.Model, Shorten(e.ID))
}

// Is makes the error an ErrReferenced.
func (e *ReferencedError) Is(target error) bool { return target == ErrReferenced }

// DanglingError names a missing record, and the field that would refer to it.
type DanglingError struct {
	Field string // field with the option exists, of the record that was not written
	Model string // the model that the field refers to
	ID    string // id of the missing record
}

func (e *DanglingError) Error() string {
	return fmt.Sprintf("%s refers to %s %q, which does not exist", e.Field, e.Model, Shorten(e.ID))
}

// Is makes the error an ErrDangling.
func (e *DanglingError) Is(target error) bool { return target == ErrDangling }

// Shorten truncates text for an error.
func Shorten(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// IsNotFound reports whether an error is an ErrNotFound.
func IsNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// ErrReply returns the error for an unexpected reply of a script, or nil if err is not nil.
func ErrReply(err error) error {
	if err != nil {
		return nil
	}
	return fmt.Errorf("%w: unexpected reply of a script", ErrCorrupt)
}
