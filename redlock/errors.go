package redlock

import (
	"context"
	"errors"
	"fmt"

	"retwis/redlock/internal/server"
)

var (
	// ErrHeld says that another client holds the lock.
	ErrHeld = errors.New("held by another client")
	// ErrNoQuorum says that too few servers answered to decide anything.
	ErrNoQuorum = errors.New("no quorum")
	// ErrRefused says that a majority is impossible because servers rejected the
	// request for a reason that waiting does not change: missing permissions, a
	// wrong password or certificate, a replica, or a node of a Cluster.
	ErrRefused = server.ErrRefused
	// ErrLost says that a lock is no longer held, or cannot be shown to be:
	// its time ran out, or a majority of the servers lost it.
	ErrLost = errors.New("lock lost")
	// ErrMaxHold says that a lock ended because it was held for as long as MaxHold
	// allows. It comes with ErrLost, because the lock is gone while its holder works.
	ErrMaxHold = errors.New("held for as long as MaxHold allows")
	// ErrUnlocked says that the holder unlocks or extends a lock that it unlocked
	// before: a mistake in a program, or a deferred Unlock after an explicit one,
	// and no sign that the lock was lost.
	ErrUnlocked = errors.New("the lock was unlocked before")
	// ErrNested says that the caller already holds the name, as its context, that of
	// Do or Lock.Context, shows. Locks are not reentrant.
	ErrNested = errors.New("by the caller itself, and locks are not reentrant")
	// ErrName says that a name cannot be locked: it is empty, too long, or
	// reserved.
	ErrName = errors.New("not a name that can be locked")
	// ErrNotLock says that the key of a name has another type, or holds text that is not
	// a lock. It is left unchanged. Text that expires may be the lock of another library:
	// Lock waits for it, and Break refuses it.
	ErrNotLock = server.ErrNotLock
	// ErrClosed says that the manager was closed.
	ErrClosed = server.ErrClosed
)

// waitError returns why a wait ended, with the last reason for waiting.
func waitError(name string, cause, last error) error {
	if last != nil {
		return fmt.Errorf("%w (%w)", last, cause)
	}
	return fmt.Errorf("redlock: %q: %w", name, cause)
}

// ended adds the cause if an attempt was the last one because the context ended.
func ended(ctx context.Context, name string, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return waitError(name, cause, err)
	}
	return err
}
