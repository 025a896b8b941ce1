package storage

import (
	"context"
	"fmt"
	"sync"

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

	cell    watched.Cell[T]
	reading sync.Mutex
}

// NewKept returns what a key holds; read reads it with Database.Read.
func NewKept[T any](db Database, key string, read func(ctx context.Context) (T, error)) *Kept[T] {
	return &Kept[T]{db: db, key: key, read: read}
}

// Changed notes that the key has changed. It does not wait.
func (k *Kept[T]) Changed() { k.cell.Changed() }

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
	k.reading.Lock()
	defer k.reading.Unlock()
	if value, ok := k.InMemory(); ok {
		return value, nil // another request has read it meanwhile
	}
	return k.load(ctx, social.IsFresh(ctx))
}

// Reload is Get past all caches. One round trip.
func (k *Kept[T]) Reload(ctx context.Context) (T, error) {
	k.reading.Lock()
	defer k.reading.Unlock()
	return k.load(ctx, true)
}

func (k *Kept[T]) load(ctx context.Context, fresh bool) (T, error) {
	value, hasOld := k.cell.Old(k.db.Link)
	_, err := k.db.Link.Read(ctx, hasOld, func(ctx context.Context) error {
		fresh := fresh || k.cell.IsForced()
		if fresh {
			ctx = social.WithFresh(ctx)
		}
		stamp := k.cell.Begin(k.db.Link, !fresh)
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
