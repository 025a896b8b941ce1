package model

import (
	"context"
	"sync"

	"github.com/redis/rueidis"

	"retwis/model/internal/record"
	"retwis/redlock"
)

// Lock waits until it holds the lock of a record, or the context is done. Use it for work that
// a single Update cannot do, such as reading a record, calling another service, and writing the
// result. Waiting clients get the lock in the order of their requests. A lock excludes other
// lock holders, not other writers: use locks in all programs that do such work, or a model with
// a version. An id can be locked before its record exists.
//
// The lock is a lock of package redlock on the server of the record. It expires after ten
// seconds unless extended by Extend or Keep, so the lock of a process that died is released. The
// first lock in a database, and the first after a restart of the server, takes up to ten seconds:
// see redlock.Manager.SkipQuarantine. One round trip if the lock is free.
//
// The first Lock starts a lock manager. Close stops the manager; locking then returns
// redlock.ErrClosed.
func (s *Store[T]) Lock(ctx context.Context, id string) (*redlock.Lock, error) {
	return lock(s.o, s.locks, id, func(m *redlock.Manager, name string) (*redlock.Lock, error) { return m.Lock(ctx, name) })
}

// TryLock locks a record as Lock does, or returns redlock.ErrHeld if another client
// holds the lock.
func (s *Store[T]) TryLock(ctx context.Context, id string) (*redlock.Lock, error) {
	return lock(s.o, s.locks, id, func(m *redlock.Manager, name string) (*redlock.Lock, error) { return m.TryLock(ctx, name) })
}

// WithLock runs f while holding the lock of a record, which it extends as long as f runs. The
// context of f is canceled with ctx, and with the cause redlock.ErrLost as soon as the lock may
// be lost. It returns the error of f, joined with ErrLost if the lock was lost.
func (s *Store[T]) WithLock(ctx context.Context, id string, f func(context.Context) error) error {
	manager, err := s.locks.managerFor(s.o, id)
	if err != nil {
		return wrap(s.t, err)
	}
	return wrap(s.t, manager.Do(ctx, s.t.Layout.Of(id).Lock(id), func(ctx context.Context, _ *redlock.Lock) error { return f(ctx) }))
}

// Close stops the lock manager of Lock, TryLock and WithLock, and their waiting calls; held
// locks expire after ten seconds. A Store that never locked has nothing to close. The client
// stays open.
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

// locks holds the lock manager of a Store, created with the first lock.
type locks struct {
	mu      sync.Mutex
	manager *redlock.Manager
	closed  bool
}

// managerFor checks an id and returns the lock manager, which it creates on first use.
func (l *locks) managerFor(o *record.Objects, id string) (*redlock.Manager, error) {
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

// lock acquires the lock of a record.
func lock(o *record.Objects, l *locks, id string, acquire func(m *redlock.Manager, name string) (*redlock.Lock, error)) (*redlock.Lock, error) {
	manager, err := l.managerFor(o, id)
	if err != nil {
		return nil, wrap(o.Table, err)
	}
	held, err := acquire(manager, o.Table.Layout.Of(id).Lock(id))
	return held, wrap(o.Table, err)
}
