package schema

import (
	"errors"
	"fmt"
	"strings"

	"retwis/internal/ordered"
)

var (
	// ErrNotFound is returned for an id that no record has.
	ErrNotFound = errors.New("no such record")
	// ErrTaken is returned where a unique value, or an id, belongs to another
	// record. The error is a *TakenError, which names the field and the record.
	ErrTaken = errors.New("taken by another record")
	// ErrConflict is returned where a record has changed since it was read.
	ErrConflict = errors.New("the record has changed since it was read")
	// ErrValue is returned for a value that a field, or its index, cannot hold.
	// The error names the field.
	ErrValue = ordered.ErrValue
	// ErrDeclaration is returned by New for a struct or options that make no
	// model. The error names the field.
	ErrDeclaration = errors.New("not a model")
	// ErrSchema is returned by a Store whose indexes are not those that are
	// kept: another process has migrated to other ones, or Migrate is yet to be
	// run.
	ErrSchema = errors.New("the indexes are declared otherwise")
	// ErrUnknown is returned by Migrate for a layout that is older than the model,
	// where there are keys that may be records: Upkeep.Adopt has to say which.
	ErrUnknown = errors.New("there are keys that the model did not write")
	// ErrCorrupt is returned where a key holds something that the model does
	// not write. The error names the key and the field.
	ErrCorrupt = errors.New("the record is damaged")
	// ErrNoIndex is returned for a query that no index answers. The error says
	// which declaration would.
	ErrNoIndex = errors.New("no index answers this")
	// ErrCursor is returned for a cursor that another query gave.
	ErrCursor = errors.New("the cursor is not of this query")
	// ErrReferenced is returned where a record is not deleted because others refer
	// to it. The error is a *ReferencedError, which names one of them.
	ErrReferenced = errors.New("another record refers to it")
	// ErrNotRelated is returned by Delete where another model of the database refers to
	// the records by a rule, and this program has not called Refer for it.
	ErrNotRelated = errors.New("a model refers to the records by a rule, and Relate was not called")
	// ErrNoChanges is returned by Watch where no changes are kept.
	ErrNoChanges = errors.New("no changes are kept")
	// ErrGap is returned by Watch where changes were dropped before they were
	// read.
	ErrGap = errors.New("changes were dropped before they were read")
)

// TakenError says which value is taken, and by whom. It is an ErrTaken.
type TakenError struct {
	Field string // the unique field or index; "id" for an id
	Value string // of an index on several fields each of them: room="a",day=3
	Owner string // the id of the record that has it
}

func (e *TakenError) Error() string {
	what := fmt.Sprintf("%s %q", e.Field, Shorten(e.Value))
	if strings.Contains(e.Field, ",") {
		what = e.Value // which names the fields
	}
	return fmt.Sprintf("%s is taken by record %s", what, Shorten(e.Owner))
}

func Taken(e Entry, owner string) *TakenError {
	value := e.Value
	if len(e.Index.Columns) > 1 {
		value = e.Index.Describe(value)
	}
	return &TakenError{Field: e.Index.Name, Value: value, Owner: owner}
}

// Is makes the error an ErrTaken.
func (e *TakenError) Is(target error) bool { return target == ErrTaken }

// RecordError says which record, and which of its fields, an error is about that
// keeps a record from being read. Unwrapped it is an ErrCorrupt, or an ErrValue where
// an index cannot hold what the record has.
type RecordError struct {
	ID    string
	Field string // as it is called in Redis; empty: the record as a whole
	Err   error
}

func (e *RecordError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *RecordError) Unwrap() error { return e.Err }

// ReferencedError says which record refers to one that was to be deleted. It is an
// ErrReferenced.
type ReferencedError struct {
	Model string // the model that refers
	Field string // its field, which has the rule restrict
	ID    string // one of its records
}

func (e *ReferencedError) Error() string {
	return fmt.Sprintf("%s of %s %s refers to it", e.Field, e.Model, Shorten(e.ID))
}

// Is makes the error an ErrReferenced.
func (e *ReferencedError) Is(target error) bool { return target == ErrReferenced }

// shortened is text for an error: bounded.
func Shorten(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

func IsNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// errReply returns the error for a reply that a script should not send, unless there is
// another error.
func ErrReply(err error) error {
	if err != nil {
		return nil
	}
	return fmt.Errorf("%w: a script has replied something else", ErrCorrupt)
}
