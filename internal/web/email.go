package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/email"
	"retwis/internal/social/limits"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// emailSettings shows the address of the session user and the forms that change it.
func (h *handlers) emailSettings(req *request.Request) error {
	return h.showEmail(req, http.StatusOK, view.EmailSettings{Done: req.Language.Say(notices[req.R.URL.RequestURI()])})
}

func (h *handlers) showEmail(req *request.Request, status int, page view.EmailSettings) (err error) {
	if page.Record, err = h.app.Email.Get(req.Ctx, req.User.ID); err != nil {
		return err
	}
	return req.Render(status, view.EmailPage(req.Frame(req.T("Settings")), page))
}

// setEmail sets the address of the session user. A successful password attempt is not given back,
// because it sends an email.
func (h *handlers) setEmail(req *request.Request) error {
	if err := req.Allow(limits.Password); err != nil {
		return err
	}
	typed := req.R.PostFormValue("address")
	err := h.app.Email.Set(req.Ctx, req.User, req.R.PostFormValue("current"), typed)
	if err == nil {
		req.LogSecurity("e-mail address set", req.User)
	} else {
		request.GiveBackPassword(req, err)
	}
	return h.emailChanged(req, view.AccountForm{Action: "set", Username: typed}, request.WrongPassword(req, err), "sent")
}

// removeEmail removes the address of the session user.
func (h *handlers) removeEmail(req *request.Request) error {
	return h.emailChanged(req, view.AccountForm{Action: "remove"}, req.Guarded("e-mail address removed", func(current string) error {
		return h.app.Email.Remove(req.Ctx, req.User, current)
	}), "removed")
}

// setDigest turns the digest of the session user on or off.
func (h *handlers) setDigest(req *request.Request) error {
	err := h.app.Email.SetDigest(req.Ctx, req.User, req.R.PostFormValue("digest") == "yes")
	return h.emailChanged(req, view.AccountForm{Action: "digest"}, err, "saved")
}

// emailChanged redirects to the page with a message, or shows the page again with the form's error.
func (h *handlers) emailChanged(req *request.Request, form view.AccountForm, err error, done string) error {
	return req.Submitted(err, view.EmailPath+"?"+done, func(field, problem string) error {
		form.Field, form.Problem = field, problem
		return h.showEmail(req, http.StatusUnprocessableEntity, view.EmailSettings{Form: form})
	})
}

// forgotForm shows the form for a forgotten password.
func (h *handlers) forgotForm(req *request.Request) error {
	return req.Render(http.StatusOK, view.ForgotPage(req.Frame(req.T("Forgot your password?")), req.R.URL.Query().Has("sent"), view.AccountForm{}))
}

// forgot requests a link for a forgotten password. The response does not reveal whether the account
// exists.
func (h *handlers) forgot(req *request.Request) error {
	err := h.app.Email.RequestReset(req.Ctx, req.R.PostFormValue("account"))
	if err != nil {
		return req.Retry(err, func(field, problem string) error {
			form := view.AccountForm{Field: field, Problem: problem}
			return req.Render(http.StatusUnprocessableEntity, view.ForgotPage(req.Frame(req.T("Forgot your password?")), false, form))
		})
	}
	return req.Redirect(view.ForgotPath + "?sent")
}

// confirmEmailForm shows the page of a confirmation link. Mail scanners open links, so a button
// confirms the address.
func (h *handlers) confirmEmailForm(req *request.Request) error {
	user, rec, err := h.app.Email.Pending(req.Ctx, req.R.PathValue("token"))
	if err != nil {
		return noLink(req, err)
	}
	if rec.Pending == "" {
		return addressConfirmed(req)
	}
	return req.Render(http.StatusOK, view.ConfirmPage(req.Frame(req.T("Confirm your email address")), user.Name, rec.Pending, req.R.URL.EscapedPath()))
}

// confirmEmail confirms an address.
func (h *handlers) confirmEmail(req *request.Request) error {
	user, err := h.app.Email.Confirm(req.Ctx, req.R.PathValue("token"))
	if err != nil {
		return noLink(req, err)
	}
	req.LogSecurity("e-mail address confirmed", user)
	return addressConfirmed(req)
}

func addressConfirmed(req *request.Request) error {
	return req.Render(http.StatusOK, view.MailDonePage(req.Frame(req.T("Email address confirmed")), req.T("If you forget your password, we'll send a link there. We'll also send warnings about your account.")))
}

// stopDigestForm shows the page of the link in a digest. Mail scanners open links, so a button ends
// the digests.
func (h *handlers) stopDigestForm(req *request.Request) error {
	if err := h.app.Email.CheckStop(req.Ctx, req.R.PathValue("token")); err != nil {
		return noLink(req, err)
	}
	return req.Render(http.StatusOK, view.StopDigestPage(req.Frame(req.T("Stop the daily emails?")), req.R.URL.EscapedPath()))
}

// stopDigest ends the digests of a user. It serves the button of stopDigestForm and the unsubscribe
// button of mail programs (RFC 8058), which have no session.
func (h *handlers) stopDigest(req *request.Request) error {
	if err := h.app.Email.StopDigest(req.Ctx, req.R.PathValue("token")); err != nil {
		return noLink(req, err)
	}
	return req.Render(http.StatusOK, view.MailDonePage(req.Frame(req.T("You won't get any more daily emails")), req.T("You can turn them on again in the settings.")))
}

func noLink(req *request.Request, err error) error {
	if !errors.Is(err, email.ErrNoLink) {
		return err
	}
	req.LogSecurity("link of a mail refused", social.User{})
	return req.Render(http.StatusNotFound, view.NoLinkPage(req.Frame(req.T("This link doesn't work"))))
}
