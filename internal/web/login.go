package web

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/web/view"
)

func (s *Server) loginForm(req *request) error {
	next := localPath(req.r.URL.Query().Get("next"))
	if req.signed {
		return req.redirect(next)
	}
	form := view.AccountForm{Next: next}
	if req.r.URL.Query().Has("reset") {
		form.Notice = "Your new password is set. Log in with it."
	}
	return req.render(http.StatusOK, view.LoginPage(req.page("Log in"), form))
}

func (s *Server) login(req *request) error {
	form := view.AccountForm{Username: req.r.PostFormValue("username"), Next: localPath(req.r.PostFormValue("next")), Draft: req.draft, Action: req.r.PostFormValue("action")}
	if err := s.app.Auth.AllowLogin(req.ctx, form.Username, req.place()); err != nil {
		limit, ok := req.retryAfter(err)
		if !ok {
			return err
		}
		form.Field, form.Problem = "password", tooOften(limit)
		return req.render(http.StatusTooManyRequests, view.LoginPage(req.page("Log in"), form))
	}
	session, err := s.app.Auth.Login(req.ctx, form.Username, req.r.PostFormValue("password"))
	if errors.Is(err, social.ErrBadLogin) {
		req.security("login failed", social.User{}, req.triedName(form.Username)...)
		form.Field, form.Problem = "password", "Wrong username or password."
		return req.render(http.StatusUnprocessableEntity, view.LoginPage(req.page("Log in"), form))
	}
	var waits *auth.SecondFactorError
	if errors.As(err, &waits) {
		return req.askForCode(waits.Secret, form)
	}
	if err != nil {
		return err
	}
	req.security("login", session.User)
	return req.enter(session, form)
}

// enter ends a log-in that has succeeded.
func (req *request) enter(session auth.Session, form view.AccountForm) error {
	name := cmp.Or(form.Username, session.User.Name)
	if err := req.server.app.Auth.LoggedIn(req.ctx, session.User, name, req.place()); err != nil {
		return err
	}
	req.endReplaced(session)
	req.keepSession(session.Secret)
	if req.draft != "" {
		req.setCookie(freshCookie, formatFresh(nil), freshFor)
		req.viewer, req.signed, req.known = session.User, true, true
		return req.resumeText(form.Action)
	}
	return req.changed(form.Next)
}

// endReplaced ends the session that the browser had before a log-in: no cookie leads to it
// any more. One that cannot be ended expires.
func (req *request) endReplaced(session auth.Session) {
	if !req.signed || req.secret == session.Secret {
		return
	}
	if err := req.server.app.Sessions.Logout(req.ctx, req.viewer.ID, req.secret); err != nil {
		req.server.log.Warn("a session that was replaced stays open", "request", req.id, "error", err)
		return
	}
	req.security("logout", req.viewer)
}

// askForCode ends the first step of a log-in. A text that came with it goes on to the
// second one.
func (req *request) askForCode(secret string, form view.AccountForm) error {
	req.setCookie(req.loginCookie(), secret, int(auth.LoginWaitsFor/time.Second))
	if form.Draft == "" {
		return req.redirect("/login/code?next=" + url.QueryEscape(form.Next))
	}
	return req.render(http.StatusOK, view.CodePage(req.page("Log in"), form))
}

func (s *Server) codeForm(req *request) error {
	next := localPath(req.r.URL.Query().Get("next"))
	switch {
	case req.signed:
		return req.redirect(next)
	case req.waiting() == "":
		return req.redirect(view.LoginPath(next))
	}
	return req.render(http.StatusOK, view.CodePage(req.page("Log in"), view.AccountForm{Next: next}))
}

// loginCode is the second step of a log-in.
func (s *Server) loginCode(req *request) error {
	form := view.AccountForm{Next: localPath(req.r.PostFormValue("next")), Draft: req.draft, Action: req.r.PostFormValue("action"), Field: "code"}
	secret := req.waiting()
	who, _ := s.app.Auth.LoginUser(req.ctx, secret) // for limits and the log
	by := limits.By{Account: who.ID, Address: req.place()}
	if err := s.app.Limits.Take(req.ctx, limits.SecondFactor, by); err != nil {
		limit, ok := req.retryAfter(err)
		if !ok {
			return err
		}
		form.Problem = tooOften(limit)
		return req.render(http.StatusTooManyRequests, view.CodePage(req.page("Log in"), form))
	}
	done, err := s.app.Auth.FinishLogin(req.ctx, secret, req.r.PostFormValue("code"))
	switch {
	case errors.Is(err, auth.ErrBadCode):
		req.security("code failed", who)
		form.Problem = "That code is not right, or was used before."
		return req.render(http.StatusUnprocessableEntity, view.CodePage(req.page("Log in"), form))
	case errors.Is(err, auth.ErrTooManyCodes):
		req.security("too many codes", who)
		req.w.Header().Set("Retry-After", "3600")
		form.Problem = "Too many wrong codes. Use a recovery code, or try again in an hour."
		return req.render(http.StatusTooManyRequests, view.CodePage(req.page("Log in"), form))
	case errors.Is(err, auth.ErrNoLogin):
		req.setCookie(req.loginCookie(), "", clearAtNow)
		form.Field, form.Problem = "username", "That took too long, or too many codes were wrong. Log in again."
		return req.render(http.StatusUnprocessableEntity, view.LoginPage(req.page("Log in"), form))
	case err != nil:
		return err
	}
	s.app.Limits.Return(req.ctx, limits.SecondFactor, by)
	req.setCookie(req.loginCookie(), "", clearAtNow)
	req.security("login", done.User, slog.Bool("second_factor", true), slog.Bool("recovery_code", done.Recovered))
	return req.enter(done.Session, form)
}

func (s *Server) logout(req *request) error {
	if req.signed {
		if err := s.app.Sessions.Logout(req.ctx, req.viewer.ID, req.secret); err != nil {
			return err
		}
		req.security("logout", req.viewer)
	}
	req.dropSession()
	// The back button shows no page of this session, and no text that was begun is left.
	req.w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	return req.changed("/")
}

// toLogin redirects to the log-in page, and back afterwards: to the page of the
// form where a form was sent.
func (req *request) toLogin() error {
	next := req.r.URL.RequestURI()
	if req.r.Method != http.MethodGet {
		next = req.formPage()
	}
	return req.redirect(view.LoginPath(next))
}

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
	case strings.HasPrefix(path, view.SecurityPath):
		return view.SecurityPath
	case strings.HasPrefix(path, "/settings/"):
		return path
	case path == "/logout":
		return "/"
	case name == "":
		return "/home"
	case strings.HasPrefix(path, "/tag/"):
		return view.TagPath(name)
	case req.r.PathValue("id") != "":
		return view.ProfilePath(name) + "/" + url.PathEscape(req.r.PathValue("id"))
	}
	return view.ProfilePath(name)
}

// toForm redirects from the address of a form, opened from a browser's history
// perhaps, to the page with that form.
func (*Server) toForm(req *request) error { return req.redirect(req.formPage()) }
