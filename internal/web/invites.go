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
)

// mayInvite reports whether the viewer manages invitations.
func (f frame) mayInvite() bool { return f.Viewer.Role >= social.Moderator }

// inviteTimes are the times that the form offers, in hours.
var inviteTimes = []struct {
	hours int
	label string
}{{24, "1 day"}, {7 * 24, "7 days"}, {30 * 24, "30 days"}, {365 * 24, "1 year"}}

// invitesView is the page of invitations.
type invitesView struct {
	Mode    accounts.SignUpMode
	Invites []inviteView
	Link    string // of the invitation that was just created
	Uses    string // as typed
	Hours   int
	Note    string
	Field   string
	Problem string
	Revoked bool
}

type inviteView struct {
	accounts.Invite
	By    string // the name of the user who created it; empty for an operator
	State string
}

func (s *Server) invites(req *request) error {
	return s.showInvites(req, http.StatusOK, invitesView{Uses: "1", Hours: inviteTimes[1].hours, Revoked: req.r.URL.Query().Has("revoked")})
}

func (s *Server) showInvites(req *request, status int, view invitesView) error {
	f := req.page("Settings")
	if !f.mayInvite() {
		return errNotFound
	}
	var err error
	if view.Mode, err = s.app.SignUps.SignUpMode(req.ctx); err != nil {
		return err
	}
	all, err := s.app.SignUps.Invites(req.ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, i := range all {
		v := inviteView{Invite: i}
		switch {
		case !now.Before(i.Expires):
			v.State = "expired on " + i.Expires.Format("2 January 2006")
		case i.Left == 0:
			v.State = "used up"
		default:
			v.State = "until " + i.Expires.Format("2 January 2006, 15:04 UTC")
		}
		view.Invites = append(view.Invites, v)
	}
	req.w.Header()["Cache-Control"] = []string{"no-store"}
	return req.render(status, invitesPage(f, view))
}

func (s *Server) createInvite(req *request) error {
	view := invitesView{Uses: strings.TrimSpace(req.r.PostFormValue("uses")), Note: req.r.PostFormValue("note")}
	view.Hours, _ = strconv.Atoi(req.r.PostFormValue("hours"))
	if !req.page("").mayInvite() {
		return errNotFound
	}
	uses, err := strconv.ParseInt(view.Uses, 10, 64)
	if err != nil {
		uses = 0 // it is refused
	}
	token, created, err := s.app.SignUps.CreateInvite(req.ctx, accounts.NewInvite{
		By: req.viewer.ID, Uses: uses, For: time.Duration(view.Hours) * time.Hour, Note: view.Note,
	})
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		view.Field, view.Problem = invalid.Field, invalid.Reason
		return s.showInvites(req, http.StatusUnprocessableEntity, view)
	}
	if err != nil {
		return err
	}
	req.security("invitation created", req.viewer, slog.String("invitation", created.ID))
	return s.showInvites(req, http.StatusOK, invitesView{
		Uses: "1", Hours: inviteTimes[1].hours, Link: req.origin() + "/invite/" + token,
	})
}

func (s *Server) revokeInvite(req *request) error {
	if !req.page("").mayInvite() {
		return errNotFound
	}
	revoked, err := s.app.SignUps.RevokeInvite(req.ctx, req.viewer.Actor(), req.r.PostFormValue("invitation"))
	if err != nil && !errors.Is(err, social.ErrNotFound) { // revoked twice
		return err
	}
	if err == nil {
		req.security("invitation revoked", req.viewer, slog.String("invitation", revoked.ID))
	}
	return req.changed("/settings/invites?revoked")
}

// invited is the page of a link with an invitation. Its address is a secret.
func (s *Server) invited(req *request) error {
	if req.signed {
		return req.redirect("/home")
	}
	h := req.w.Header()
	h["Cache-Control"] = []string{"no-store"}
	// No page learns the address. With no-referrer a browser would hide from us, too,
	// that the form comes from this site.
	h["Referrer-Policy"] = []string{"strict-origin"}
	if err := req.allow(limits.Reset); err != nil { // guessing
		return err
	}
	form := accountForm{Invite: req.r.PathValue("token")}
	switch _, err := s.app.SignUps.FindInvite(req.ctx, form.Invite); {
	case isNotInvited(err):
		return s.refused(req, err)
	case err != nil:
		return err
	}
	req.giveBack(limits.Reset)
	return s.showRegister(req, http.StatusOK, form)
}

func isNotInvited(err error) bool {
	return errors.Is(err, social.ErrSignUpClosed) || errors.Is(err, accounts.ErrNoInvite) ||
		errors.Is(err, accounts.ErrInviteUsedUp) || errors.Is(err, accounts.ErrInviteExpired)
}

// refused is the page for somebody who cannot sign up.
func (s *Server) refused(req *request, err error) error {
	why := "This invitation doesn't exist, or was revoked. Ask for a new one."
	switch {
	case errors.Is(err, social.ErrSignUpClosed):
		why = "Nobody can sign up at the moment."
	case errors.Is(err, accounts.ErrInviteUsedUp):
		why = "This invitation has been used up. Ask for a new one."
	case errors.Is(err, accounts.ErrInviteExpired):
		why = "This invitation has expired. Ask for a new one."
	}
	return req.render(http.StatusForbidden, refusedPage(req.page("Sign up"), why))
}
