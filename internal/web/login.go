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
	form := accountForm{Username: v.r.PostFormValue("username"), Next: localPath(v.r.PostFormValue("next")), Draft: v.draft}
	session, err := s.social.Login(v.ctx, form.Username, v.r.PostFormValue("password"))
	if errors.Is(err, social.ErrBadLogin) {
		form.Field, form.Problem = "password", "The username or the password is wrong."
		return v.show(http.StatusUnprocessableEntity, loginPage(v.page("Log in"), form))
	}
	if err != nil {
		return err
	}
	v.setCookie(authCookie, session.Secret, oneYear)
	if v.draft != "" {
		return s.resumePost(v, session.User)
	}
	return v.changed(form.Next)
}

// resumePost shows a text that was written before the session ended, for its
// author to post. It is shown here, not after a redirect, because it would have
// to be kept somewhere meanwhile.
func (s *Server) resumePost(v *visit, user social.User) error {
	v.setCookie(freshCookie, "1", freshFor)
	v.viewer, v.signed, v.known = user, true, true
	v.ctx = social.WithFresh(v.ctx)
	return s.showHome(v, http.StatusOK, 0, statusForm{Status: v.draft, Notice: "You are logged in again. Here is what you wrote."})
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

// toLogin sends on a visitor who has to log in first, and back here afterwards:
// from a form, to the page on which it is.
func (v *visit) toLogin() error {
	next := v.r.URL.RequestURI()
	if v.r.Method != http.MethodGet {
		next = v.formPage()
	}
	return v.redirect("/login?next=" + url.QueryEscape(next))
}

// formPage is the page with the form that is sent to the address of a request.
func (v *visit) formPage() string {
	if name := v.r.PathValue("name"); name != "" {
		return profilePath(name)
	}
	if v.r.URL.Path == "/logout" {
		return "/"
	}
	return "/home"
}

// toForm answers who opens the address of a form, from the history of a browser
// perhaps, with the page on which the form is.
func (*Server) toForm(v *visit) error { return v.redirect(v.formPage()) }
