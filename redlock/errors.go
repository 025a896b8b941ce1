package redlock

import "errors"

var (
	// ErrHeld says that somebody else holds the lock.
	ErrHeld = errors.New("held by somebody else")
	// ErrNoQuorum says that too few servers answered to decide anything.
	ErrNoQuorum = errors.New("no quorum")
	// ErrRefused says that so many servers refused to be asked at all that the rest
	// is no majority, for a reason that waiting does not change: the user lacks
	// the rights, the password or the certificate is wrong, the server is a
	// replica or one of a Cluster.
	ErrRefused = errors.New("refused by the servers")
	// ErrLost says that a lock is not held any more, or cannot be shown to be:
	// its time ran out, or a majority of the servers lost it.
	ErrLost = errors.New("lock lost")
	// ErrUnlocked says that a lock was unlocked before by its holder, who does so
	// again or extends it: a mistake in a program, or the Unlock of a defer after
	// an explicit one, and no sign that the lock was lost.
	ErrUnlocked = errors.New("the lock was unlocked before")
	// ErrNested says that the caller holds the name already, by the context it
	// gave: that of Do, or of Lock.Context. Locks are not reentrant.
	ErrNested = errors.New("by the caller itself, and locks are not reentrant")
	// ErrName says that a name cannot be locked: it is empty, too long, or one
	// of the package's own.
	ErrName = errors.New("not a name that can be locked")
	// ErrNotLock says that a name is a key of another type, which is left as
	// it is.
	ErrNotLock = errors.New("the key of this name holds something that is not a lock")
	// ErrClosed says that the manager was closed.
	ErrClosed = errors.New("redlock: manager closed")
)
