package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"retwis/internal/social"
)

func (s *Server) loginForm(req *request) error {
	next := localPath(req.r.URL.Query().Get("next"))
	if req.signed {
		return req.redirect(next)
	}
	return req.render(http.StatusOK, loginPage(req.page("Log in"), accountForm{Next: next}))
}

func (s *Server) login(req *request) error {
	form := accountForm{Username: req.r.PostFormValue("username"), Next: localPath(req.r.PostFormValue("next")), Draft: req.draft, Action: req.r.PostFormValue("action")}
	if err := s.social.AllowLogin(req.ctx, form.Username, req.place()); err != nil {
		limit, ok := req.retryAfter(err)
		if !ok {
			return err
		}
		form.Field, form.Problem = "password", tooOften(limit)
		return req.render(http.StatusTooManyRequests, loginPage(req.page("Log in"), form))
	}
	session, err := s.social.Login(req.ctx, form.Username, req.r.PostFormValue("password"))
	if errors.Is(err, social.ErrBadLogin) {
		req.security("login failed", social.User{}, req.triedName(form.Username)...)
		form.Field, form.Problem = "password", "Wrong username or password."
		return req.render(http.StatusUnprocessableEntity, loginPage(req.page("Log in"), form))
	}
	if err != nil {
		return err
	}
	if err := s.social.LoggedIn(req.ctx, session.User, form.Username, req.place()); err != nil {
		return err
	}
	req.security("login", session.User)
	req.setCookie(authCookie, session.Secret, oneYear)
	if req.draft != "" {
		req.setCookie(freshCookie, formatFresh(nil), freshFor)
		req.viewer, req.signed, req.known = session.User, true, true
		return req.resumeText(form.Action)
	}
	return req.changed(form.Next)
}

func (s *Server) logout(req *request) error {
	if req.signed {
		if err := s.social.Logout(req.ctx, req.viewer.ID, req.secret); err != nil {
			return err
		}
		req.security("logout", req.viewer)
	}
	req.setCookie(authCookie, "", clearAtNow)
	return req.changed("/")
}

// toLogin redirects to the log-in page, and back afterwards: to the page of the
// form where a form was sent.
func (req *request) toLogin() error {
	next := req.r.URL.RequestURI()
	if req.r.Method != http.MethodGet {
		next = req.formPage()
	}
	return req.redirect(loginPath(next))
}

// loginPath is the log-in page that leads to a path afterwards.
func loginPath(next string) string { return "/login?next=" + url.QueryEscape(next) }

// formPage is the page with the form that is sent to the address of a request.
func (req *request) formPage() string {
	if to := req.r.PostFormValue("back"); to != "" {
		return localPath(to)
	}
	name, path := req.r.PathValue("name"), req.r.URL.Path
	switch {
	case path == "/settings/export":
		return "/settings/data"
	case path == "/settings/invites/end":
		return "/settings/invites"
	case strings.HasPrefix(path, "/settings/"):
		return path
	case path == "/logout":
		return "/"
	case name == "":
		return "/home"
	case strings.HasPrefix(path, "/tag/"):
		return tagPath(name)
	case req.r.PathValue("id") != "":
		return profilePath(name) + "/" + url.PathEscape(req.r.PathValue("id"))
	}
	return profilePath(name)
}

// toForm redirects from the address of a form, opened from a browser's history
// perhaps, to the page with that form.
func (*Server) toForm(req *request) error { return req.redirect(req.formPage()) }
