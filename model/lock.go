package model

import (
	"context"
	"sync"

	"github.com/redis/rueidis"

	"retwis/model/internal/record"
	"retwis/redlock"
)

// Lock waits until it holds the lock of a record, or the context is done. It is for
// work that a single Update cannot do: reading here, asking elsewhere, then writing.
// Waiting clients get the lock in the order of their requests. It excludes other lock
// holders, not other writers: lock in all programs that do such work, or give the model
// a version. An id can be locked before its record exists.
//
// It is a lock of package redlock on the server that has the record: it lasts ten
// seconds, which Extend and Keep prolong, and ends with its process. A server that has
// just started grants none for that long. One round trip if the lock is free.
//
// The first Lock starts a lock manager: stop it with Close, after which locking returns
// redlock.ErrClosed.
func (s *Store[T]) Lock(ctx context.Context, id string) (*redlock.Lock, error) {
	return lock(s.o, s.locks, id, func(m *redlock.Manager, name string) (*redlock.Lock, error) { return m.Lock(ctx, name) })
}

// TryLock locks a record as Lock does, or returns redlock.ErrHeld if another client
// holds the lock.
func (s *Store[T]) TryLock(ctx context.Context, id string) (*redlock.Lock, error) {
	return lock(s.o, s.locks, id, func(m *redlock.Manager, name string) (*redlock.Lock, error) { return m.TryLock(ctx, name) })
}

// WithLock runs f while it holds the lock of a record, and prolongs the lock as long as
// f runs. The context of f ends when ctx does, and with the cause redlock.ErrLost at
// the moment when the lock may be lost. It returns the error of f, joined with ErrLost
// if the lock was lost.
func (s *Store[T]) WithLock(ctx context.Context, id string, f func(context.Context) error) error {
	manager, err := s.locks.of(s.o, id)
	if err != nil {
		return wrap(s.t, err)
	}
	return wrap(s.t, manager.Do(ctx, s.t.Layout.Of(id).Lock(id), func(ctx context.Context, _ *redlock.Lock) error { return f(ctx) }))
}

// Close stops the lock manager that Lock, TryLock and WithLock have started, and the
// calls that wait; held locks end by themselves after ten seconds. A Store that never
// locked has nothing to close. The client stays open.
func (s *Store[T]) Close() error {
	s.locks.mu.Lock()
	defer s.locks.mu.Unlock()
	manager := s.locks.manager
	s.locks.closed = true
	if manager == nil {
		return nil
	}
	return wrap(s.t, manager.Close())
}

// locks makes the locks of a Store, with a Manager that is made for the first one.
type locks struct {
	mu      sync.Mutex
	manager *redlock.Manager
	closed  bool
}

// of returns the Manager, after checking an id.
func (l *locks) of(o *record.Objects, id string) (*redlock.Manager, error) {
	if err := o.CheckID(id); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, redlock.ErrClosed
	}
	if l.manager == nil {
		manager, err := redlock.New([]rueidis.Client{o.Table.Client}, redlock.Options{})
		if err != nil {
			return nil, err
		}
		l.manager = manager
	}
	return l.manager, nil
}

// lock locks a record by the Manager.
func lock(o *record.Objects, l *locks, id string, lock func(m *redlock.Manager, name string) (*redlock.Lock, error)) (*redlock.Lock, error) {
	manager, err := l.of(o, id)
	if err != nil {
		return nil, wrap(o.Table, err)
	}
	held, err := lock(manager, o.Table.Layout.Of(id).Lock(id))
	return held, wrap(o.Table, err)
}
