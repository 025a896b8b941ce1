package web

import (
	"errors"
	"net/http"
	"net/url"

	"retwis/internal/social"
)

func (s *Server) loginForm(v *visit) error {
	next := localPath(v.r.URL.Query().Get("next"))
	if v.signed {
		return v.redirect(next)
	}
	return v.show(http.StatusOK, loginPage(v.page("Log in"), accountForm{Next: next}))
}

func (s *Server) login(v *visit) error {
	form := accountForm{Username: v.r.PostFormValue("username"), Next: localPath(v.r.PostFormValue("next"))}
	session, err := s.social.Login(v.ctx, form.Username, v.r.PostFormValue("password"))
	if errors.Is(err, social.ErrBadLogin) {
		form.Field, form.Problem = "password", "The username or the password is wrong."
		return v.show(http.StatusUnprocessableEntity, loginPage(v.page("Log in"), form))
	}
	if err != nil {
		return err
	}
	v.setCookie(authCookie, session.Secret, oneYear)
	return v.changed(form.Next)
}

func (s *Server) logout(v *visit) error {
	if v.signed {
		if err := s.social.Logout(v.ctx, v.viewer.ID); err != nil {
			return err
		}
	}
	v.setCookie(authCookie, "", clearAtNow)
	return v.changed("/")
}

// toLogin sends on whoever has to log in first, and back here afterwards.
func (v *visit) toLogin() error {
	if v.r.Method != http.MethodGet {
		return v.redirect("/login")
	}
	return v.redirect("/login?next=" + url.QueryEscape(v.r.URL.RequestURI()))
}
