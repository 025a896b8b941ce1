package about

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/moderation"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// SignUps has the page on which moderators decide who may join.
type SignUps struct{ applications *moderation.Applications }

// NewSignUps returns the handlers of that page.
func NewSignUps(applications *moderation.Applications) *SignUps { return &SignUps{applications} }

// signUpsOnPage is how many people the page has.
const signUpsOnPage = 100

// Page is GET /moderation/signups.
func (h *SignUps) Page(req *request.Request) error {
	page := view.SignUps{Done: req.R.URL.Query().Has("done")}
	var err error
	if page.Waiting, page.More, err = h.applications.Waiting(req.Ctx, signUpsOnPage); err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.SignUpsPage(req.Frame("Moderation"), page))
}

// Decide is POST /moderation/signups: about one person, or about all of an address.
func (h *SignUps) Decide(req *request.Request) error {
	decision, ok := moderation.ParseApproval(req.R.PostFormValue("action"))
	if !ok {
		return &request.Error{Status: http.StatusUnprocessableEntity, Detail: "Choose whether to approve or to refuse."}
	}
	var err error
	if place := req.R.PostFormValue("place"); place != "" {
		_, err = h.applications.DecideAll(req.Ctx, req.User.Actor(), place, decision)
	} else {
		uid, known := request.ParseID(req.R.PostFormValue("user"))
		if !known {
			return request.ErrNotFound
		}
		err = h.applications.Decide(req.Ctx, req.User.Actor(), uid, decision)
	}
	if err != nil && !errors.Is(err, social.ErrNotFound) { // another moderator has decided
		return err
	}
	return req.Changed("/moderation/signups?done")
}
