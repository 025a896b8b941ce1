package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// securityHandlers has the settings of passwords, codes and sessions.
type securityHandlers struct {
	auth     *auth.Service
	passkeys *auth.Passkeys
	sessions *auth.Sessions
}

// securityNotices are the sentences for what the address of the page says.
var securityNotices = map[string]string{
	"password": "Your password is changed. All other devices are logged out.",
	"ended":    "That device is logged out.",
	"others":   "All other devices are logged out.",
	"on":       "Two-step login is on. If you haven't seen your recovery codes, make new ones here.",
	"off":      "Two-step login is off.",

	"passkey":   "Your passkey is added. You can log in with it.",
	"nopasskey": "That passkey is removed.",
}

func (h *securityHandlers) settings(req *request.Request) error {
	page := view.Security{}
	for name, text := range securityNotices {
		if req.R.URL.Query().Has(name) {
			page.Done = text
		}
	}
	return h.show(req, http.StatusOK, page)
}

// show shows the page, with what is known of the account.
func (h *securityHandlers) show(req *request.Request, status int, page view.Security) error {
	state, err := h.auth.SecondFactor(req.Ctx, req.User.ID)
	if err != nil {
		return err
	}
	page.On, page.Codes, page.Host = state.On, state.Codes, place(req).Host
	if page.Passkeys, err = h.passkeys.All(req.Ctx, req.User.ID); err != nil {
		return err
	}
	open, err := h.sessions.OpenSessions(req.Ctx, req.User.ID, req.SessionSecret)
	if err != nil {
		return err
	}
	for _, one := range open {
		page.Sessions = append(page.Sessions, view.Session{OpenSession: one})
	}
	return req.Render(status, view.SecurityPage(req.Frame("Settings"), page))
}

// reject shows the page again, with what is wrong with one form of it.
func (h *securityHandlers) reject(req *request.Request, action, field, problem string) error {
	return h.show(req, http.StatusUnprocessableEntity, view.Security{Form: view.AccountForm{Action: action, Field: field, Problem: problem}})
}

// showMistake shows an error of a form with a password, or returns it.
func (h *securityHandlers) showMistake(req *request.Request, action string, err error) error {
	var invalid *social.InvalidError
	switch {
	case errors.Is(err, social.ErrBadLogin):
		req.LogSecurity("password not confirmed", req.User)
		return h.reject(req, action, "current", "That is not your password.")
	case errors.As(err, &invalid):
		return h.reject(req, action, invalid.Field, invalid.Reason)
	case errors.Is(err, auth.ErrSecondFactorState):
		return req.Redirect(view.SecurityPath)
	}
	return err
}

func (h *securityHandlers) changePassword(req *request.Request) error {
	typed := req.R.PostFormValue("password")
	if typed != req.R.PostFormValue("password2") {
		return h.reject(req, "password", "password2", "The passwords don't match.")
	}
	if err := req.Allow(limits.Password); err != nil {
		return err
	}
	session, err := h.auth.ChangePassword(req.Ctx, req.User, req.R.PostFormValue("current"), typed)
	request.GiveBackPassword(req, err)
	if err != nil {
		return h.showMistake(req, "password", err)
	}
	req.LogSecurity("password changed", req.User)
	req.KeepSession(session.Secret)
	return req.Changed(view.SecurityPath + "?password")
}

func (h *securityHandlers) endSession(req *request.Request) error {
	err := h.sessions.EndSession(req.Ctx, req.User.ID, req.R.PostFormValue("id"))
	if err != nil && !errors.Is(err, social.ErrNoSession) {
		return err
	}
	req.LogSecurity("session ended", req.User)
	return req.Changed(view.SecurityPath + "?ended")
}

func (h *securityHandlers) endOthers(req *request.Request) error {
	if err := h.sessions.LogoutOthers(req.Ctx, req.User.ID, req.SessionSecret); err != nil {
		return err
	}
	req.LogSecurity("sessions ended", req.User)
	return req.Changed(view.SecurityPath + "?others")
}

// setUpApp makes a key for an authenticator app; appPage shows it.
func (h *securityHandlers) setUpApp(req *request.Request) error {
	if err := req.Allow(limits.Password); err != nil {
		return err
	}
	_, err := h.auth.SetUpSecondFactor(req.Ctx, req.User, req.R.PostFormValue("current"))
	request.GiveBackPassword(req, err)
	if err != nil {
		return h.showMistake(req, "app", err)
	}
	return req.Redirect(view.SecurityPath + "/app")
}

func (h *securityHandlers) appPage(req *request.Request) error {
	return h.showApp(req, http.StatusOK, view.AccountForm{})
}

func (h *securityHandlers) showApp(req *request.Request, status int, form view.AccountForm) error {
	key, err := h.auth.SecondFactorKey(req.Ctx, req.User.ID)
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
	return req.Render(status, view.AppPage(req.Frame("Settings"), picture, view.InGroups(key), form))
}

func (h *securityHandlers) confirmApp(req *request.Request) error {
	codes, err := h.auth.ConfirmSecondFactor(req.Ctx, req.User.ID, req.R.PostFormValue("code"))
	if errors.Is(err, auth.ErrBadCode) {
		return h.showApp(req, http.StatusUnprocessableEntity, view.AccountForm{Field: "code", Problem: "That code is not right. Check that the clock of your phone is."})
	}
	if errors.Is(err, auth.ErrSecondFactorState) {
		// Sent twice: the page with the codes, the answer to the first one, is not seen.
		if state, err := h.auth.SecondFactor(req.Ctx, req.User.ID); err == nil && state.On {
			return req.Changed(view.SecurityPath + "?on")
		}
	}
	if err != nil {
		return h.showMistake(req, "app", err)
	}
	req.LogSecurity("second factor on", req.User)
	return req.Render(http.StatusOK, view.CodesPage(req.Frame("Settings"), "Two-step login is on", codes))
}

func (h *securityHandlers) renewCodes(req *request.Request) error {
	if err := req.Allow(limits.Password); err != nil {
		return err
	}
	codes, err := h.auth.RenewRecoveryCodes(req.Ctx, req.User, req.R.PostFormValue("current"))
	request.GiveBackPassword(req, err)
	if err != nil {
		return h.showMistake(req, "codes", err)
	}
	req.LogSecurity("recovery codes renewed", req.User)
	return req.Render(http.StatusOK, view.CodesPage(req.Frame("Settings"), "New recovery codes", codes))
}

func (h *securityHandlers) turnOffApp(req *request.Request) error {
	if err := req.Allow(limits.Password); err != nil {
		return err
	}
	err := h.auth.TurnOffSecondFactor(req.Ctx, req.User, req.R.PostFormValue("current"))
	request.GiveBackPassword(req, err)
	if err != nil {
		return h.showMistake(req, "off", err)
	}
	req.LogSecurity("second factor off", req.User)
	return req.Changed(view.SecurityPath + "?off")
}
