package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/web/view"
)

// resetForm is where a link leads that an operator or a moderator has made for someone
// who has forgotten their password. The link is used up when the form is sent.
func (h *loginHandlers) resetForm(req *request) error {
	user, err := h.resetUser(req)
	if err != nil {
		return h.noReset(req, err)
	}
	return req.render(http.StatusOK, view.ResetPage(req.page("Set a new password"), user.Name, req.r.URL.EscapedPath(), view.AccountForm{}))
}

func (h *loginHandlers) reset(req *request) error {
	token, typed := req.r.PathValue("token"), req.r.PostFormValue("password")
	user, err := h.resetUser(req)
	if err != nil {
		return h.noReset(req, err)
	}
	form := view.AccountForm{}
	var invalid *social.InvalidError
	if typed != req.r.PostFormValue("password2") {
		form.Field, form.Problem = "password2", "The passwords don't match."
	} else if _, err = h.auth.ResetPassword(req.ctx, token, typed); errors.As(err, &invalid) {
		form.Field, form.Problem = invalid.Field, invalid.Reason
	}
	if form.Field != "" {
		return req.render(http.StatusUnprocessableEntity, view.ResetPage(req.page("Set a new password"), user.Name, req.r.URL.EscapedPath(), form))
	}
	if err != nil {
		return h.noReset(req, err)
	}
	req.security("password reset", user)
	req.dropSession()
	return req.redirect("/login?reset")
}

// resetUser returns the user of the link that the address has. Wrong ones are limited.
func (h *loginHandlers) resetUser(req *request) (social.User, error) {
	if err := req.allow(limits.Reset); err != nil {
		return social.User{}, err
	}
	user, err := h.auth.ResetUser(req.ctx, req.r.PathValue("token"))
	if err == nil {
		req.giveBack(limits.Reset)
	}
	return user, err
}

func (h *loginHandlers) noReset(req *request, err error) error {
	if !errors.Is(err, auth.ErrNoReset) {
		return err
	}
	req.security("reset link refused", social.User{})
	return req.render(http.StatusNotFound, view.NoResetPage(req.page("This link doesn't work")))
}
