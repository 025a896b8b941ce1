package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/web/view"
)

// toSecurity leads from the address of a form to the page that has it.
func (*Server) toSecurity(req *request) error { return req.redirect(view.SecurityPath) }

// securityNotices are the sentences for what the address of the page says.
var securityNotices = map[string]string{
	"password": "Your password is changed. All other devices are logged out.",
	"ended":    "That device is logged out.",
	"others":   "All other devices are logged out.",
	"off":      "Two-step login is off.",
}

func (s *Server) securitySettings(req *request) error {
	data := view.Security{}
	for name, text := range securityNotices {
		if req.r.URL.Query().Has(name) {
			data.Done = text
		}
	}
	return req.securityPage(http.StatusOK, data)
}

// securityPage shows the page, with what is known of the account.
func (req *request) securityPage(status int, data view.Security) error {
	state, err := req.server.app.Auth.SecondFactor(req.ctx, req.viewer.ID)
	if err != nil {
		return err
	}
	data.On, data.Codes = state.On, state.Codes
	open, err := req.server.app.Sessions.OpenSessions(req.ctx, req.viewer.ID, req.secret)
	if err != nil {
		return err
	}
	for _, one := range open {
		data.Sessions = append(data.Sessions, view.Session{OpenSession: one})
	}
	return req.render(status, view.SecurityPage(req.page("Settings"), data))
}

// rejected shows the page again, with what is wrong with one form of it.
func (req *request) rejected(action, field, problem string) error {
	return req.securityPage(http.StatusUnprocessableEntity, view.Security{Form: view.AccountForm{Action: action, Field: field, Problem: problem}})
}

// mistake answers an error of a form with a password, or returns it.
func (req *request) mistake(action string, err error) error {
	var invalid *social.InvalidError
	switch {
	case errors.Is(err, social.ErrBadLogin):
		req.security("password not confirmed", req.viewer)
		return req.rejected(action, "current", "That is not your password.")
	case errors.As(err, &invalid):
		return req.rejected(action, invalid.Field, invalid.Reason)
	case errors.Is(err, auth.ErrSecondFactorState):
		return req.redirect(view.SecurityPath)
	}
	return err
}

func (s *Server) changePassword(req *request) error {
	if err := req.allow(limits.Password); err != nil {
		return err
	}
	typed := req.r.PostFormValue("password")
	if typed != req.r.PostFormValue("password2") {
		return req.rejected("password", "password2", "The passwords don't match.")
	}
	session, err := s.app.Auth.ChangePassword(req.ctx, req.viewer, req.r.PostFormValue("current"), typed)
	if err != nil {
		return req.mistake("password", err)
	}
	req.giveBack(limits.Password)
	req.security("password changed", req.viewer)
	req.keepSession(session.Secret)
	return req.changed(view.SecurityPath + "?password")
}

func (s *Server) endSession(req *request) error {
	err := s.app.Sessions.EndSession(req.ctx, req.viewer.ID, req.r.PostFormValue("id"))
	if err != nil && !errors.Is(err, social.ErrNoSession) {
		return err
	}
	req.security("session ended", req.viewer)
	return req.changed(view.SecurityPath + "?ended")
}

func (s *Server) endOthers(req *request) error {
	if err := s.app.Sessions.LogoutOthers(req.ctx, req.viewer.ID, req.secret); err != nil {
		return err
	}
	req.security("sessions ended", req.viewer)
	return req.changed(view.SecurityPath + "?others")
}

// setUpApp makes a key for an authenticator app; appPage shows it.
func (s *Server) setUpApp(req *request) error {
	if err := req.allow(limits.Password); err != nil {
		return err
	}
	if _, err := s.app.Auth.SetUpSecondFactor(req.ctx, req.viewer, req.r.PostFormValue("current")); err != nil {
		return req.mistake("app", err)
	}
	req.giveBack(limits.Password)
	return req.redirect(view.SecurityPath + "/app")
}

func (s *Server) appPage(req *request) error {
	return req.showApp(http.StatusOK, view.AccountForm{})
}

func (req *request) showApp(status int, form view.AccountForm) error {
	key, err := req.server.app.Auth.SecondFactorKey(req.ctx, req.viewer.ID)
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

func (s *Server) confirmApp(req *request) error {
	codes, err := s.app.Auth.ConfirmSecondFactor(req.ctx, req.viewer.ID, req.r.PostFormValue("code"))
	if errors.Is(err, auth.ErrBadCode) {
		return req.showApp(http.StatusUnprocessableEntity, view.AccountForm{Field: "code", Problem: "That code is not right. Check that the clock of your phone is."})
	}
	if err != nil {
		return req.mistake("app", err)
	}
	req.security("second factor on", req.viewer)
	return req.render(http.StatusOK, view.CodesPage(req.page("Settings"), "Two-step login is on", codes))
}

func (s *Server) renewCodes(req *request) error {
	if err := req.allow(limits.Password); err != nil {
		return err
	}
	codes, err := s.app.Auth.RenewRecoveryCodes(req.ctx, req.viewer, req.r.PostFormValue("current"))
	if err != nil {
		return req.mistake("codes", err)
	}
	req.giveBack(limits.Password)
	req.security("recovery codes renewed", req.viewer)
	return req.render(http.StatusOK, view.CodesPage(req.page("Settings"), "New recovery codes", codes))
}

func (s *Server) turnOffApp(req *request) error {
	if err := req.allow(limits.Password); err != nil {
		return err
	}
	if err := s.app.Auth.TurnOffSecondFactor(req.ctx, req.viewer, req.r.PostFormValue("current")); err != nil {
		return req.mistake("off", err)
	}
	req.giveBack(limits.Password)
	req.security("second factor off", req.viewer)
	return req.changed(view.SecurityPath + "?off")
}
