package view

import (
	"retwis/internal/i18n"
	"retwis/internal/social/accounts"
)

// AccountForm is a form with a username and a password, filled in with rejected
// input, except for the password, and with the message for one field.
type AccountForm struct {
	Username string
	Next     string
	Draft    string // a text that was sent without a session
	Kept     string // the fields of its pictures, as url.Values encodes them
	Action   string // the path that it was sent to, or which form of a page it is
	Notice   string // what has just succeeded
	Invite   string // the token of an invitation
	Reason   string // why the person wants to join
	Email    string // of a new account
	Mode     accounts.SignUpMode
	Field    string
	Problem  string
}

// problem returns what is wrong with a field, empty for nothing.
func (f AccountForm) problem(field string) string { return when(f.Field == field, f.Problem) }

// mustWait reports whether a moderator approves the account.
func (f AccountForm) mustWait() bool { return f.Mode == accounts.SignUpApproval && f.Invite == "" }

// mayJoin reports whether the form to sign up is shown.
func (f AccountForm) mayJoin() bool {
	return f.Mode != accounts.SignUpClosed && (f.Mode != accounts.SignUpInvite || f.Invite != "")
}

// signUpModes are who can sign up, as the form offers them.
var signUpModes = []option{
	{string(accounts.SignUpOpen), i18n.T("Everyone")},
	{string(accounts.SignUpApproval), i18n.T("Anyone, after approval")},
	{string(accounts.SignUpInvite), i18n.T("People with an invitation")},
	{string(accounts.SignUpClosed), i18n.T("No one")},
}

// LeaveForm is the form that deletes an account, with what was wrong.
type LeaveForm struct {
	SecondFactor bool // a code is needed too
	Field        string
	Problem      string
}
