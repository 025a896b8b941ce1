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

// approvalNotices maps query values to messages on the sign-ups page.
var approvalNotices = map[string]i18n.Message{
	"approve": i18n.T("Sign-up approved."), "approve-all": i18n.T("Sign-ups approved."),
	"refuse": i18n.T("Sign-up rejected."), "refuse-all": i18n.T("Sign-ups rejected."),
}

// when returns text if condition is true, and "" otherwise.
func when(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// signUpsOnPage is the maximum number of pending sign-ups on the page.
const signUpsOnPage = 100

// applicationsPage serves GET /moderation/signups.
func (h *handlers) applicationsPage(req *request.Request) error {
	page := view.SignUps{Done: req.Language.Say(approvalNotices[req.R.URL.RawQuery])}
	var err error
	if page.Waiting, page.More, err = h.app.Applications.Waiting(req.Ctx, signUpsOnPage); err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.SignUpsPage(req.Frame(req.T("Moderation")), page))
}

// decideApplication serves POST /moderation/signups, which approves or rejects one sign-up or all
// sign-ups from one network.
func (h *handlers) decideApplication(req *request.Request) error {
	decision, ok := moderation.ParseApproval(req.R.PostFormValue("action"))
	if !ok {
		return &request.Error{Status: http.StatusUnprocessableEntity, Detail: i18n.T("Choose whether to approve or to reject.")}
	}
	var err error
	if place := req.R.PostFormValue("place"); place != "" {
		_, err = h.app.Applications.DecideAll(req.Ctx, req.User.Actor(), place, decision)
	} else {
		uid, valid := request.ParseID(req.R.PostFormValue("user"))
		if !valid {
			return request.ErrNotFound
		}
		err = h.app.Applications.Decide(req.Ctx, req.User.Actor(), uid, decision)
	}
	if err != nil && !errors.Is(err, social.ErrNotFound) { // not found: another moderator has already decided
		return err
	}
	return req.Changed("/moderation/signups?" + string(decision) + when(req.R.PostFormValue("place") != "", "-all"))
}
