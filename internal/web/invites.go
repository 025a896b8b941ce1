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
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// inviter restricts a page to users who may manage invitations. For others the page is not found.
func inviter(page request.Page) request.Page {
	return func(req *request.Request) error {
		if !req.Frame("").MayInvite() {
			return request.ErrNotFound
		}
		return page(req)
	}
}

func (h *handlers) invites(req *request.Request) error {
	return h.showInvites(req, http.StatusOK, view.Invites{Uses: "1", Hours: view.DefaultInviteHours, Revoked: req.R.URL.Query().Has("revoked")})
}

func (h *handlers) showInvites(req *request.Request, status int, page view.Invites) error {
	var err error
	if page.Mode, err = h.app.SignUps.SignUpMode(req.Ctx); err != nil {
		return err
	}
	all, err := h.app.SignUps.Invites(req.Ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, invite := range all {
		v := view.Invite{Invite: invite}
		switch {
		case !now.Before(invite.Expires):
			v.State = req.T("{left} of {uses} left, expired on {date}", invite.Left, invite.Uses, req.Language.Date(invite.Expires))
		case invite.Left == 0:
			v.State = req.T("{left} of {uses} left, used up", invite.Left, invite.Uses)
		case invite.Paused:
			v.State = req.T("{left} of {uses} left, paused while its creator can't invite people", invite.Left, invite.Uses)
		default:
			v.State = req.T("{left} of {uses} left, until {time}", invite.Left, invite.Uses, invite.Expires)
		}
		page.Invites = append(page.Invites, v)
	}
	req.W.Header()["Cache-Control"] = []string{"no-store"}
	return req.Render(status, view.InvitesPage(req.Frame(req.T("Settings")), page))
}

func (h *handlers) createInvite(req *request.Request) error {
	page := view.Invites{Uses: strings.TrimSpace(req.R.PostFormValue("uses")), Note: req.R.PostFormValue("note")}
	page.Hours, _ = strconv.Atoi(req.R.PostFormValue("hours"))
	uses, err := strconv.ParseInt(page.Uses, 10, 64)
	if err != nil {
		uses = 0 // CreateInvite rejects it
	}
	token, created, err := h.app.SignUps.CreateInvite(req.Ctx, accounts.NewInvite{
		By: req.User.ID, Uses: uses, For: time.Duration(page.Hours) * time.Hour, Note: page.Note,
	})
	if err != nil {
		return req.Retry(err, func(field, problem string) error {
			page.Field, page.Problem = field, problem
			return h.showInvites(req, http.StatusUnprocessableEntity, page)
		})
	}
	req.LogSecurity("invitation created", req.User, slog.String("invitation", created.ID))
	return h.showInvites(req, http.StatusOK, view.Invites{
		Uses: "1", Hours: view.DefaultInviteHours, Link: req.PublicURL() + "/invite/" + token,
	})
}

func (h *handlers) revokeInvite(req *request.Request) error {
	revoked, err := h.app.SignUps.RevokeInvite(req.Ctx, req.User.Actor(), req.R.PostFormValue("invitation"))
	if err != nil && !errors.Is(err, social.ErrNotFound) { // already revoked
		return err
	}
	if err == nil {
		req.LogSecurity("invitation revoked", req.User, slog.String("invitation", revoked.ID))
	}
	return req.Changed("/settings/invites?revoked")
}
