package social

import (
	"cmp"
	"strings"
	"time"
)

// StandingInfo is what has been decided about a user.
type StandingInfo struct {
	Standing Standing
	Since    time.Time // zero for Good
	Until    time.Time // zero for no end
	Message  string    // for the user
	SignUp   string    // of a person who is suspended until a moderator approves the account; see FormatSignUp
}

// Pending reports whether the account waits for an approval.
func (i StandingInfo) Pending() bool { return i.Standing == Suspended && i.SignUp != "" }

// FormatSignUp returns what is stored about the sign-up of an account that waits for an approval:
// where it came from, empty where that is not known, and why the person wants to join.
func FormatSignUp(place, reason string) string { return cmp.Or(place, "-") + " " + reason }

// ParseSignUp reads it.
func ParseSignUp(stored string) (place, reason string) {
	place, reason, _ = strings.Cut(stored, " ")
	if place == "-" {
		place = ""
	}
	return place, reason
}

// SuspendedError is returned by a log-in with the right password of a user who is
// suspended. errors.Is reports it as ErrSuspended.
type SuspendedError struct{ StandingInfo }

func (e *SuspendedError) Error() string {
	if e.Pending() {
		return "social: the account waits for an approval"
	}
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
