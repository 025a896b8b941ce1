package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// ManyError is returned by CreateMany and PutMany if some of the records were not written. The
// other records were written. errors.Is and errors.As find the error of each record.
type ManyError struct {
	Of      int       // number of records in the call
	Refused []Refused // records that were not written, by position
}

// Refused is a record that was not written.
type Refused struct {
	Position int // in the slice
	Err      error
}

// maxShown is the maximum number of errors in the text of a ManyError.
const maxShown = 10

func (e *ManyError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d records were not written", len(e.Refused), e.Of)
	for i, r := range e.Refused {
		if i == maxShown {
			fmt.Fprintf(&b, "\nand %d more", len(e.Refused)-maxShown)
			break
		}
		fmt.Fprintf(&b, "\nrecord %d: %v", r.Position, r.Err)
	}
	return b.String()
}

// Unwrap returns the errors of the records.
func (e *ManyError) Unwrap() []error {
	all := make([]error, len(e.Refused))
	for i, r := range e.Refused {
		all[i] = r.Err
	}
	return all
}

// CreateMany writes new records, and returns them with their ids and versions. Each record is
// written or refused independently, as by Create: if some are refused, the error is a *ManyError,
// and their positions in the result hold the original records. After an error that does not concern
// a single record, such as a lost connection, records not yet sent are refused with the same error;
// records in flight may have been written.
//
// Each record is one script, and 200 scripts, or 512 kB, are sent in one pipeline. Within a
// partition, records that get new ids are created in the order of the slice. Counter ids of
// refused records are not reused. With Partitions and unique values, each record takes the
// steps of Create, 64 in parallel; of two records with the same value, either can be refused.
func (s *Store[T]) CreateMany(ctx context.Context, records []T) ([]T, error) {
	all := slices.Clone(records)
	failed := &ManyError{Of: len(records)}
	s.o.CreateMany(ctx, len(all), func(i int) any { return &all[i] }, failed.refuse)
	return all, finish(s, failed, all, records)
}

// PutMany puts records, as Put does, and returns them with their ids, versions and counters. It
// sends the same pipelines and returns the same errors as CreateMany. It can be repeated for
// records with ids. If an id occurs twice, the last record wins.
func (s *Store[T]) PutMany(ctx context.Context, records []T) ([]T, error) {
	all := slices.Clone(records)
	failed := &ManyError{Of: len(records)}
	s.o.PutMany(ctx, len(all), func(i int) any { return &all[i] }, failed.refuse)
	return all, finish(s, failed, all, records)
}

// refuse adds a record that was not written.
func (e *ManyError) refuse(position int, err error) {
	e.Refused = append(e.Refused, Refused{position, err})
}

// finish restores refused records in the result, and returns the error for all of them.
func finish[T any](s *Store[T], e *ManyError, all, records []T) error {
	if len(e.Refused) == 0 {
		return nil
	}
	slices.SortFunc(e.Refused, func(a, b Refused) int { return cmp.Compare(a.Position, b.Position) })
	for i := range e.Refused {
		r := &e.Refused[i]
		all[r.Position], r.Err = records[r.Position], wrap(s.t, r.Err)
	}
	return e
}
