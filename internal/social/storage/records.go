package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/redis/rueidis"

	"retwis/maintain"
	"retwis/model"
)

// Records are the records of a model. The first use opens the model and publishes the schema, so a
// database has no schema before its first record. Records are safe for concurrent use.
type Records[T any] struct {
	client  rueidis.Client
	meta    string
	opt     model.Options
	opened  atomic.Pointer[model.Store[T]]
	opening chan struct{}
}

// NewRecords returns the records of the database of client. meta is a key that exists once there
// has been a record. NewRecords sends no commands.
func NewRecords[T any](client rueidis.Client, meta string, opt model.Options) *Records[T] {
	return &Records[T]{client: client, meta: meta, opt: opt, opening: make(chan struct{}, 1)}
}

// Open opens the records and returns them.
func (r *Records[T]) Open(ctx context.Context) (*model.Store[T], error) {
	if store := r.opened.Load(); store != nil {
		return store, nil
	}
	select {
	case r.opening <- struct{}{}:
		defer func() { <-r.opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if store := r.opened.Load(); store != nil {
		return store, nil
	}
	store, err := model.New[T](ctx, r.client, r.opt)
	if err != nil {
		return nil, r.failed(err)
	}
	r.opened.Store(store)
	return store, nil
}

// Existing is like Open, but returns nil if there has never been a record.
func (r *Records[T]) Existing(ctx context.Context) (*model.Store[T], error) {
	if store := r.opened.Load(); store != nil {
		return store, nil
	}
	n, err := r.client.Do(ctx, r.client.B().Exists().Key(r.meta).Build()).AsInt64()
	if err != nil {
		return nil, r.failed(err)
	}
	if n == 0 {
		return nil, nil
	}
	return r.Open(ctx)
}

// Each yields the records that find reads, or none if there has never been a record.
func (r *Records[T]) Each(ctx context.Context, find func(*model.Store[T]) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		store, err := r.Existing(ctx)
		if err != nil {
			yield(zero, err)
		}
		if store == nil {
			return
		}
		for record, err := range find(store) {
			if !yield(record, r.failed(err)) {
				return
			}
		}
	}
}

// Verify compares the records with the bookkeeping of the model, and corrects the bookkeeping if
// repair is set. It does nothing if there has never been a record.
func (r *Records[T]) Verify(ctx context.Context, opt maintain.Options, repair bool) (report model.Report, err error) {
	store, err := r.Existing(ctx)
	if store == nil {
		return report, err
	}
	if repair {
		report, err = store.Repair(ctx, opt)
	} else {
		report, err = store.Verify(ctx, opt)
	}
	return report, r.failed(err)
}

// failed adds the name of the model to an error.
func (r *Records[T]) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("social: %s: %w", r.opt.Name, err)
}

// IsDamaged reports whether an error means that a record is unreadable.
func IsDamaged(err error) bool {
	return errors.Is(err, model.ErrCorrupt) || errors.Is(err, model.ErrValue)
}
