package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/limits"
	"retwis/internal/web/view"
)

// signUpHandlers has the forms to sign up, with an invitation or without one.
type signUpHandlers struct {
	signUps *accounts.SignUps
}

func (h *signUpHandlers) form(req *request) error {
	if req.signed {
		return req.redirect("/home")
	}
	return h.show(req, http.StatusOK, view.AccountForm{})
}

// show shows the form to sign up, or why there is none.
func (h *signUpHandlers) show(req *request, status int, form view.AccountForm) error {
	var err error
	if form.Mode, err = h.signUps.SignUpMode(req.ctx); err != nil {
		return err
	}
	return req.render(status, view.RegisterPage(req.page("Sign up"), form))
}

func (h *signUpHandlers) signUp(req *request) error {
	form := view.AccountForm{Username: req.r.PostFormValue("username"), Invite: req.r.PostFormValue("invite")}
	password := req.r.PostFormValue("password")
	if password != req.r.PostFormValue("password2") {
		form.Field, form.Problem = "password2", "The passwords don't match."
		return h.show(req, http.StatusUnprocessableEntity, form)
	}
	if err := req.allow(limits.SignUp); err != nil {
		limit, ok := req.retryAfter(err)
		if !ok {
			return err
		}
		form.Field, form.Problem = "username", tooOften(limit)
		return h.show(req, http.StatusTooManyRequests, form)
	}
	isListed := req.allow(limits.Newcomer) == nil
	session, err := h.signUps.SignUp(req.ctx, accounts.SignUp{
		Name: form.Username, Password: password, Invite: form.Invite, Unlisted: !isListed,
	})
	var invalid *social.InvalidError
	switch {
	case errors.Is(err, social.ErrTaken):
		form.Field, form.Problem = "username", "That username is taken."
	case isNotInvited(err):
		if form.Invite == "" {
			return h.show(req, http.StatusForbidden, form)
		}
		return h.refused(req, err)
	case errors.As(err, &invalid):
		form.Field, form.Problem = invalid.Field, invalid.Reason
	case err != nil:
		return err
	default:
		req.security("sign-up", session.User)
		req.startSession(session)
		return req.changed("/home")
	}
	req.giveBack(limits.SignUp)
	if isListed {
		req.giveBack(limits.Newcomer)
	}
	return h.show(req, http.StatusUnprocessableEntity, form)
}
