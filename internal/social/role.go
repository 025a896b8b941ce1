package social

import (
	"slices"

	"retwis/internal/i18n"
)

// Role determines what a user may do beyond their own account. A greater role includes all rights
// of the lesser roles.
type Role uint8

// The roles, in ascending order.
const (
	Member    Role = iota
	Moderator      // handles reports
	Admin          // grants and revokes the moderator role, and issues invitations
	Owner          // grants and revokes every role
)

var roleNames = [...]string{"member", "moderator", "admin", "owner"}

func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return roleNames[Member]
}

// Label returns the name of the role on pages.
func (r Role) Label() i18n.Message {
	switch r {
	case Moderator:
		return i18n.T("moderator")
	case Admin:
		return i18n.T("admin")
	case Owner:
		return i18n.T("owner")
	}
	return i18n.T("member")
}

// RoleNames returns the names of all roles, in ascending order.
func RoleNames() []string { return slices.Clone(roleNames[:]) }

// ParseRole returns the role with the given name; ok is false if there is none.
func ParseRole(name string) (role Role, ok bool) {
	for i, known := range roleNames {
		if name == known {
			return Role(i), true
		}
	}
	return Member, false
}

// Standing is the moderation status of a user.
type Standing uint8

// The standings.
const (
	Good      Standing = iota
	Limited            // absent from public lists
	Suspended          // cannot log in, and is hidden from everybody
	Closed             // being deleted: like suspended, but final
)

var standingNames = [...]string{"good", "limited", "suspended", "closed"}

func (s Standing) String() string {
	if int(s) < len(standingNames) {
		return standingNames[s]
	}
	return standingNames[Good]
}

// Label returns the name of the standing on pages.
func (s Standing) Label() i18n.Message {
	switch s {
	case Limited:
		return i18n.T("limited")
	case Suspended:
		return i18n.T("suspended")
	case Closed:
		return i18n.T("closed")
	}
	return i18n.T("good")
}

// Hidden reports whether users of this standing and their posts are invisible to everybody.
func (s Standing) Hidden() bool { return s >= Suspended }

// ParseStanding returns the standing with the given name, or Good if there is none.
func ParseStanding(name string) Standing {
	for i, known := range standingNames {
		if name == known {
			return Standing(i)
		}
	}
	return Good
}
