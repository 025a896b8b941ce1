package web

import (
	"errors"
	"net/http"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/moderation"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// approvals maps query values to the message on the sign-ups page.
var approvals = map[string]i18n.Message{
	"approve": i18n.T("Sign-up approved."), "approve-all": i18n.T("Sign-ups approved."),
	"refuse": i18n.T("Sign-up rejected."), "refuse-all": i18n.T("Sign-ups rejected."),
}

// when returns text if is is true, and "" otherwise.
func when(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// signUpsOnPage is the number of people on the page.
const signUpsOnPage = 100

// applicationsPage serves GET /moderation/signups.
func (h *handlers) applicationsPage(req *request.Request) error {
	page := view.SignUps{Done: req.Language.Say(approvals[req.R.URL.RawQuery])}
	var err error
	if page.Waiting, page.More, err = h.app.Applications.Waiting(req.Ctx, signUpsOnPage); err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.SignUpsPage(req.Frame(req.T("Moderation")), page))
}

// decideApplication serves POST /moderation/signups. It decides about one person or about everybody
// from one address.
func (h *handlers) decideApplication(req *request.Request) error {
	decision, ok := moderation.ParseApproval(req.R.PostFormValue("action"))
	if !ok {
		return &request.Error{Status: http.StatusUnprocessableEntity, Detail: i18n.T("Choose whether to approve or to reject.")}
	}
	var err error
	if place := req.R.PostFormValue("place"); place != "" {
		_, err = h.app.Applications.DecideAll(req.Ctx, req.User.Actor(), place, decision)
	} else {
		uid, known := request.ParseID(req.R.PostFormValue("user"))
		if !known {
			return request.ErrNotFound
		}
		err = h.app.Applications.Decide(req.Ctx, req.User.Actor(), uid, decision)
	}
	if err != nil && !errors.Is(err, social.ErrNotFound) { // another moderator has decided
		return err
	}
	return req.Changed("/moderation/signups?" + string(decision) + when(req.R.PostFormValue("place") != "", "-all"))
}
