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

// The errors that have fields.
type (
	// TakenError names the owner of a unique value. It is an ErrTaken.
	TakenError = schema.TakenError
	// RecordError names the record, and the field, that cannot be read. It wraps ErrCorrupt,
	// or ErrValue if an index cannot hold what the record has.
	RecordError = schema.RecordError
	// InvalidError has all that is wrong with a record. It wraps ErrInvalid and the errors of
	// its problems. A method Validate may return one to name fields.
	InvalidError = schema.InvalidError
	// FieldError is what is wrong with a field.
	FieldError = schema.FieldError
	// BoundError has the value of a counter that would leave its bounds. It is an ErrBound.
	BoundError = schema.BoundError
	// ReferencedError names a record that refers to one that should be deleted. It is an
	// ErrReferenced.
	ReferencedError = schema.ReferencedError
	// DanglingError names a record that does not exist, and the field that would refer to it.
	// It is an ErrDangling.
	DanglingError = schema.DanglingError
)

// modelError is an error of a model.
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
