package web

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// passkeyRequest is what a page's script needs to create or use a passkey in the browser. The
// script then sends the form with the browser's response.
type passkeyRequest struct {
	Secret  string `json:"secret"` // to be sent with the response
	Options any    `json:"options"`
}

// place returns the site as seen by the browser, or a *request.Error for a Host that no browser
// would send.
func place(req *request.Request) (auth.Place, error) {
	origin, err := url.Parse(req.Origin())
	if err != nil || origin.Hostname() == "" {
		return auth.Place{}, &request.Error{Status: http.StatusBadRequest, Detail: i18n.T("The address of this request is not valid."), Cause: err}
	}
	return auth.Place{Site: req.Info.Name(), Host: strings.ToLower(origin.Hostname()), Origin: req.Origin()}, nil
}

// passkeyOptions starts the creation of a passkey.
func (h *handlers) passkeyOptions(req *request.Request) error {
	challenge, err := h.beginPasskey(req)
	if err != nil {
		return h.securityChanged(req, "passkeys", err, "")
	}
	return request.SendJSON(req, challenge)
}

func (h *handlers) beginPasskey(req *request.Request) (challenge passkeyRequest, err error) {
	at, err := place(req)
	if err != nil {
		return challenge, err
	}
	err = req.Guarded("", func(current string) (err error) {
		challenge.Secret, challenge.Options, err = h.app.Passkeys.Begin(req.Ctx, at, req.User, current)
		return err
	})
	return challenge, err
}

// addPasskey adds the passkey created by the browser. If the form has no passkey, the page shows
// why: the error of passkeyOptions, or that the browser created no passkey.
func (h *handlers) addPasskey(req *request.Request) error {
	response := req.R.PostFormValue("response")
	if response == "" {
		_, err := h.beginPasskey(req)
		if err == nil {
			err = social.Invalid("name", "Your browser didn't create a passkey. Please try again.")
		}
		return h.securityChanged(req, "passkeys", err, "")
	}
	at, err := place(req)
	if err == nil {
		err = h.app.Passkeys.Add(req.Ctx, at, req.User, req.R.PostFormValue("secret"), req.R.PostFormValue("name"), response)
	}
	if errors.Is(err, auth.ErrPasskey) {
		req.Log().Info("new passkey rejected", "user", req.User.ID, "error", err)
		err = social.Invalid("name", "That took too long, or the passkey wasn't accepted. Please try again.")
	}
	if err == nil {
		req.LogSecurity("passkey added", req.User)
	}
	return h.securityChanged(req, "passkeys", err, "passkey")
}

func (h *handlers) removePasskey(req *request.Request) error {
	id := req.R.PostFormValue("id")
	return h.securityChanged(req, view.RemovePasskeyAction(id), req.Guarded("passkey removed", func(current string) error {
		return h.app.Passkeys.Remove(req.Ctx, req.User, id, current)
	}), "nopasskey")
}

// passkeyLoginOptions starts a log-in with a passkey.
func (h *handlers) passkeyLoginOptions(req *request.Request) error {
	at, err := place(req)
	if err != nil {
		return err
	}
	secret, options, err := h.app.Passkeys.BeginLogin(req.Ctx, at)
	if err != nil {
		return err
	}
	return request.SendJSON(req, passkeyRequest{secret, options})
}

// passkeyLogin completes a log-in with a passkey.
func (h *handlers) passkeyLogin(req *request.Request) error {
	form := view.AccountForm{Next: request.LocalPath(req.R.PostFormValue("next")), Draft: req.Draft, Kept: request.KeptFields(req), Action: req.R.PostFormValue("action")}
	at, err := place(req)
	if err != nil {
		return err
	}
	session, err := h.app.Passkeys.Login(req.Ctx, at, req.R.PostFormValue("secret"), req.R.PostFormValue("response"))
	if errors.Is(err, auth.ErrPasskey) {
		req.LogSecurity("login failed", social.User{}, slog.Bool("passkey", true), slog.String("error", err.Error()))
		form.Field, form.Problem = "passkey", req.T("This passkey doesn't work here, or it took too long. Try again, or use your password.")
		return req.Render(http.StatusUnprocessableEntity, view.LoginPage(req.Frame(req.T("Log in")), form))
	}
	if err != nil {
		return err
	}
	req.SetPendingLogin("")
	req.LogSecurity("login", session.User, slog.Bool("passkey", true))
	return h.enter(req, session, "", form)
}
