package view

import (
	"retwis/internal/social/accounts"
)

// DefaultInviteHours is the time that the form suggests.
const DefaultInviteHours = 7 * 24

// inviteTimes are the times that the form offers, in hours.
var inviteTimes = []option{{"24", "1 day"}, {"168", "7 days"}, {"720", "30 days"}, {"8760", "1 year"}}

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
	State string
}

// modeNote says who can sign up.
func (v Invites) modeNote() string {
	switch v.Mode {
	case accounts.SignUpApproval:
		return "Sign-ups wait for approval by a moderator, except with an invitation."
	case "invite":
		return "People need an invitation to sign up."
	case "closed":
		return "Sign-ups are closed, even with an invitation."
	}
	return "Anyone can sign up, with or without an invitation."
}
