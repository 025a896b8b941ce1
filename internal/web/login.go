package web

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/social/users"
	"retwis/internal/web/view"
)

// loginHandlers begins and ends sessions.
type loginHandlers struct {
	auth     *auth.Service
	limits   *limits.Limits
	sessions *auth.Sessions
	users    *users.Users
}

func (h *loginHandlers) form(req *request) error {
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

func (h *loginHandlers) login(req *request) error {
	form := view.AccountForm{Username: req.r.PostFormValue("username"), Next: localPath(req.r.PostFormValue("next")), Draft: req.draft, Action: req.r.PostFormValue("action")}
	if err := h.auth.AllowLogin(req.ctx, form.Username, req.limitAddress()); err != nil {
		limit, ok := req.retryAfter(err)
		if !ok {
			return err
		}
		form.Field, form.Problem = "password", tooOften(limit)
		return req.render(http.StatusTooManyRequests, view.LoginPage(req.page("Log in"), form))
	}
	session, err := h.auth.Login(req.ctx, form.Username, req.r.PostFormValue("password"))
	if errors.Is(err, social.ErrBadLogin) {
		req.security("login failed", social.User{}, h.triedName(req, form.Username)...)
		form.Field, form.Problem = "password", "Wrong username or password."
		return req.render(http.StatusUnprocessableEntity, view.LoginPage(req.page("Log in"), form))
	}
	var waits *auth.SecondFactorError
	if errors.As(err, &waits) {
		return h.askForCode(req, waits.Secret, form)
	}
	if err != nil {
		return err
	}
	req.security("login", session.User)
	return h.enter(req, session, form)
}

// enter ends a log-in that has succeeded.
func (h *loginHandlers) enter(req *request, session auth.Session, form view.AccountForm) error {
	name := cmp.Or(form.Username, session.User.Name)
	if err := h.auth.LoggedIn(req.ctx, session.User, name, req.limitAddress()); err != nil {
		return err
	}
	req.startSession(session)
	if req.draft != "" {
		return req.resumeText(session.User, form.Action)
	}
	return req.changed(form.Next)
}

// askForCode ends the first step of a log-in. A text that came with it goes on to the
// second one.
func (h *loginHandlers) askForCode(req *request, secret string, form view.AccountForm) error {
	req.setPendingLogin(secret)
	if form.Draft == "" {
		return req.redirect("/login/code?next=" + url.QueryEscape(form.Next))
	}
	return req.render(http.StatusOK, view.CodePage(req.page("Log in"), form))
}

func (h *loginHandlers) codeForm(req *request) error {
	next := localPath(req.r.URL.Query().Get("next"))
	switch {
	case req.signed:
		return req.redirect(next)
	case req.pendingLogin() == "":
		return req.redirect(view.LoginPath(next))
	}
	return req.render(http.StatusOK, view.CodePage(req.page("Log in"), view.AccountForm{Next: next}))
}

// code is the second step of a log-in.
func (h *loginHandlers) code(req *request) error {
	form := view.AccountForm{Next: localPath(req.r.PostFormValue("next")), Draft: req.draft, Action: req.r.PostFormValue("action"), Field: "code"}
	secret := req.pendingLogin()
	who, _ := h.auth.LoginUser(req.ctx, secret) // for limits and the log
	by := limits.By{Account: who.ID, Address: req.limitAddress()}
	if err := h.limits.Take(req.ctx, limits.SecondFactor, by); err != nil {
		limit, ok := req.retryAfter(err)
		if !ok {
			return err
		}
		form.Problem = tooOften(limit)
		return req.render(http.StatusTooManyRequests, view.CodePage(req.page("Log in"), form))
	}
	done, err := h.auth.FinishLogin(req.ctx, secret, req.r.PostFormValue("code"))
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
		req.setPendingLogin("")
		form.Field, form.Problem = "username", "That took too long, or too many codes were wrong. Log in again."
		return req.render(http.StatusUnprocessableEntity, view.LoginPage(req.page("Log in"), form))
	case err != nil:
		return err
	}
	h.limits.Return(req.ctx, limits.SecondFactor, by)
	req.setPendingLogin("")
	req.security("login", done.User, slog.Bool("second_factor", true), slog.Bool("recovery_code", done.Recovered))
	return h.enter(req, done.Session, form)
}

func (h *loginHandlers) logout(req *request) error {
	if req.signed {
		if err := h.sessions.Logout(req.ctx, req.viewer.ID, req.secret); err != nil {
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
func toForm(req *request) error { return req.redirect(req.formPage()) }
