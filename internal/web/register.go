package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/limits"
	"retwis/internal/web/view"
)

func (s *Server) registerForm(req *request) error {
	if req.signed {
		return req.redirect("/home")
	}
	return s.showRegister(req, http.StatusOK, view.AccountForm{})
}

// showRegister shows the form to sign up, or why there is none.
func (s *Server) showRegister(req *request, status int, form view.AccountForm) error {
	var err error
	if form.Mode, err = s.app.SignUps.SignUpMode(req.ctx); err != nil {
		return err
	}
	return req.render(status, view.RegisterPage(req.page("Sign up"), form))
}

func (s *Server) register(req *request) error {
	form := view.AccountForm{Username: req.r.PostFormValue("username"), Invite: req.r.PostFormValue("invite")}
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
