// Package email has the pages of e-mail addresses and forgotten passwords. They exist where the
// site has a mail server.
package email

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/email"
	"retwis/internal/social/limits"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Pages are the handlers of e-mail addresses.
type Pages struct{ addresses *email.Service }

// New returns the handlers of e-mail addresses.
func New(addresses *email.Service) *Pages { return &Pages{addresses} }

// Settings shows the address of the session user, and the forms that change it.
func (h *Pages) Settings(req *request.Request) error {
	return h.show(req, http.StatusOK, view.EmailSettings{Done: notices[req.R.URL.RawQuery]})
}

// notices are the sentences for what the address of the page says.
var notices = map[string]string{
	"sent":    "We have sent a mail with a link. Your address counts once you have opened it.",
	"removed": "Your address is removed.",
	"saved":   "Your settings are saved.",
}

func (h *Pages) show(req *request.Request, status int, page view.EmailSettings) (err error) {
	if page.Record, err = h.addresses.Get(req.Ctx, req.User.ID); err != nil {
		return err
	}
	return req.Render(status, view.EmailPage(req.Frame("Settings"), page))
}

// Set sets the address of the session user. A try of the password is not given back, as each sends
// a mail.
func (h *Pages) Set(req *request.Request) error {
	if err := req.Allow(limits.Password); err != nil {
		return err
	}
	typed := req.R.PostFormValue("address")
	err := h.addresses.Set(req.Ctx, req.User, req.R.PostFormValue("current"), typed)
	if err == nil {
		req.LogSecurity("e-mail address set", req.User)
	} else {
		request.GiveBackPassword(req, err)
	}
	return h.changed(req, view.AccountForm{Action: "set", Username: typed}, request.WrongPassword(req, err), "sent")
}

// Remove removes the address of the session user.
func (h *Pages) Remove(req *request.Request) error {
	return h.changed(req, view.AccountForm{Action: "remove"}, req.Guarded("e-mail address removed", func(current string) error {
		return h.addresses.Remove(req.Ctx, req.User, current)
	}), "removed")
}

// Digest turns the digest of the session user on or off.
func (h *Pages) Digest(req *request.Request) error {
	err := h.addresses.SetDigest(req.Ctx, req.User, req.R.PostFormValue("digest") == "yes")
	return h.changed(req, view.AccountForm{Action: "digest"}, err, "saved")
}

// changed leads back to the page, which says what is done, or shows it again with what is wrong with
// a form.
func (h *Pages) changed(req *request.Request, form view.AccountForm, err error, done string) error {
	return req.Submitted(err, view.EmailPath+"?"+done, func(field, problem string) error {
		form.Field, form.Problem = field, problem
		return h.show(req, http.StatusUnprocessableEntity, view.EmailSettings{Form: form})
	})
}

// ForgotPage asks whose password is forgotten.
func (h *Pages) ForgotPage(req *request.Request) error {
	return req.Render(http.StatusOK, view.ForgotPage(req.Frame("Forgotten your password?"), req.R.URL.Query().Has("sent"), view.AccountForm{}))
}

// Forgot notes that a password is forgotten. It answers alike whether the account exists or not.
func (h *Pages) Forgot(req *request.Request) error {
	err := h.addresses.RequestReset(req.Ctx, req.R.PostFormValue("account"))
	if err != nil {
		return request.Retry(err, func(field, problem string) error {
			form := view.AccountForm{Field: field, Problem: problem}
			return req.Render(http.StatusUnprocessableEntity, view.ForgotPage(req.Frame("Forgotten your password?"), false, form))
		})
	}
	return req.Redirect(view.ForgotPath + "?sent")
}

// ConfirmPage is where the link leads that confirms an address. Programs that look at mails open
// links, so the address is confirmed by a button.
func (h *Pages) ConfirmPage(req *request.Request) error {
	user, rec, err := h.addresses.Pending(req.Ctx, req.R.PathValue("token"))
	if err != nil {
		return noLink(req, err)
	}
	if rec.Pending == "" {
		return confirmed(req)
	}
	return req.Render(http.StatusOK, view.ConfirmPage(req.Frame("Confirm your address"), user.Name, rec.Pending, req.R.URL.EscapedPath()))
}

// Confirm confirms an address.
func (h *Pages) Confirm(req *request.Request) error {
	user, err := h.addresses.Confirm(req.Ctx, req.R.PathValue("token"))
	if err != nil {
		return noLink(req, err)
	}
	req.LogSecurity("e-mail address confirmed", user)
	return confirmed(req)
}

func confirmed(req *request.Request) error {
	return req.Render(http.StatusOK, view.MailDonePage(req.Frame("Your address is confirmed"), "It gets a link if you forget your password, and warnings about your account."))
}

// StopPage is where the link of a digest leads. Programs that look at mails open links, so the
// digests end by a button.
func (h *Pages) StopPage(req *request.Request) error {
	if err := h.addresses.CheckStop(req.Ctx, req.R.PathValue("token")); err != nil {
		return noLink(req, err)
	}
	return req.Render(http.StatusOK, view.StopDigestPage(req.Frame("Stop the daily mails?"), req.R.URL.EscapedPath()))
}

// Stop ends the digests of a user: for the button of StopPage, and that of mail programs (RFC
// 8058), which have no session.
func (h *Pages) Stop(req *request.Request) error {
	if err := h.addresses.StopDigest(req.Ctx, req.R.PathValue("token")); err != nil {
		return noLink(req, err)
	}
	return req.Render(http.StatusOK, view.MailDonePage(req.Frame("You get no more daily mails"), "You can turn them on again in the settings."))
}

func noLink(req *request.Request, err error) error {
	if !errors.Is(err, email.ErrNoLink) {
		return err
	}
	req.LogSecurity("link of a mail refused", social.User{})
	return req.Render(http.StatusNotFound, view.NoLinkPage(req.Frame("This link doesn't work")))
}
