package social

import (
	"strconv"

	"retwis/internal/i18n"
)

// Actor identifies who takes a moderation action: the ID of a user, or one of the constants below.
// The zero value is nobody and may do nothing.
type Actor int64

const (
	// Operator is the person at the command line, who may do everything.
	Operator Actor = -1
	// Automatic is Retwis itself, for example when it ends an expired suspension.
	Automatic Actor = -2
)

// Actor returns the user as an Actor.
func (u User) Actor() Actor { return Actor(u.ID) }

// String returns the form written to the audit log: "operator", "automatic", or a user ID.
func (a Actor) String() string {
	switch a {
	case Operator:
		return "operator"
	case Automatic:
		return "automatic"
	}
	return strconv.FormatInt(int64(a), 10)
}

// ParseActor parses the form written to the audit log. It returns the zero Actor for any other
// text.
func ParseActor(text string) Actor {
	switch text {
	case "operator":
		return Operator
	case "automatic":
		return Automatic
	}
	id, _ := strconv.ParseInt(text, 10, 64)
	return Actor(max(id, 0))
}

// ForbiddenError reports that the actor has no right to perform an action. errors.Is reports it as
// ErrForbidden.
type ForbiddenError struct{ Reason i18n.Message } // a sentence for the actor

// Forbidden returns a ForbiddenError.
func Forbidden(reason string, args ...any) *ForbiddenError {
	return &ForbiddenError{Reason: i18n.T(reason, args...)}
}

func (e *ForbiddenError) Error() string { return "social: not allowed: " + e.Reason.String() }

// Is reports whether target is ErrForbidden.
func (e *ForbiddenError) Is(target error) bool { return target == ErrForbidden }

// MayModerate returns nil if user actor may moderate user uid, and a ForbiddenError otherwise.
func MayModerate(actor, uid int64, actorRole, userRole Role) error {
	switch {
	case actorRole < Moderator:
		return Forbidden("Only moderators may do that.")
	case actor == uid:
		return Forbidden("You can't moderate yourself.")
	case userRole >= actorRole:
		return Forbidden("You can't moderate a person whose role is {role}.", userRole.Label())
	}
	return nil
}

// MayModerate reports whether the user may moderate another one, according to the roles in u and
// other. Pages use MayModerate; actions read the roles from the database.
func (u User) MayModerate(other User) bool {
	return MayModerate(u.ID, other.ID, u.Role, other.Role) == nil
}
