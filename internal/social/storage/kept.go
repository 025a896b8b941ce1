package storage

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/watched"
)

// Kept caches the contents of one key in memory until the server reports that the key has changed.
// It is safe for concurrent use.
type Kept[T any] struct {
	db   Database
	key  string
	read func(ctx context.Context) (T, error)

	cell watched.Cell[T]
	busy chan struct{} // holds an element while a read is in progress
}

// NewKept returns a cache for the contents of a key. read must use Database.Read. It is not called
// concurrently.
func NewKept[T any](db Database, key string, read func(ctx context.Context) (T, error)) *Kept[T] {
	k := &Kept[T]{db: db, key: key, read: read, busy: make(chan struct{}, 1)}
	db.Link.On(key, func(int64) { k.cell.Changed() })
	return k
}

// Latest returns the last value read, however old, or the zero value if there is none.
func (k *Kept[T]) Latest() T { return k.cell.Latest() }

// InMemory is like Get, but takes no round trip. ok is false if the value in memory is not up to
// date.
func (k *Kept[T]) InMemory() (value T, ok bool) { return k.cell.Get(k.db.Link, 0) }

// Written records that this process has changed the key other than through Write.
func (k *Kept[T]) Written() { k.cell.Force() }

// Get returns the contents of the key. No round trip while nothing has changed.
func (k *Kept[T]) Get(ctx context.Context) (T, error) {
	if value, ok := k.InMemory(); ok {
		return value, nil
	}
	return k.load(ctx, k.InMemory, k.cell.Old)
}

// Renew is like Get but ignores the value in memory. One round trip.
func (k *Kept[T]) Renew(ctx context.Context) (T, error) { return k.load(ctx, k.noValue, k.cell.Old) }

// Reload is like Renew but bypasses all caches, and fails if the server cannot be reached.
func (k *Kept[T]) Reload(ctx context.Context) (T, error) {
	return k.load(social.WithFresh(ctx), k.noValue, func(*watched.Link) (T, bool) { return k.noValue() })
}

// noValue returns no value, in place of InMemory.
func (*Kept[T]) noValue() (value T, ok bool) { return value, false }

// load reads the key, unless another caller has stored it in memory meanwhile. old returns a value
// to use while the server cannot be reached.
func (k *Kept[T]) load(ctx context.Context, inMemory func() (T, bool), old func(*watched.Link) (T, bool)) (value T, err error) {
	select {
	case k.busy <- struct{}{}:
		defer func() { <-k.busy }()
	case <-ctx.Done():
		return value, ctx.Err()
	}
	if value, ok := inMemory(); ok {
		return value, nil
	}
	if k.cell.IsForced() {
		ctx = social.WithFresh(ctx)
	}
	value, hasOld := old(k.db.Link)
	_, err = k.db.Link.Read(ctx, hasOld, func(ctx context.Context) error {
		stamp := k.cell.Begin(k.db.Link, !social.IsFresh(ctx))
		latest, err := k.read(ctx)
		if err == nil {
			value = latest
			k.cell.Put(value, stamp)
		}
		return err
	})
	return value, err
}

// Write sends repeatable commands that change the key. A later Get in this process returns the
// result. One round trip.
func (k *Kept[T]) Write(ctx context.Context, cmds ...rueidis.Completed) error {
	for i := range cmds {
		cmds[i] = cmds[i].ToRetryable()
	}
	// The last command makes sure that the invalidation messages of the others have arrived.
	cmds = append(cmds, k.db.Client.B().Exists().Key(k.key).Build().ToRetryable())
	res := k.db.Client.DoMulti(ctx, cmds...)
	k.Written()
	if err := reply.FirstError(res); err != nil {
		return fmt.Errorf("social: change %s: %w", k.key, err)
	}
	return nil
}
