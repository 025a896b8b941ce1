package social

import (
	"cmp"
	"strings"
	"time"
)

// StandingInfo is a user's standing with its details.
type StandingInfo struct {
	Standing Standing
	Since    time.Time // zero for Good
	Until    time.Time // zero if it does not expire
	Message  string    // for the user
	SignUp   string    // set for a user who is suspended until a moderator approves the account; see FormatSignUp
}

// Pending reports whether the account still needs approval.
func (i StandingInfo) Pending() bool { return i.Standing == Suspended && i.SignUp != "" }

// FormatSignUp returns the stored form of the sign-up of an account that needs approval: the
// address it came from, empty if unknown, and why the person wants to join.
func FormatSignUp(place, reason string) string { return cmp.Or(place, "-") + " " + reason }

// ParseSignUp parses the result of FormatSignUp.
func ParseSignUp(stored string) (place, reason string) {
	place, reason, _ = strings.Cut(stored, " ")
	if place == "-" {
		place = ""
	}
	return place, reason
}

// SuspendedError is returned for a log-in with the right password to a suspended account. errors.Is
// reports it as ErrSuspended.
type SuspendedError struct{ StandingInfo }

func (e *SuspendedError) Error() string {
	if e.Pending() {
		return "social: the account needs approval"
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
