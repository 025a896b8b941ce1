package model

import (
	"context"
	"iter"
	"slices"

	"retwis/model/internal/record"
)

// Records streams the records with the given ids, in their order, such as the members of a set
// or the values of a list:
//
//	for author, err := range authors.Records(ctx, authors.List("recent", id).All(ctx)) {
//
// It skips ids without a record. For an unreadable record it yields an error, in which
// errors.As finds a *RecordError, and continues; an error of ids ends the iteration. The first
// pipeline reads 100 records, later pipelines 500.
func (s *Store[T]) Records(ctx context.Context, ids iter.Seq2[string, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		batch := make([]string, 0, firstRecords)
		batchSize := firstRecords
		flush := func() bool {
			if len(batch) == 0 {
				return true
			}
			stopped := false
			err := s.o.GetMany(ctx, batch, func(ptr any, err error) {
				switch {
				case stopped:
				case err != nil:
					stopped = !yield(zero, wrap(s.t, err))
				default:
					stopped = !yield(*ptr.(*T), nil)
				}
			})
			if err != nil && !stopped {
				yield(zero, wrap(s.t, err))
				return false
			}
			batch, batchSize = slices.Grow(batch[:0], record.FetchMany), record.FetchMany
			return !stopped
		}
		for id, err := range ids {
			if err != nil {
				if flush() {
					yield(zero, err)
				}
				return
			}
			if batch = append(batch, id); len(batch) == batchSize && !flush() {
				return
			}
		}
		flush()
	}
}

// firstRecords is the number of records in the first pipeline.
const firstRecords = 100
