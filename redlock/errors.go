package redlock

import (
	"context"
	"errors"
	"fmt"

	"retwis/redlock/internal/server"
)

var (
	// ErrHeld means that another client holds the lock.
	ErrHeld = errors.New("held by another client")
	// ErrNoQuorum means that too few servers answered to decide.
	ErrNoQuorum = errors.New("no quorum")
	// ErrRefused means that a majority is impossible because servers rejected the request for a
	// reason that waiting does not change: missing permissions, a wrong password or certificate,
	// a replica, or a node of a Cluster.
	ErrRefused = server.ErrRefused
	// ErrLost means that a lock is no longer held, or not known to be held: its time ran out, or a
	// majority of the servers lost it.
	ErrLost = errors.New("lock lost")
	// ErrMaxHold means that a lock was held for its full MaxHold. It comes with ErrLost, because
	// the lock ended while its holder was still working.
	ErrMaxHold = errors.New("held for as long as MaxHold allows")
	// ErrUnlocked means that Unlock or Extend was called after Unlock: a bug, or a deferred Unlock
	// after an explicit Unlock. It does not mean that the lock was lost.
	ErrUnlocked = errors.New("already unlocked")
	// ErrNested means that the caller already holds the name, according to its context, which
	// comes from Do or Lock.Context. Locks are not reentrant.
	ErrNested = errors.New("by the caller itself, and locks are not reentrant")
	// ErrName means that a name cannot be locked: it is empty, too long, or reserved.
	ErrName = errors.New("not a name that can be locked")
	// ErrNotLock means that the key of a name has another type, or holds text that is not a lock,
	// or that a key of this package, such as the queue of the name, has another type. The key is
	// left unchanged. Text that expires may be the lock of another library: Lock waits until it
	// expires, and Break rejects it.
	ErrNotLock = server.ErrNotLock
	// ErrClosed means that the Manager was closed.
	ErrClosed = server.ErrClosed
)

// waitError returns the error of a wait that ended, with its cause and the last error of an attempt.
func waitError(name string, cause, last error) error {
	if last != nil {
		return fmt.Errorf("%w (%w)", last, cause)
	}
	return fmt.Errorf("redlock: %q: %w", name, cause)
}

// addCause adds the cause to the error of an attempt if the context has ended.
func addCause(ctx context.Context, name string, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return waitError(name, cause, err)
	}
	return err
}
