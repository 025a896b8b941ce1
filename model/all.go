package model

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"retwis/model/internal/schema"
)

// changesAtOnce is the number of records that UpdateAll and DeleteAll write concurrently.
const changesAtOnce = 16

// errPassed is returned for a record that no longer matches.
var errPassed = errors.New("the record does not match")

// errWithoutType is returned for writes to the records of a Model.
var errWithoutType = fmt.Errorf("%w: only a program with the Go type of a model writes its records", ErrSchema)

// UpdateAll updates every record that the query finds, as Store.Update does, and returns the
// number written. f is called for one record at a time: again if another writer interferes, and
// not for records that no longer match. Each record is updated once, even if the update changes
// its position in the order.
//
// It works in steps of a hundred records; progress, unless nil, is called after each step with
// the number of records written so far. The first error ends it, such as an error of f or a
// *TakenError. Records updated until then stay updated. If updated records no longer match the
// conditions, calling UpdateAll again finishes the work, even after a crash. Unreadable records
// are skipped, and their errors returned at the end.
func (q *Query[T]) UpdateAll(ctx context.Context, f func(*T) error, progress func(n int64)) (int64, error) {
	if q.f.Objects.Declaration.WithoutType {
		return 0, wrap(q.f.Objects.Table, errWithoutType)
	}
	fits, err := q.f.Fits()
	if err != nil {
		return 0, wrap(q.f.Objects.Table, err)
	}
	var one sync.Mutex
	return q.writeAll(ctx, progress, func(id string) (bool, error) {
		written := false
		_, err := q.f.Objects.Update(ctx, id, func(ptr any) error {
			if is, err := fits(ptr); err != nil || !is {
				return errors.Join(err, errUnless(is))
			}
			one.Lock()
			defer one.Unlock()
			written = true
			return f(ptr.(*T))
		})
		return written, err
	})
}

func errUnless(fits bool) error {
	if fits {
		return nil
	}
	return errPassed
}

// DeleteAll deletes every record that the query finds, by the rules of Store.Delete, and
// returns the number deleted. It works in steps as UpdateAll does, and calling it again
// finishes the work. A record that another writer changes at the same moment may be deleted
// although it no longer matches.
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
		slots := make(chan struct{}, changesAtOnce)
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
			case err == nil, errors.Is(err, errPassed), schema.IsNotFound(err):
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
