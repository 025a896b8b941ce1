package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/web/view"
)

// securityHandlers has the settings of passwords, codes and sessions.
type securityHandlers struct {
	auth     *auth.Service
	sessions *auth.Sessions
}

// toSecurity leads from the address of a form to the page that has it.
func toSecurity(req *request) error { return req.redirect(view.SecurityPath) }

// securityNotices are the sentences for what the address of the page says.
var securityNotices = map[string]string{
	"password": "Your password is changed. All other devices are logged out.",
	"ended":    "That device is logged out.",
	"others":   "All other devices are logged out.",
	"off":      "Two-step login is off.",
}

func (h *securityHandlers) settings(req *request) error {
	data := view.Security{}
	for name, text := range securityNotices {
		if req.r.URL.Query().Has(name) {
			data.Done = text
		}
	}
	return h.show(req, http.StatusOK, data)
}

// show shows the page, with what is known of the account.
func (h *securityHandlers) show(req *request, status int, data view.Security) error {
	state, err := h.auth.SecondFactor(req.ctx, req.viewer.ID)
	if err != nil {
		return err
	}
	data.On, data.Codes = state.On, state.Codes
	open, err := h.sessions.OpenSessions(req.ctx, req.viewer.ID, req.secret)
	if err != nil {
		return err
	}
	for _, one := range open {
		data.Sessions = append(data.Sessions, view.Session{OpenSession: one})
	}
	return req.render(status, view.SecurityPage(req.page("Settings"), data))
}

// reject shows the page again, with what is wrong with one form of it.
func (h *securityHandlers) reject(req *request, action, field, problem string) error {
	return h.show(req, http.StatusUnprocessableEntity, view.Security{Form: view.AccountForm{Action: action, Field: field, Problem: problem}})
}

// showMistake answers an error of a form with a password, or returns it.
func (h *securityHandlers) showMistake(req *request, action string, err error) error {
	var invalid *social.InvalidError
	switch {
	case errors.Is(err, social.ErrBadLogin):
		req.security("password not confirmed", req.viewer)
		return h.reject(req, action, "current", "That is not your password.")
	case errors.As(err, &invalid):
		return h.reject(req, action, invalid.Field, invalid.Reason)
	case errors.Is(err, auth.ErrSecondFactorState):
		return req.redirect(view.SecurityPath)
	}
	return err
}

func (h *securityHandlers) changePassword(req *request) error {
	if err := req.allow(limits.Password); err != nil {
		return err
	}
	typed := req.r.PostFormValue("password")
	if typed != req.r.PostFormValue("password2") {
		return h.reject(req, "password", "password2", "The passwords don't match.")
	}
	session, err := h.auth.ChangePassword(req.ctx, req.viewer, req.r.PostFormValue("current"), typed)
	if err != nil {
		return h.showMistake(req, "password", err)
	}
	req.giveBack(limits.Password)
	req.security("password changed", req.viewer)
	req.keepSession(session.Secret)
	return req.changed(view.SecurityPath + "?password")
}

func (h *securityHandlers) endSession(req *request) error {
	err := h.sessions.EndSession(req.ctx, req.viewer.ID, req.r.PostFormValue("id"))
	if err != nil && !errors.Is(err, social.ErrNoSession) {
		return err
	}
	req.security("session ended", req.viewer)
	return req.changed(view.SecurityPath + "?ended")
}

func (h *securityHandlers) endOthers(req *request) error {
	if err := h.sessions.LogoutOthers(req.ctx, req.viewer.ID, req.secret); err != nil {
		return err
	}
	req.security("sessions ended", req.viewer)
	return req.changed(view.SecurityPath + "?others")
}

// setUpApp makes a key for an authenticator app; appPage shows it.
func (h *securityHandlers) setUpApp(req *request) error {
	if err := req.allow(limits.Password); err != nil {
		return err
	}
	if _, err := h.auth.SetUpSecondFactor(req.ctx, req.viewer, req.r.PostFormValue("current")); err != nil {
		return h.showMistake(req, "app", err)
	}
	req.giveBack(limits.Password)
	return req.redirect(view.SecurityPath + "/app")
}

func (h *securityHandlers) appPage(req *request) error {
	return h.showApp(req, http.StatusOK, view.AccountForm{})
}

func (h *securityHandlers) showApp(req *request, status int, form view.AccountForm) error {
	key, err := h.auth.SecondFactorKey(req.ctx, req.viewer.ID)
	if errors.Is(err, auth.ErrSecondFactorState) {
		return req.redirect(view.SecurityPath)
	}
	if err != nil {
		return err
	}
	picture, err := view.QRCode(auth.KeyURL(key, req.viewer))
	if err != nil {
		return err
	}
	return req.render(status, view.AppPage(req.page("Settings"), picture, view.InGroups(key), form))
}

func (h *securityHandlers) confirmApp(req *request) error {
	codes, err := h.auth.ConfirmSecondFactor(req.ctx, req.viewer.ID, req.r.PostFormValue("code"))
	if errors.Is(err, auth.ErrBadCode) {
		return h.showApp(req, http.StatusUnprocessableEntity, view.AccountForm{Field: "code", Problem: "That code is not right. Check that the clock of your phone is."})
	}
	if err != nil {
		return h.showMistake(req, "app", err)
	}
	req.security("second factor on", req.viewer)
	return req.render(http.StatusOK, view.CodesPage(req.page("Settings"), "Two-step login is on", codes))
}

func (h *securityHandlers) renewCodes(req *request) error {
	if err := req.allow(limits.Password); err != nil {
		return err
	}
	codes, err := h.auth.RenewRecoveryCodes(req.ctx, req.viewer, req.r.PostFormValue("current"))
	if err != nil {
		return h.showMistake(req, "codes", err)
	}
	req.giveBack(limits.Password)
	req.security("recovery codes renewed", req.viewer)
	return req.render(http.StatusOK, view.CodesPage(req.page("Settings"), "New recovery codes", codes))
}

func (h *securityHandlers) turnOffApp(req *request) error {
	if err := req.allow(limits.Password); err != nil {
		return err
	}
	if err := h.auth.TurnOffSecondFactor(req.ctx, req.viewer, req.r.PostFormValue("current")); err != nil {
		return h.showMistake(req, "off", err)
	}
	req.giveBack(limits.Password)
	req.security("second factor off", req.viewer)
	return req.changed(view.SecurityPath + "?off")
}
