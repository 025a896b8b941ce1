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

// Records are the records of a model. They are opened by the first use, which publishes the
// schema: a database has none before the first record. They are safe for concurrent use.
type Records[T any] struct {
	client  rueidis.Client
	meta    string
	opt     model.Options
	opened  atomic.Pointer[model.Store[T]]
	opening chan struct{}
}

// NewRecords returns the records of the database behind client, which is not asked. meta is a key
// that is there as soon as there has been a record.
func NewRecords[T any](client rueidis.Client, meta string, opt model.Options) *Records[T] {
	return &Records[T]{client: client, meta: meta, opt: opt, opening: make(chan struct{}, 1)}
}

// Open returns the records.
func (r *Records[T]) Open(ctx context.Context) (*model.Store[T], error) {
	if all := r.opened.Load(); all != nil {
		return all, nil
	}
	select {
	case r.opening <- struct{}{}:
		defer func() { <-r.opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if all := r.opened.Load(); all != nil {
		return all, nil
	}
	all, err := model.New[T](ctx, r.client, r.opt)
	if err != nil {
		return nil, r.failed(err)
	}
	r.opened.Store(all)
	return all, nil
}

// Existing is Open where there has ever been a record; else it returns nil.
func (r *Records[T]) Existing(ctx context.Context) (*model.Store[T], error) {
	if all := r.opened.Load(); all != nil {
		return all, nil
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

// Each yields the records that find reads; none where there has never been one.
func (r *Records[T]) Each(ctx context.Context, find func(*model.Store[T]) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		all, err := r.Existing(ctx)
		if err != nil {
			yield(none, err)
		}
		if all == nil {
			return
		}
		for one, err := range find(all) {
			if !yield(one, r.failed(err)) {
				return
			}
		}
	}
}

// Verify compares the records with what the model keeps of them; with repair it corrects that.
// Without any records it does nothing.
func (r *Records[T]) Verify(ctx context.Context, opt maintain.Options, repair bool) (report model.Report, err error) {
	all, err := r.Existing(ctx)
	if all == nil {
		return report, err
	}
	if repair {
		report, err = all.Repair(ctx, opt)
	} else {
		report, err = all.Verify(ctx, opt)
	}
	return report, r.failed(err)
}

func (r *Records[T]) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("social: %s: %w", r.opt.Name, err)
}

// IsDamaged reports whether an error says that a record cannot be read.
func IsDamaged(err error) bool {
	return errors.Is(err, model.ErrCorrupt) || errors.Is(err, model.ErrValue)
}
