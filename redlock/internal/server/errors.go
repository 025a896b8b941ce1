package server

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrRefused is what redlock.ErrRefused says.
	ErrRefused = errors.New("refused by the servers")
	// ErrClosed says that the manager was closed.
	ErrClosed = errors.New("redlock: manager closed")
	// ErrNotLock is what redlock.ErrNotLock says.
	ErrNotLock = errors.New("the name is used for something that is not a lock")
)

// QuarantineError says that a server does not vote yet.
type QuarantineError struct{ Left time.Duration }

func (e QuarantineError) Error() string {
	return fmt.Sprintf("quarantined, because it was started recently and may have lost locks: does not vote for another %v", e.Left)
}
