package view

import (
	"retwis/internal/i18n"
	"retwis/internal/social/accounts"
)

// AccountForm is a form with a username and a password. It shows the rejected input, except for the
// password, and the error of one field.
type AccountForm struct {
	Username string
	Next     string
	Draft    string // text that was sent without a session
	Kept     string // form fields of the pictures in Draft, as url.Values encodes them
	// Action is the path to which Draft was sent or, on a page with several forms, the name of the
	// form.
	Action  string
	Notice  string // what has just succeeded
	Invite  string // token of an invitation
	Reason  string // why the person wants to join
	Email   string // for a new account
	Mode    accounts.SignUpMode
	Field   string
	Problem string
}

// problem returns the error of a field, or "".
func (f AccountForm) problem(field string) string { return when(f.Field == field, f.Problem) }

// mustWait reports whether a moderator has to approve the account.
func (f AccountForm) mustWait() bool { return f.Mode == accounts.SignUpApproval && f.Invite == "" }

// mayJoin reports whether the sign-up form is shown.
func (f AccountForm) mayJoin() bool {
	return f.Mode != accounts.SignUpClosed && (f.Mode != accounts.SignUpInvite || f.Invite != "")
}

// signUpModes are the sign-up modes offered by the form.
var signUpModes = []option{
	{string(accounts.SignUpOpen), i18n.T("Everyone")},
	{string(accounts.SignUpApproval), i18n.T("Anyone, after approval")},
	{string(accounts.SignUpInvite), i18n.T("People with an invitation")},
	{string(accounts.SignUpClosed), i18n.T("No one")},
}

// DeleteAccountForm is the form that deletes an account, with its error.
type DeleteAccountForm struct {
	SecondFactor bool // a code is needed, too
	Field        string
	Problem      string
}
