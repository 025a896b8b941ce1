package web

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

func (h *handlers) loginForm(req *request.Request) error {
	next := request.LocalPath(req.R.URL.Query().Get("next"))
	if req.LoggedIn {
		return req.Redirect(next)
	}
	form := view.AccountForm{Next: next}
	if query := req.R.URL.Query(); query.Has("reset") {
		form.Username = social.TypedName(query.Get("reset"))
		form.Notice = req.T("New password set. Log in with it.")
	}
	return req.Render(http.StatusOK, view.LoginPage(req.Frame(req.T("Log in")), form))
}

func (h *handlers) login(req *request.Request) error {
	form := view.AccountForm{Username: social.TypedName(req.R.PostFormValue("username")), Next: request.LocalPath(req.R.PostFormValue("next")), Draft: req.Draft, Kept: request.KeptFields(req), Action: req.R.PostFormValue("action")}
	giveBack, err := h.app.Auth.AllowLogin(req.Ctx, form.Username, req.LimitAddress())
	if err != nil {
		limit, ok := req.RetryAfter(err)
		if !ok {
			return err
		}
		form.Field, form.Problem = "password", req.Language.Say(request.TooOften(limit))
		return req.Render(http.StatusTooManyRequests, view.LoginPage(req.Frame(req.T("Log in")), form))
	}
	session, err := h.app.Auth.Login(req.Ctx, form.Username, req.R.PostFormValue("password"))
	if errors.Is(err, social.ErrBadLogin) {
		req.LogSecurity("login failed", social.User{}, h.triedName(req, form.Username)...)
		form.Field, form.Problem = "password", req.T("Wrong username or password.")
		return req.Render(http.StatusUnprocessableEntity, view.LoginPage(req.Frame(req.T("Log in")), form))
	}
	suspended := (*social.SuspendedError)(nil)
	if errors.As(err, &suspended) || errors.Is(err, auth.ErrBusy) {
		giveBack()
	}
	if suspended != nil && suspended.Pending() {
		return req.Render(http.StatusForbidden, view.PendingPage(req.Frame(req.T("Log in")), form.Username))
	}
	var secondFactor *auth.SecondFactorError
	if errors.As(err, &secondFactor) {
		return h.askForCode(req, secondFactor.Secret, form)
	}
	if err != nil {
		return err
	}
	req.LogSecurity("login", session.User)
	return h.enter(req, session, form.Username, form)
}

// triedName returns the username of a failed log-in for the security log. The typed name may be a
// password in the wrong field, so only names of existing accounts are logged.
func (h *handlers) triedName(req *request.Request, typed string) []slog.Attr {
	user, err := h.app.Users.UserByName(req.Ctx, typed)
	if err != nil {
		return nil
	}
	return []slog.Attr{slog.String("name", user.Name)}
}

// enter completes a successful log-in. tried is the username whose password was checked, or "" for
// a log-in with a passkey.
func (h *handlers) enter(req *request.Request, session auth.Session, tried string, form view.AccountForm) error {
	if err := h.app.Auth.LoggedIn(req.Ctx, session.User, tried, req.LimitAddress()); err != nil {
		return err
	}
	req.StartSession(session)
	if req.Draft != "" {
		return req.ResumeText(session.User, form.Action)
	}
	return req.Changed(form.Next)
}

// askForCode completes the first step of a log-in. The text of a post in the form is passed on to
// the second step.
func (h *handlers) askForCode(req *request.Request, secret string, form view.AccountForm) error {
	req.SetPendingLogin(secret)
	if form.Draft == "" {
		return req.Redirect("/login/code?next=" + url.QueryEscape(form.Next))
	}
	return req.Render(http.StatusOK, view.CodePage(req.Frame(req.T("Log in")), form))
}

func (h *handlers) loginCodeForm(req *request.Request) error {
	next := request.LocalPath(req.R.URL.Query().Get("next"))
	switch {
	case req.LoggedIn:
		return req.Redirect(next)
	case req.PendingLogin() == "":
		return req.Redirect(view.LoginPath(next))
	}
	return req.Render(http.StatusOK, view.CodePage(req.Frame(req.T("Log in")), view.AccountForm{Next: next}))
}

// loginCode serves the second step of a log-in.
func (h *handlers) loginCode(req *request.Request) error {
	form := view.AccountForm{Next: request.LocalPath(req.R.PostFormValue("next")), Draft: req.Draft, Kept: request.KeptFields(req), Action: req.R.PostFormValue("action"), Field: "code"}
	secret := req.PendingLogin()
	user, _ := h.app.Auth.LoginUser(req.Ctx, secret) // for limits and the log
	by := limits.By{Account: user.ID, Address: req.LimitAddress()}
	if err := h.app.Limits.Take(req.Ctx, limits.SecondFactor, by); err != nil {
		limit, ok := req.RetryAfter(err)
		if !ok {
			return err
		}
		form.Problem = req.Language.Say(request.TooOften(limit))
		return req.Render(http.StatusTooManyRequests, view.CodePage(req.Frame(req.T("Log in")), form))
	}
	done, err := h.app.Auth.FinishLogin(req.Ctx, secret, req.R.PostFormValue("code"))
	if !errors.Is(err, auth.ErrBadCode) { // no code was compared, or the code was right
		h.app.Limits.Return(req.Ctx, limits.SecondFactor, by)
	}
	switch {
	case errors.Is(err, auth.ErrBadCode):
		req.LogSecurity("code failed", user)
		form.Problem = req.T("That code is wrong or was already used.")
		return req.Render(http.StatusUnprocessableEntity, view.CodePage(req.Frame(req.T("Log in")), form))
	case errors.Is(err, auth.ErrTooManyCodes):
		req.LogSecurity("too many codes", user)
		req.W.Header().Set("Retry-After", "3600")
		form.Problem = req.T("Too many wrong codes. Use a recovery code, or try again in an hour.")
		return req.Render(http.StatusTooManyRequests, view.CodePage(req.Frame(req.T("Log in")), form))
	case errors.Is(err, auth.ErrNoLogin):
		req.SetPendingLogin("")
		form.Field, form.Problem = "username", req.T("That took too long, or too many codes were wrong. Log in again.")
		return req.Render(http.StatusUnprocessableEntity, view.LoginPage(req.Frame(req.T("Log in")), form))
	case err != nil:
		return err
	}
	req.SetPendingLogin("")
	req.LogSecurity("login", done.User, slog.Bool("second_factor", true), slog.Bool("recovery_code", done.Recovered))
	return h.enter(req, done.Session, done.User.Name, form)
}

func (h *handlers) logout(req *request.Request) error {
	if req.LoggedIn {
		if err := h.app.Sessions.Logout(req.Ctx, req.User.ID, req.SessionSecret); err != nil {
			return err
		}
		req.LogSecurity("logout", req.User)
	}
	req.DropSession()
	// The back button must not show pages of this session, and the browser must not keep drafts.
	req.W.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	return req.Changed("/")
}

// resetPasswordForm shows the form of a password reset link. Sending the form uses up the link.
func (h *handlers) resetPasswordForm(req *request.Request) error {
	user, err := h.resetUser(req)
	if err != nil {
		return h.noReset(req, err)
	}
	return req.Render(http.StatusOK, view.ResetPage(req.Frame(req.T("Set a new password")), user.Name, req.R.URL.EscapedPath(), view.AccountForm{}))
}

func (h *handlers) resetPassword(req *request.Request) error {
	token, typed := req.R.PathValue("token"), req.R.PostFormValue("password")
	user, err := h.resetUser(req)
	if err != nil {
		return h.noReset(req, err)
	}
	if typed == req.R.PostFormValue("password2") {
		_, err = h.app.Auth.ResetPassword(req.Ctx, token, typed)
	} else {
		err = social.Invalid("password2", "The passwords don't match.")
	}
	if err != nil {
		return h.noReset(req, req.Retry(err, func(field, problem string) error {
			form := view.AccountForm{Field: field, Problem: problem}
			return req.Render(http.StatusUnprocessableEntity, view.ResetPage(req.Frame(req.T("Set a new password")), user.Name, req.R.URL.EscapedPath(), form))
		}))
	}
	req.LogSecurity("password reset", user)
	req.DropSession()
	return req.Redirect("/login?reset=" + url.QueryEscape(user.Name))
}

// resetUser returns the user of the reset link in the path. Attempts with wrong links are limited.
func (h *handlers) resetUser(req *request.Request) (social.User, error) {
	if err := req.Allow(limits.Reset); err != nil {
		return social.User{}, err
	}
	user, err := h.app.Auth.ResetUser(req.Ctx, req.R.PathValue("token"))
	if err == nil {
		req.GiveBack(limits.Reset)
	}
	return user, err
}

func (h *handlers) noReset(req *request.Request, err error) error {
	if !errors.Is(err, auth.ErrNoReset) {
		return err
	}
	req.LogSecurity("reset link refused", social.User{})
	return req.Render(http.StatusNotFound, view.NoResetPage(req.Frame(req.T("This link doesn't work"))))
}
