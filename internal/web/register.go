package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
)

// accountForm is a form with a username and a password as it is shown again:
// what was typed, but for the password, and what was wrong with which field.
type accountForm struct {
	Username string
	Next     string
	Draft    string // the text of a post that was sent without a session
	Field    string
	Problem  string
}

func (s *Server) registerForm(v *visit) error {
	if v.signed {
		return v.redirect("/home")
	}
	return v.show(http.StatusOK, registerPage(v.page("Sign up"), accountForm{}))
}

func (s *Server) register(v *visit) error {
	form := accountForm{Username: v.r.PostFormValue("username")}
	password := v.r.PostFormValue("password")
	if password != v.r.PostFormValue("password2") {
		form.Field, form.Problem = "password2", "The two passwords are not the same."
		return v.show(http.StatusUnprocessableEntity, registerPage(v.page("Sign up"), form))
	}
	session, err := s.social.Register(v.ctx, form.Username, password)
	var invalid *social.InvalidError
	switch {
	case errors.Is(err, social.ErrTaken):
		form.Field, form.Problem = "username", "This name is already in use."
	case errors.As(err, &invalid):
		form.Field, form.Problem = invalid.Field, invalid.Reason
	case err != nil:
		return err
	default:
		v.setCookie(authCookie, session.Secret, oneYear)
		return v.changed("/home")
	}
	return v.show(http.StatusUnprocessableEntity, registerPage(v.page("Sign up"), form))
}
