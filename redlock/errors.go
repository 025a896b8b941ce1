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
	// ErrName says that a name cannot be locked: it is empty, too long, or one
	// of the package's own.
	ErrName = errors.New("not a name that can be locked")
	// ErrNotLock says that a name is a key of another type, which is left as
	// it is.
	ErrNotLock = errors.New("the key of this name holds something that is not a lock")
	// ErrClosed says that the manager was closed.
	ErrClosed = errors.New("redlock: manager closed")
)
