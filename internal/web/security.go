package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

func (h *handlers) securitySettings(req *request.Request) error {
	return h.showSecurity(req, http.StatusOK, view.Security{Done: req.Language.Say(notices[req.R.URL.RequestURI()])})
}

// showSecurity shows the page with the state of the account.
func (h *handlers) showSecurity(req *request.Request, status int, page view.Security) error {
	state, err := h.app.Auth.SecondFactor(req.Ctx, req.User.ID)
	if err != nil {
		return err
	}
	at, err := place(req)
	if err != nil {
		return err
	}
	page.On, page.Codes, page.Host = state.On, state.Codes, at.Host
	if page.Passkeys, err = h.app.Passkeys.All(req.Ctx, req.User.ID); err != nil {
		return err
	}
	open, err := h.app.Sessions.OpenSessions(req.Ctx, req.User.ID, req.SessionSecret)
	if err != nil {
		return err
	}
	for _, session := range open {
		page.Sessions = append(page.Sessions, view.Session{OpenSession: session})
	}
	return req.Render(status, view.SecurityPage(req.Frame(req.T("Settings")), page))
}

// securityChanged redirects to the page with a message, or shows the page again with the error of
// an action's form.
func (h *handlers) securityChanged(req *request.Request, action string, err error, done string) error {
	if errors.Is(err, auth.ErrSecondFactorState) {
		return req.Redirect(view.SecurityPath)
	}
	return req.Submitted(err, view.SecurityPath+"?"+done, func(field, problem string) error {
		return h.showSecurity(req, http.StatusUnprocessableEntity, view.Security{Form: view.AccountForm{Action: action, Field: field, Problem: problem}})
	})
}

func (h *handlers) changePassword(req *request.Request) error {
	typed := req.R.PostFormValue("password")
	if typed != req.R.PostFormValue("password2") {
		return h.securityChanged(req, "password", social.Invalid("password2", "The passwords don't match."), "")
	}
	return h.securityChanged(req, "password", req.Guarded("password changed", func(current string) error {
		session, err := h.app.Auth.ChangePassword(req.Ctx, req.User, current, typed)
		if err == nil {
			req.KeepSession(session.Secret)
		}
		return err
	}), "password")
}

func (h *handlers) endSession(req *request.Request) error {
	err := h.app.Sessions.EndSession(req.Ctx, req.User.ID, req.R.PostFormValue("id"))
	if err != nil && !errors.Is(err, social.ErrNoSession) {
		return err
	}
	req.LogSecurity("session ended", req.User)
	return req.Changed(view.SecurityPath + "?ended")
}

func (h *handlers) endOtherSessions(req *request.Request) error {
	if err := h.app.Sessions.LogoutOthers(req.Ctx, req.User.ID, req.SessionSecret); err != nil {
		return err
	}
	req.LogSecurity("sessions ended", req.User)
	return req.Changed(view.SecurityPath + "?others")
}

// setUpAuthenticator creates a key for an authenticator app; authenticatorPage shows it.
func (h *handlers) setUpAuthenticator(req *request.Request) error {
	err := req.Guarded("", func(current string) error {
		_, err := h.app.Auth.SetUpSecondFactor(req.Ctx, req.User, current)
		return err
	})
	if err != nil {
		return h.securityChanged(req, "app", err, "")
	}
	return req.Redirect(view.SecurityPath + "/app")
}

func (h *handlers) authenticatorPage(req *request.Request) error {
	return h.showAuthenticator(req, http.StatusOK, view.AccountForm{})
}

func (h *handlers) showAuthenticator(req *request.Request, status int, form view.AccountForm) error {
	key, err := h.app.Auth.SecondFactorKey(req.Ctx, req.User.ID)
	if errors.Is(err, auth.ErrSecondFactorState) {
		return req.Redirect(view.SecurityPath)
	}
	if err != nil {
		return err
	}
	picture, err := view.QRCode(auth.KeyURL(key, req.Info.Name(), req.User))
	if err != nil {
		return err
	}
	return req.Render(status, view.AppPage(req.Frame(req.T("Settings")), picture, view.InGroups(key), form))
}

func (h *handlers) confirmAuthenticator(req *request.Request) error {
	codes, err := h.app.Auth.ConfirmSecondFactor(req.Ctx, req.User.ID, req.R.PostFormValue("code"))
	if errors.Is(err, auth.ErrBadCode) {
		return h.showAuthenticator(req, http.StatusUnprocessableEntity, view.AccountForm{Field: "code", Problem: req.T("That code isn't right. Check your phone's clock.")})
	}
	if errors.Is(err, auth.ErrSecondFactorState) {
		// The form was sent twice: the user has not seen the codes in the response to the first
		// request.
		if state, err := h.app.Auth.SecondFactor(req.Ctx, req.User.ID); err == nil && state.On {
			return req.Changed(view.SecurityPath + "?on")
		}
	}
	if err != nil {
		return h.securityChanged(req, "app", err, "")
	}
	req.LogSecurity("second factor on", req.User)
	return req.Render(http.StatusOK, view.CodesPage(req.Frame(req.T("Settings")), req.T("Two-step log-in turned on"), codes))
}

func (h *handlers) renewCodes(req *request.Request) error {
	var codes []string
	err := req.Guarded("recovery codes renewed", func(current string) (err error) {
		codes, err = h.app.Auth.RenewRecoveryCodes(req.Ctx, req.User, current)
		return err
	})
	if err != nil {
		return h.securityChanged(req, "codes", err, "")
	}
	return req.Render(http.StatusOK, view.CodesPage(req.Frame(req.T("Settings")), req.T("New recovery codes"), codes))
}

func (h *handlers) turnOffAuthenticator(req *request.Request) error {
	return h.securityChanged(req, "off", req.Guarded("second factor off", func(current string) error {
		return h.app.Auth.TurnOffSecondFactor(req.Ctx, req.User, current)
	}), "off")
}
