package model

import (
	"errors"
	"fmt"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

var (
	// ErrNotFound is returned if there is no record with an id.
	ErrNotFound = schema.ErrNotFound
	// ErrTaken is returned if another record has the same unique value or id. The error is a
	// *TakenError, which names the field and the record.
	ErrTaken = schema.ErrTaken
	// ErrConflict is returned if another writer has changed the record since it was read.
	ErrConflict = schema.ErrConflict
	// ErrValue is returned if a field, or its index, cannot hold a value. The error names the
	// field.
	ErrValue = schema.ErrValue
	// ErrInvalid is returned by writes of a record that violates the tags of its fields or its
	// method Validate. The error is an *InvalidError, which names the fields.
	ErrInvalid = schema.ErrInvalid
	// ErrBound is returned by Incr if the counter would exceed the options min and max of its
	// field. The error is a *BoundError, which has the value of the counter.
	ErrBound = schema.ErrBound
	// ErrDeclaration is returned by New if the struct or the options are not a valid model. The
	// error names the field.
	ErrDeclaration = schema.ErrDeclaration
	// ErrSchema is returned by a Store if its declaration is not in force: either Migrate must
	// be called first, or another process has migrated the model.
	ErrSchema = schema.ErrSchema
	// ErrUnknown is returned by the first Migrate if keys older than the model may be records,
	// and by Delete for such a key: Options.Adopt must decide which keys are records.
	ErrUnknown = schema.ErrUnknown
	// ErrCorrupt is returned if a key holds data that the model does not write. The error names
	// the key and the field.
	ErrCorrupt = schema.ErrCorrupt
	// ErrNoIndex is returned for a query that no index serves. The error names a declaration
	// that would serve it.
	ErrNoIndex = schema.ErrNoIndex
	// ErrCursor is returned for a cursor of a different query.
	ErrCursor = schema.ErrCursor
	// ErrReferenced is returned if a record cannot be deleted because other records refer to
	// it. The error is a *ReferencedError, which names one of these records.
	ErrReferenced = schema.ErrReferenced
	// ErrNotRelated is returned if this program has not called Relate where it must: by Delete,
	// if another model of the database refers to the records by a rule; and by writes of a
	// field with the option exists.
	ErrNotRelated = schema.ErrNotRelated
	// ErrDangling is returned if a field with the option exists refers to a missing record. The
	// error is a *DanglingError, which names the field and the record.
	ErrDangling = schema.ErrDangling
)

// Error types.
type (
	// TakenError names the owner of a unique value. It is an ErrTaken.
	TakenError = schema.TakenError
	// RecordError names an unreadable record and field. It wraps ErrCorrupt, or ErrValue if an
	// index cannot hold the value.
	RecordError = schema.RecordError
	// InvalidError lists the violations of a record. It wraps ErrInvalid and the error of each
	// violation. A method Validate may return an *InvalidError to name fields.
	InvalidError = schema.InvalidError
	// FieldError is a violation of a field.
	FieldError = schema.FieldError
	// BoundError has the value of a counter that would exceed its bounds. It is an ErrBound.
	BoundError = schema.BoundError
	// ReferencedError names a record that refers to the record to be deleted. It is an
	// ErrReferenced.
	ReferencedError = schema.ReferencedError
	// DanglingError names a missing record, and the field that would refer to it. It is an
	// ErrDangling.
	DanglingError = schema.DanglingError
)

// modelError adds the name of a model to an error.
type modelError struct {
	name string
	err  error
}

// wrap adds the name of the model to an error.
func wrap(t *record.Table, err error) error { return named(t.Options.Name, err) }

// named adds the name of a model to an error.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return &modelError{name, err}
}

func (e *modelError) Error() string { return fmt.Sprintf("model: %s: %v", e.name, e.err) }
func (e *modelError) Unwrap() error { return e.err }

// recordErrors collects the errors of unreadable records.
type recordErrors struct {
	kept    []error // the first maxRecordErrors
	omitted int     // number of errors that were not kept
}

// maxRecordErrors is the maximum number of errors that recordErrors keeps.
const maxRecordErrors = 100

// add adds an error if it is a *RecordError, and reports whether it is.
func (e *recordErrors) add(err error) bool {
	var recordErr *RecordError
	switch {
	case !errors.As(err, &recordErr):
		return false
	case len(e.kept) < maxRecordErrors:
		e.kept = append(e.kept, err)
	default:
		e.omitted++
	}
	return true
}

// join joins all errors, or returns nil.
func (e *recordErrors) join() error {
	if e.omitted > 0 {
		return errors.Join(errors.Join(e.kept...), fmt.Errorf("and %d more", e.omitted))
	}
	return errors.Join(e.kept...)
}
