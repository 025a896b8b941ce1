package storage

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/watched"
)

// Kept is what one key holds, as a process keeps it in memory until the server reports that the
// key has changed. It is safe for concurrent use.
type Kept[T any] struct {
	db   Database
	key  string
	read func(ctx context.Context) (T, error)

	cell watched.Cell[T]
	busy chan struct{} // holds an element during a read
}

// NewKept returns what a key holds; read reads it with Database.Read, and is called by one caller
// at a time.
func NewKept[T any](db Database, key string, read func(ctx context.Context) (T, error)) *Kept[T] {
	k := &Kept[T]{db: db, key: key, read: read, busy: make(chan struct{}, 1)}
	db.Link.On(key, func(int64) { k.cell.Changed() })
	return k
}

// Latest returns what was read last, however old; the zero value for nothing.
func (k *Kept[T]) Latest() T { return k.cell.Latest() }

// InMemory is Get where that asks no server; ok is false elsewhere.
func (k *Kept[T]) InMemory() (value T, ok bool) { return k.cell.Get(k.db.Link, 0) }

// Written notes that this process has changed the key otherwise than by Write.
func (k *Kept[T]) Written() { k.cell.Force() }

// Get returns what the key holds. No round trip while nothing has changed.
func (k *Kept[T]) Get(ctx context.Context) (T, error) {
	if value, ok := k.InMemory(); ok {
		return value, nil
	}
	return k.load(ctx, k.InMemory, k.cell.Old)
}

// Renew is Get where the value in memory will not do. One round trip.
func (k *Kept[T]) Renew(ctx context.Context) (T, error) { return k.load(ctx, k.none, k.cell.Old) }

// Reload is Renew past all caches, also where the server cannot be reached.
func (k *Kept[T]) Reload(ctx context.Context) (T, error) {
	return k.load(social.WithFresh(ctx), k.none, func(*watched.Link) (T, bool) { return k.none() })
}

func (*Kept[T]) none() (value T, ok bool) { return value, false }

// load reads the key, unless another caller has put it into memory meanwhile. old is for the time
// in which the server cannot be reached.
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

// Write sends commands that change the key, and can be repeated. A later Get in
// this process returns the result. One round trip.
func (k *Kept[T]) Write(ctx context.Context, cmds ...rueidis.Completed) error {
	for i := range cmds {
		cmds[i] = cmds[i].ToRetryable()
	}
	// The last command waits for the invalidation messages of the others.
	cmds = append(cmds, k.db.Client.B().Exists().Key(k.key).Build().ToRetryable())
	res := k.db.Client.DoMulti(ctx, cmds...)
	k.Written()
	if err := reply.FirstError(res); err != nil {
		return fmt.Errorf("social: change %s: %w", k.key, err)
	}
	return nil
}
