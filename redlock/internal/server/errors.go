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

// QuarantineError means that a server does not vote yet.
type QuarantineError struct{ Left time.Duration }

func (e QuarantineError) Error() string {
	return fmt.Sprintf("quarantined, because it was started recently and may have lost locks: does not vote for another %v", e.Left)
}
