package request

import (
	"errors"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
)

// Submitted responds to a form. If err is nil, it redirects to a page that shows the change (see
// Changed); otherwise it does what Retry does.
func (req *Request) Submitted(err error, to string, again func(field, problem string) error) error {
	if err != nil {
		return req.Retry(err, again)
	}
	return req.Changed(to)
}

// Retry shows a form again: it calls again with the field and the problem of a social.InvalidError.
// It returns any other error.
func (req *Request) Retry(err error, again func(field, problem string) error) error {
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		return again(invalid.Field, req.Language.Say(invalid.Reason))
	}
	return err
}

// Guarded calls do with the password in the form field "current" and limits how often a wrong one
// can be tried. If do succeeds, Guarded writes event to the security log, unless event is empty. A
// wrong password is returned as a social.InvalidError about the field.
func (req *Request) Guarded(event string, do func(password string) error) error {
	if err := req.Allow(limits.Password); err != nil {
		return err
	}
	err := do(req.R.PostFormValue("current"))
	GiveBackPassword(req, err)
	if err == nil && event != "" {
		req.LogSecurity(event, req.User)
	}
	return WrongPassword(req, err)
}

// WrongPassword logs social.ErrBadLogin and replaces it with an error about the form field
// "current". It returns any other error unchanged.
func WrongPassword(req *Request, err error) error {
	if !errors.Is(err, social.ErrBadLogin) {
		return err
	}
	req.LogSecurity("password not confirmed", req.User)
	return social.Invalid("current", "That is not your password.")
}

// GiveBackPassword returns an attempt at the session user's password, or code, that Allow has
// counted, unless err says that it was wrong. A page counts an attempt before comparing anything,
// so concurrent requests cannot make more attempts; other errors reveal nothing to somebody who is
// guessing.
func GiveBackPassword(req *Request, err error) {
	if !errors.Is(err, social.ErrBadLogin) && !errors.Is(err, auth.ErrBadCode) {
		req.GiveBack(limits.Password)
	}
}
