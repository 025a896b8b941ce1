package web

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/limits"
	"retwis/internal/web/view"
)

// inviteHandlers has the invitations, for those who manage them.
type inviteHandlers struct {
	signUps *accounts.SignUps
}

func (h *inviteHandlers) list(req *request) error {
	return h.show(req, http.StatusOK, view.Invites{Uses: "1", Hours: view.DefaultInviteHours, Revoked: req.r.URL.Query().Has("revoked")})
}

func (h *inviteHandlers) show(req *request, status int, data view.Invites) error {
	f := req.page("Settings")
	if !f.MayInvite() {
		return errNotFound
	}
	var err error
	if data.Mode, err = h.signUps.SignUpMode(req.ctx); err != nil {
		return err
	}
	all, err := h.signUps.Invites(req.ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, i := range all {
		v := view.Invite{Invite: i}
		switch {
		case !now.Before(i.Expires):
			v.State = "expired on " + i.Expires.Format("2 January 2006")
		case i.Left == 0:
			v.State = "used up"
		default:
			v.State = "until " + i.Expires.Format("2 January 2006, 15:04 UTC")
		}
		data.Invites = append(data.Invites, v)
	}
	req.w.Header()["Cache-Control"] = []string{"no-store"}
	return req.render(status, view.InvitesPage(f, data))
}

func (h *inviteHandlers) create(req *request) error {
	data := view.Invites{Uses: strings.TrimSpace(req.r.PostFormValue("uses")), Note: req.r.PostFormValue("note")}
	data.Hours, _ = strconv.Atoi(req.r.PostFormValue("hours"))
	if !req.page("").MayInvite() {
		return errNotFound
	}
	uses, err := strconv.ParseInt(data.Uses, 10, 64)
	if err != nil {
		uses = 0 // it is refused
	}
	token, created, err := h.signUps.CreateInvite(req.ctx, accounts.NewInvite{
		By: req.viewer.ID, Uses: uses, For: time.Duration(data.Hours) * time.Hour, Note: data.Note,
	})
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		data.Field, data.Problem = invalid.Field, invalid.Reason
		return h.show(req, http.StatusUnprocessableEntity, data)
	}
	if err != nil {
		return err
	}
	req.security("invitation created", req.viewer, slog.String("invitation", created.ID))
	return h.show(req, http.StatusOK, view.Invites{
		Uses: "1", Hours: view.DefaultInviteHours, Link: req.origin() + "/invite/" + token,
	})
}

func (h *inviteHandlers) revoke(req *request) error {
	if !req.page("").MayInvite() {
		return errNotFound
	}
	revoked, err := h.signUps.RevokeInvite(req.ctx, req.viewer.Actor(), req.r.PostFormValue("invitation"))
	if err != nil && !errors.Is(err, social.ErrNotFound) { // revoked twice
		return err
	}
	if err == nil {
		req.security("invitation revoked", req.viewer, slog.String("invitation", revoked.ID))
	}
	return req.changed("/settings/invites?revoked")
}

// invited is the page of a link with an invitation. Its address is a secret.
func (h *signUpHandlers) invited(req *request) error {
	if req.signed {
		return req.redirect("/home")
	}
	header := req.w.Header()
	header["Cache-Control"] = []string{"no-store"}
	// No page learns the address. With no-referrer a browser would hide from us, too,
	// that the form comes from this site.
	header["Referrer-Policy"] = []string{"strict-origin"}
	if err := req.allow(limits.Reset); err != nil { // guessing
		return err
	}
	form := view.AccountForm{Invite: req.r.PathValue("token")}
	switch _, err := h.signUps.FindInvite(req.ctx, form.Invite); {
	case isNotInvited(err):
		return h.refused(req, err)
	case err != nil:
		return err
	}
	req.giveBack(limits.Reset)
	return h.show(req, http.StatusOK, form)
}

func isNotInvited(err error) bool {
	return errors.Is(err, social.ErrSignUpClosed) || errors.Is(err, accounts.ErrNoInvite) ||
		errors.Is(err, accounts.ErrInviteUsedUp) || errors.Is(err, accounts.ErrInviteExpired)
}

// refused is the page for somebody who cannot sign up.
func (h *signUpHandlers) refused(req *request, err error) error {
	why := "This invitation doesn't exist, or was revoked. Ask for a new one."
	switch {
	case errors.Is(err, social.ErrSignUpClosed):
		why = "Nobody can sign up at the moment."
	case errors.Is(err, accounts.ErrInviteUsedUp):
		why = "This invitation has been used up. Ask for a new one."
	case errors.Is(err, accounts.ErrInviteExpired):
		why = "This invitation has expired. Ask for a new one."
	}
	return req.render(http.StatusForbidden, view.RefusedPage(req.page("Sign up"), why))
}
