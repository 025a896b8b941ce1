package model

import (
	"context"
	"iter"
	"slices"

	"retwis/model/internal/record"
)

// Records streams the records with some ids, in the order of the ids, such as the
// members of a set or the values of a list:
//
//	for author, err := range authors.Records(ctx, authors.List("recent", id).All(ctx)) {
//
// It leaves out ids of records that do not exist. For a record that cannot be read it
// yields the error, in which errors.As finds a *RecordError, and continues; an error of
// ids ends it. A hundred records are read in the first pipeline, 500 in each later one.
func (s *Store[T]) Records(ctx context.Context, ids iter.Seq2[string, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		batch := make([]string, 0, firstRecords)
		most := firstRecords
		flush := func() bool {
			if len(batch) == 0 {
				return true
			}
			stopped := false
			err := s.o.GetMany(ctx, batch, func(ptr any, err error) {
				switch {
				case stopped:
				case err != nil:
					stopped = !yield(none, wrap(s.t, err))
				default:
					stopped = !yield(*ptr.(*T), nil)
				}
			})
			if err != nil && !stopped {
				yield(none, wrap(s.t, err))
				return false
			}
			batch, most = slices.Grow(batch[:0], record.FetchMany), record.FetchMany
			return !stopped
		}
		for id, err := range ids {
			if err != nil {
				if flush() {
					yield(none, err)
				}
				return
			}
			if batch = append(batch, id); len(batch) == most && !flush() {
				return
			}
		}
		flush()
	}
}

// firstRecords is how many records are read first.
const firstRecords = 100
