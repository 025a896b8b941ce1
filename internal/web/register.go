package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/limits"
)

// accountForm is a form with a username and a password, filled in with rejected
// input, except for the password, and with the message for one field.
type accountForm struct {
	Username string
	Next     string
	Draft    string // a text that was sent without a session
	Action   string // the path that it was sent to
	Field    string
	Problem  string
}

func (s *Server) registerForm(req *request) error {
	if req.signed {
		return req.redirect("/home")
	}
	return req.render(http.StatusOK, registerPage(req.page("Sign up"), accountForm{}))
}

func (s *Server) register(req *request) error {
	form := accountForm{Username: req.r.PostFormValue("username")}
	password := req.r.PostFormValue("password")
	if password != req.r.PostFormValue("password2") {
		form.Field, form.Problem = "password2", "The passwords don't match."
		return req.render(http.StatusUnprocessableEntity, registerPage(req.page("Sign up"), form))
	}
	if err := req.allow(limits.SignUp); err != nil {
		limit, ok := req.retryAfter(err)
		if !ok {
			return err
		}
		form.Field, form.Problem = "username", tooOften(limit)
		return req.render(http.StatusTooManyRequests, registerPage(req.page("Sign up"), form))
	}
	session, err := s.social.Register(req.ctx, form.Username, password)
	var invalid *social.InvalidError
	switch {
	case errors.Is(err, social.ErrTaken):
		form.Field, form.Problem = "username", "That username is taken."
	case errors.As(err, &invalid):
		form.Field, form.Problem = invalid.Field, invalid.Reason
	case err != nil:
		return err
	default:
		req.security("sign-up", session.User)
		req.setCookie(authCookie, session.Secret, oneYear)
		return req.changed("/home")
	}
	req.giveBack(limits.SignUp)
	return req.render(http.StatusUnprocessableEntity, registerPage(req.page("Sign up"), form))
}
