package view

import (
	"retwis/internal/i18n"
	"retwis/internal/social/accounts"
)

// DefaultInviteHours is the default lifetime of an invitation in the form.
const DefaultInviteHours = 7 * 24

// inviteTimes are the lifetimes offered by the form, in hours.
var inviteTimes = []option{{"24", i18n.T("1 day")}, {"168", i18n.T("7 days")}, {"720", i18n.T("30 days")}, {"8760", i18n.T("1 year")}}

// Invites is the page of invitations.
type Invites struct {
	Mode    accounts.SignUpMode
	Invites []Invite
	Link    string // of the invitation that was just created
	Uses    string // as typed
	Hours   int
	Note    string
	Field   string
	Problem string
	Revoked bool
}

// Invite is an invitation in the list.
type Invite struct {
	accounts.Invite
	State string // remaining uses and time
}

// modeNote returns a text about who can sign up.
func (v Invites) modeNote() i18n.Message {
	switch v.Mode {
	case accounts.SignUpApproval:
		return i18n.T("Sign-ups wait for approval by a moderator, except with an invitation.")
	case "invite":
		return i18n.T("People need an invitation to sign up.")
	case "closed":
		return i18n.T("Sign-ups are closed, even with an invitation.")
	}
	return i18n.T("Anyone can sign up, with or without an invitation.")
}
