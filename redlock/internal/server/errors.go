package server

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrRefused is documented at redlock.ErrRefused.
	ErrRefused = errors.New("refused by the servers")
	// ErrClosed is documented at redlock.ErrClosed.
	ErrClosed = errors.New("redlock: manager closed")
	// ErrNotLock is documented at redlock.ErrNotLock.
	ErrNotLock = errors.New("the name is used for something that is not a lock")
)

// relatedKeyError is an ErrNotLock about a key other than the name's own: a reply with WRONGTYPE
// does not say which key.
type relatedKeyError struct{}

func (relatedKeyError) Error() string {
	return fmt.Sprintf("a key that begins with %q holds data of another program: rename or delete that key", Prefix)
}

func (relatedKeyError) Is(target error) bool { return target == ErrNotLock }

// QuarantineError means that a server does not vote yet.
type QuarantineError struct{ Left time.Duration }

func (e QuarantineError) Error() string {
	return fmt.Sprintf("quarantined, because it was started recently and may have lost locks: does not vote for another %v", e.Left)
}
