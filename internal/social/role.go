package social

import (
	"slices"

	"retwis/internal/i18n"
)

// Role is what a user may do beyond their own account. A greater role may do all that
// a lesser one may.
type Role uint8

// The roles, the least first.
const (
	Member    Role = iota
	Moderator      // decides about reports
	Admin          // gives and takes the role of a moderator, and issues invitations
	Owner          // gives and takes every role
)

var roleNames = [...]string{"member", "moderator", "admin", "owner"}

func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return roleNames[Member]
}

// Label is the name of the role on pages.
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

// RoleNames returns the names of all roles, the least first.
func RoleNames() []string { return slices.Clone(roleNames[:]) }

// ParseRole returns the role of a name; ok is false for another text.
func ParseRole(name string) (role Role, ok bool) {
	for i, known := range roleNames {
		if name == known {
			return Role(i), true
		}
	}
	return Member, false
}

// Standing is what moderators have decided about a user.
type Standing uint8

// The standings.
const (
	Good      Standing = iota
	Limited            // absent from public lists
	Suspended          // cannot log in, and is hidden from everybody
	Closed             // is being deleted: as suspended, and nothing restores it
)

var standingNames = [...]string{"good", "limited", "suspended", "closed"}

func (s Standing) String() string {
	if int(s) < len(standingNames) {
		return standingNames[s]
	}
	return standingNames[Good]
}

// Label is the name of the standing on pages.
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

// Hidden reports whether nobody sees a user of this standing, nor what they have
// written.
func (s Standing) Hidden() bool { return s >= Suspended }

// ParseStanding returns the standing of a name, Good for an unknown one.
func ParseStanding(name string) Standing {
	for i, known := range standingNames {
		if name == known {
			return Standing(i)
		}
	}
	return Good
}
