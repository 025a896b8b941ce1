package model

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"retwis/model/internal/schema"
)

// concurrentWrites is the number of records that UpdateAll and DeleteAll write concurrently.
const concurrentWrites = 16

// errNoMatch is returned for a record that no longer matches.
var errNoMatch = errors.New("the record does not match")

// errWithoutType is returned for writes to the records of a Model.
var errWithoutType = fmt.Errorf("%w: only a program with the Go type of a model can write its records", ErrSchema)

// UpdateAll updates every record that the query finds, as Store.Update does, and returns the
// number written. f is called for one record at a time, and again if another writer interferes.
// Records that no longer match are skipped. Each record is updated once, even if the update
// changes its position in the order.
//
// UpdateAll works in steps of a hundred records; progress, unless nil, is called after each
// step with the number of records written so far. UpdateAll stops at the first error, such as
// an error of f or a *TakenError; records already updated stay updated. If updated records no
// longer match the conditions, calling UpdateAll again finishes the work, even after a crash.
// Unreadable records are skipped, and their errors are returned at the end.
func (q *Query[T]) UpdateAll(ctx context.Context, f func(*T) error, progress func(n int64)) (int64, error) {
	if q.f.Objects.Declaration.WithoutType {
		return 0, wrap(q.f.Objects.Table, errWithoutType)
	}
	matches, err := q.f.Fits()
	if err != nil {
		return 0, wrap(q.f.Objects.Table, err)
	}
	var mu sync.Mutex
	return q.writeAll(ctx, progress, func(id string) (bool, error) {
		written := false
		_, err := q.f.Objects.Update(ctx, id, func(ptr any) error {
			if ok, err := matches(ptr); err != nil || !ok {
				return errors.Join(err, matchError(ok))
			}
			mu.Lock()
			defer mu.Unlock()
			written = true
			return f(ptr.(*T))
		})
		return written, err
	})
}

// matchError returns errNoMatch for a record that does not match.
func matchError(matches bool) error {
	if matches {
		return nil
	}
	return errNoMatch
}

// DeleteAll deletes every record that the query finds, by the rules of Store.Delete, and
// returns the number deleted. It works in steps, as UpdateAll does, and can be called again to
// finish the work. A record that another writer changes concurrently may be deleted although it
// no longer matches.
func (q *Query[T]) DeleteAll(ctx context.Context, progress func(n int64)) (int64, error) {
	return q.writeAll(ctx, progress, func(id string) (bool, error) {
		return true, q.f.Objects.Table.Delete(ctx, id)
	})
}

// writeAll calls write for every id that the query finds. write reports whether it has written
// the record.
func (q *Query[T]) writeAll(ctx context.Context, progress func(n int64), write func(id string) (bool, error)) (n int64, err error) {
	var damaged recordErrors
	t := q.f.Objects.Table
	if q.f.Objects.Declaration.WithoutType {
		return 0, wrap(t, errWithoutType)
	}
	err = q.f.Steps(ctx, func(ids []string) (int, error) {
		errs, wrote := make([]error, len(ids)), make([]bool, len(ids))
		var work sync.WaitGroup
		slots := make(chan struct{}, concurrentWrites)
		for i, id := range ids {
			slots <- struct{}{}
			work.Go(func() {
				defer func() { <-slots }()
				wrote[i], errs[i] = write(id)
			})
		}
		work.Wait()
		done := 0
		var failed error
		for i, err := range errs {
			switch {
			case err == nil && wrote[i]:
				done++
			case err == nil, errors.Is(err, errNoMatch), schema.IsNotFound(err):
			case damaged.add(wrap(t, err)):
			case failed == nil:
				failed = fmt.Errorf("record %s: %w", schema.Shorten(ids[i]), err)
			}
		}
		if n += int64(done); progress != nil {
			progress(n)
		}
		return done, failed
	})
	return n, errors.Join(wrap(t, err), damaged.join())
}
