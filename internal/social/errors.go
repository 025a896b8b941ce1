package social

import "errors"

// What a caller can act on. Everything else that comes back as an error is
// trouble with the database.
var (
	// ErrNotFound: there is no such user or post.
	ErrNotFound = errors.New("social: not found")
	// ErrTaken: the username belongs to somebody already.
	ErrTaken = errors.New("social: username already in use")
	// ErrBadLogin: the username or the password is wrong; it does not say
	// which.
	ErrBadLogin = errors.New("social: wrong username or password")
	// ErrNoSession: the session secret opens nothing (any more).
	ErrNoSession = errors.New("social: no such session")
	// ErrSelfFollow: nobody follows themselves.
	ErrSelfFollow = errors.New("social: cannot follow yourself")
	// ErrBusy: so many passwords wait to be checked that this one was turned
	// away; try again in a moment.
	ErrBusy = errors.New("social: too many passwords are being checked")
)

// InvalidError is input that cannot be accepted.
type InvalidError struct {
	Field  string // "username", "password", "status" or "before"
	Reason string // a sentence for a person, such as "Use 1 to 20 letters, digits or _."
}

func (e *InvalidError) Error() string { return "social: " + e.Field + ": " + e.Reason }
