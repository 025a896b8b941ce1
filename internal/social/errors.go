package social

import (
	"errors"

	"retwis/internal/i18n"
)

// Errors that a caller can act on. Any other error is a failure of the database.
var (
	// ErrNotFound reports that there is no such user or post.
	ErrNotFound = errors.New("social: not found")
	// ErrTaken reports that the username is in use.
	ErrTaken = errors.New("social: username already in use")
	// ErrBadLogin reports that the username or the password is wrong, without revealing which.
	ErrBadLogin = errors.New("social: wrong username or password")
	// ErrNoSession reports that the session does not exist or has ended.
	ErrNoSession = errors.New("social: no such session")
	// ErrSelfFollow reports that users cannot follow themselves.
	ErrSelfFollow = errors.New("social: cannot follow yourself")
	// ErrNotAuthor reports that the post belongs to another user.
	ErrNotAuthor = errors.New("social: not the author of the post")
	// ErrForbidden reports that the actor has no right to perform the action.
	ErrForbidden = errors.New("social: not allowed")
	// ErrSuspended reports that the account is suspended.
	ErrSuspended = errors.New("social: the account is suspended")
	// ErrSignUpClosed reports that sign-up is closed at the moment.
	ErrSignUpClosed = errors.New("social: sign-up is closed")
	// ErrPending reports that the account exists but still needs approval by a moderator.
	ErrPending = errors.New("social: the account needs approval")
	// ErrUncertain reports that the write may be lost, because a server restarted or failed over in
	// the meantime, or its replicas do not answer. The write can be repeated.
	ErrUncertain = errors.New("social: the write may be lost")
	// ErrOverloaded reports that too many posts are still being delivered to followers.
	ErrOverloaded = errors.New("social: the background work is overloaded")
)

// InvalidError reports input that was rejected.
type InvalidError struct {
	Field  string       // "username", "password", "status" or "before"
	Reason i18n.Message // a sentence for the user, such as "Use 1 to 20 letters, digits or underscores."
}

func (e *InvalidError) Error() string { return "social: " + e.Field + ": " + e.Reason.String() }

// Invalid returns an InvalidError whose reason is a text of package i18n with its arguments.
func Invalid(field, reason string, args ...any) *InvalidError {
	return &InvalidError{Field: field, Reason: i18n.T(reason, args...)}
}
