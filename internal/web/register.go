package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/limits"
)

// accountForm is a form with a username and a password, filled in with rejected
// input, except for the password, and with the message for one field.
type accountForm struct {
	Username string
	Next     string
	Draft    string // a text that was sent without a session
	Action   string // the path that it was sent to, or which form of a page it is
	Notice   string // what has just succeeded
	Invite   string // the token of an invitation
	Mode     accounts.SignUpMode
	Field    string
	Problem  string
}

// mayJoin reports whether the form to sign up is shown.
func (f accountForm) mayJoin() bool {
	return f.Mode != accounts.SignUpClosed && (f.Mode != accounts.SignUpInvite || f.Invite != "")
}

func (s *Server) registerForm(req *request) error {
	if req.signed {
		return req.redirect("/home")
	}
	return s.showRegister(req, http.StatusOK, accountForm{})
}

// showRegister shows the form to sign up, or why there is none.
func (s *Server) showRegister(req *request, status int, form accountForm) error {
	var err error
	if form.Mode, err = s.app.SignUps.SignUpMode(req.ctx); err != nil {
		return err
	}
	return req.render(status, registerPage(req.page("Sign up"), form))
}

func (s *Server) register(req *request) error {
	form := accountForm{Username: req.r.PostFormValue("username"), Invite: req.r.PostFormValue("invite")}
	password := req.r.PostFormValue("password")
	if password != req.r.PostFormValue("password2") {
		form.Field, form.Problem = "password2", "The passwords don't match."
		return s.showRegister(req, http.StatusUnprocessableEntity, form)
	}
	if err := req.allow(limits.SignUp); err != nil {
		limit, ok := req.retryAfter(err)
		if !ok {
			return err
		}
		form.Field, form.Problem = "username", tooOften(limit)
		return s.showRegister(req, http.StatusTooManyRequests, form)
	}
	isListed := req.allow(limits.Newcomer) == nil
	session, err := s.app.SignUps.SignUp(req.ctx, accounts.SignUp{
		Name: form.Username, Password: password, Invite: form.Invite, Unlisted: !isListed,
	})
	var invalid *social.InvalidError
	switch {
	case errors.Is(err, social.ErrTaken):
		form.Field, form.Problem = "username", "That username is taken."
	case isNotInvited(err):
		if form.Invite == "" {
			return s.showRegister(req, http.StatusForbidden, form)
		}
		return s.refused(req, err)
	case errors.As(err, &invalid):
		form.Field, form.Problem = invalid.Field, invalid.Reason
	case err != nil:
		return err
	default:
		req.security("sign-up", session.User)
		req.endReplaced(session)
		req.keepSession(session.Secret)
		return req.changed("/home")
	}
	req.giveBack(limits.SignUp)
	if isListed {
		req.giveBack(limits.Newcomer)
	}
	return s.showRegister(req, http.StatusUnprocessableEntity, form)
}
