package model

import (
	"errors"
	"fmt"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

var (
	// ErrNotFound is returned for an id that no record has.
	ErrNotFound = schema.ErrNotFound
	// ErrTaken is returned if a unique value, or an id, belongs to another record. The
	// error is a *TakenError, which names the field and the record.
	ErrTaken = schema.ErrTaken
	// ErrConflict is returned if a record has changed since it was read.
	ErrConflict = schema.ErrConflict
	// ErrValue is returned for a value that a field, or its index, cannot hold. The error
	// names the field.
	ErrValue = schema.ErrValue
	// ErrInvalid is returned by writes of a record that is not valid, by the tags of its
	// fields or its method Validate. The error is an *InvalidError, which names the fields.
	ErrInvalid = schema.ErrInvalid
	// ErrBound is returned by Incr if the counter would leave the bounds that the options
	// min and max of its field declare. The error is a *BoundError, which has its value.
	ErrBound = schema.ErrBound
	// ErrDeclaration is returned by New for a struct or options that are no valid model.
	// The error names the field.
	ErrDeclaration = schema.ErrDeclaration
	// ErrSchema is returned by a Store whose declaration is not in force: another process
	// has migrated the model, or Migrate must be called first.
	ErrSchema = schema.ErrSchema
	// ErrUnknown is returned by the first Migrate of keys that are older than the model
	// and may be records, and by Delete of such a key: Options.Adopt must say which are.
	ErrUnknown = schema.ErrUnknown
	// ErrCorrupt is returned if a key holds something that the model does not write. The
	// error names the key and the field.
	ErrCorrupt = schema.ErrCorrupt
	// ErrNoIndex is returned for a query that no index answers. The error says which
	// declaration would.
	ErrNoIndex = schema.ErrNoIndex
	// ErrCursor is returned for a cursor of another query.
	ErrCursor = schema.ErrCursor
	// ErrReferenced is returned if a record is not deleted because another one refers to
	// it. The error is a *ReferencedError, which names one of them.
	ErrReferenced = schema.ErrReferenced
	// ErrNotRelated is returned by Delete if another model of the database refers to the
	// records by a rule, and this program has not called Relate for it. It is returned by
	// writes that refer to a record by a field with the option exists, if this program has
	// not called Relate for that.
	ErrNotRelated = schema.ErrNotRelated
	// ErrDangling is returned for a reference to a record that does not exist, by a field
	// with the option exists. The error is a *DanglingError, which names them.
	ErrDangling = schema.ErrDangling
)

// TakenError names the owner of a unique value. It is an ErrTaken.
type TakenError struct {
	Field string // the unique field or index; "id" for an id
	Value string // of an index on several fields each of them: room="a",day=3
	Owner string // the id of the record that has it
}

func (e *TakenError) Error() string { return (*schema.TakenError)(e).Error() }

// Is makes the error an ErrTaken.
func (e *TakenError) Is(target error) bool { return target == ErrTaken }

// RecordError names the record, and the field, that cannot be read. It wraps ErrCorrupt,
// or ErrValue if an index cannot hold what the record has.
type RecordError struct {
	ID    string
	Field string // its name in Redis; empty: the record as a whole
	Err   error
}

func (e *RecordError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RecordError) Unwrap() error { return e.Err }

// InvalidError has all that is wrong with a record. It wraps ErrInvalid and the errors of
// its problems. A method Validate may return one to name fields.
type InvalidError struct {
	Problems []FieldError
}

// FieldError is what is wrong with a field.
type FieldError struct {
	Field string // its name in Redis; empty: the record as a whole
	Err   error
}

func (e *InvalidError) Error() string { return e.internal().Error() }

// Unwrap returns ErrInvalid and the errors of the problems.
func (e *InvalidError) Unwrap() []error { return e.internal().Unwrap() }

// As finds the internal form of the error.
func (e *InvalidError) As(target any) bool {
	found, ok := target.(**schema.InvalidError)
	if ok {
		*found = e.internal()
	}
	return ok
}

func (e *InvalidError) internal() *schema.InvalidError {
	i := &schema.InvalidError{}
	for _, p := range e.Problems {
		i.Problems = append(i.Problems, schema.FieldError(p))
	}
	return i
}

// BoundError has the value of a counter that would leave its bounds. It is an ErrBound.
type BoundError struct {
	ID    string // of the record
	Field string
	Value int64 // of the counter, which was not changed
	By    int64 // what Incr should add
	Bound int64 // the minimum, or the maximum
}

func (e *BoundError) Error() string { return (*schema.BoundError)(e).Error() }

// Is makes the error an ErrBound.
func (e *BoundError) Is(target error) bool { return target == ErrBound }

// ReferencedError names a record that refers to one that should be deleted. It is an
// ErrReferenced.
type ReferencedError struct {
	Model string // the model that refers
	Field string // its field, with the rule restrict
	ID    string // one of its records
}

func (e *ReferencedError) Error() string { return (*schema.ReferencedError)(e).Error() }

// Is makes the error an ErrReferenced.
func (e *ReferencedError) Is(target error) bool { return target == ErrReferenced }

// DanglingError names a record that does not exist, and the field that would refer to it.
// It is an ErrDangling.
type DanglingError struct {
	Field string // of the record that was not written, with the option exists
	Model string // the model that it refers to
	ID    string // of the record that does not exist
}

func (e *DanglingError) Error() string { return (*schema.DanglingError)(e).Error() }

// Is makes the error an ErrDangling.
func (e *DanglingError) Is(target error) bool { return target == ErrDangling }

// modelError is an error of a model. It converts the errors of the internal packages to
// those of this one.
type modelError struct {
	name string
	err  error
}

// wrap adds the name of the model to an error.
func wrap(t *record.Table, err error) error { return named(t.Options.Name, err) }

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return &modelError{name, err}
}

func (e *modelError) Error() string { return fmt.Sprintf("model: %s: %v", e.name, e.err) }
func (e *modelError) Unwrap() error { return e.err }

// As finds the public form of an error.
func (e *modelError) As(target any) bool {
	switch target := target.(type) {
	case **TakenError:
		var found *schema.TakenError
		if errors.As(e.err, &found) {
			*target = (*TakenError)(found)
			return true
		}
	case **RecordError:
		var found *schema.RecordError
		if errors.As(e.err, &found) {
			*target = (*RecordError)(found)
			return true
		}
	case **InvalidError:
		var found *schema.InvalidError
		if errors.As(e.err, &found) {
			*target = invalid(found)
			return true
		}
	case **DanglingError:
		var found *schema.DanglingError
		if errors.As(e.err, &found) {
			*target = (*DanglingError)(found)
			return true
		}
	case **BoundError:
		var found *schema.BoundError
		if errors.As(e.err, &found) {
			*target = (*BoundError)(found)
			return true
		}
	case **ReferencedError:
		var found *schema.ReferencedError
		if errors.As(e.err, &found) {
			*target = (*ReferencedError)(found)
			return true
		}
	}
	return false
}

func invalid(e *schema.InvalidError) *InvalidError {
	i := &InvalidError{}
	for _, p := range e.Problems {
		i.Problems = append(i.Problems, FieldError(p))
	}
	return i
}

// recordErrors collects the errors of records that cannot be read.
type recordErrors struct {
	some []error
	more int
}

// maxRecordErrors is how many errors are kept.
const maxRecordErrors = 100

// add adds an error, and reports whether it is that of a record.
func (e *recordErrors) add(err error) bool {
	var of *RecordError
	switch {
	case !errors.As(err, &of):
		return false
	case len(e.some) < maxRecordErrors:
		e.some = append(e.some, err)
	default:
		e.more++
	}
	return true
}

// join returns one error for all, or nil.
func (e *recordErrors) join() error {
	if e.more > 0 {
		return errors.Join(errors.Join(e.some...), fmt.Errorf("and %d more", e.more))
	}
	return errors.Join(e.some...)
}
