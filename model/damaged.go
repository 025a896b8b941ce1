package model

import (
	"errors"
	"fmt"
)

// recordErrors are errors of records that could not be read, while others could.
type recordErrors struct {
	some []error
	more int
}

// maxRecordErrors is how many are kept.
const maxRecordErrors = 100

// add keeps an error, if it is one of a record.
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

// join is one error of all, or nil.
func (e *recordErrors) join() error {
	if e.more > 0 {
		return errors.Join(errors.Join(e.some...), fmt.Errorf("and %d more", e.more))
	}
	return errors.Join(e.some...)
}
