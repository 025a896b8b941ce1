package model

import (
	"context"
	"sync"

	"github.com/redis/rueidis"

	"retwis/redlock"
)

// locks makes the locks of a Store, by a Manager that is made when the first is
// asked for.
type locks struct {
	mu      sync.Mutex
	manager *redlock.Manager
	closed  bool
}

// Lock waits until it holds the lock of a record, or the context is done, for work
// that cannot be one Update: reading here, asking elsewhere, writing then. Those
// who wait get it in the order in which they came. It keeps out others who lock,
// not others who write: let all lock who do such work, or give the model a version.
// An id can be locked before there is a record of it.
//
// It is a lock of package redlock on the server that has the record: it lives for
// ten seconds, which Extend and Keep make longer, and ends with its holder. A
// server that was just started grants none for that long. One round trip where
// nobody holds it.
//
// The first Lock starts what makes locks: end it with Close, after which they are
// refused with redlock.ErrClosed.
func (s *Store[T]) Lock(ctx context.Context, id string) (*redlock.Lock, error) {
	return s.lock(id, func(m *redlock.Manager, name string) (*redlock.Lock, error) { return m.Lock(ctx, name) })
}

// TryLock locks a record as Lock does, or returns redlock.ErrHeld where somebody
// else holds the lock.
func (s *Store[T]) TryLock(ctx context.Context, id string) (*redlock.Lock, error) {
	return s.lock(id, func(m *redlock.Manager, name string) (*redlock.Lock, error) { return m.TryLock(ctx, name) })
}

func (s *Store[T]) lock(id string, lock func(m *redlock.Manager, name string) (*redlock.Lock, error)) (*redlock.Lock, error) {
	manager, err := s.locker(id)
	if err != nil {
		return nil, wrap(s.t, err)
	}
	l, err := lock(manager, s.t.Of(id).Lock(id))
	return l, wrap(s.t, err)
}

// WithLock runs f while it holds the lock of a record, and makes the lock longer
// for as long as f runs. The context given to f ends when ctx does, and with the
// cause redlock.ErrLost the moment the lock cannot be shown to be held. It returns
// the error of f, joined with ErrLost where the lock was lost.
func (s *Store[T]) WithLock(ctx context.Context, id string, f func(context.Context) error) error {
	manager, err := s.locker(id)
	if err != nil {
		return wrap(s.t, err)
	}
	return wrap(s.t, manager.Do(ctx, s.t.Of(id).Lock(id), func(ctx context.Context, _ *redlock.Lock) error { return f(ctx) }))
}

// Close ends what Lock, TryLock and WithLock have started, and the waiting of those
// that wait; locks that are held end by themselves after their ten seconds. A
// Store that never locked has nothing to close. The client stays open.
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

// locker returns the Manager, for an id that can be locked.
func (s *Store[T]) locker(id string) (*redlock.Manager, error) {
	if err := s.o.CheckID(id); err != nil {
		return nil, err
	}
	s.locks.mu.Lock()
	defer s.locks.mu.Unlock()
	if s.locks.closed {
		return nil, redlock.ErrClosed
	}
	if s.locks.manager == nil {
		manager, err := redlock.New([]rueidis.Client{s.t.Client}, redlock.Options{})
		if err != nil {
			return nil, err
		}
		s.locks.manager = manager
	}
	return s.locks.manager, nil
}
