package social

import (
	_ "embed"
	"time"
)

// StandingInfo is what has been decided about a user.
type StandingInfo struct {
	Standing Standing
	Since    time.Time // zero for Good
	Until    time.Time // zero for no end
	Message  string    // for the user
}

// SuspendedError is returned by a log-in with the right password of a user who is
// suspended. errors.Is reports it as ErrSuspended.
type SuspendedError struct{ StandingInfo }

func (e *SuspendedError) Error() string {
	text := "social: the account is suspended"
	if !e.Until.IsZero() {
		text += " until " + e.Until.Format(time.DateOnly)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Is reports whether target is ErrSuspended.
func (e *SuspendedError) Is(target error) bool { return target == ErrSuspended }
