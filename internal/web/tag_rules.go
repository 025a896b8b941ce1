package web

import (
	"errors"
	"net/http"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// tagNotices maps query values to messages on the tags page.
var tagNotices = map[string]i18n.Message{
	"block": i18n.T("Tag blocked from trends."), "pin": i18n.T("Tag pinned in trends."), "end": i18n.T("Tag no longer blocked or pinned."),
}

// tagRules lists the blocked and pinned tags.
func (h *handlers) tagRules(req *request.Request) error {
	return h.showTagRules(req, http.StatusOK, view.TagRules{Done: req.Language.Say(tagNotices[req.R.URL.RawQuery])})
}

func (h *handlers) showTagRules(req *request.Request, status int, page view.TagRules) (err error) {
	if page.Tags, err = h.app.TrendRules.All(req.Ctx); err != nil {
		return err
	}
	return req.Render(status, view.TagRulesPage(req.Frame(req.T("Moderation")), page))
}

// decideTag blocks, unblocks, pins or unpins a tag.
func (h *handlers) decideTag(req *request.Request) error {
	page := view.TagRules{Tag: req.R.PostFormValue("tag"), Note: req.R.PostFormValue("note")}
	err := error(social.Invalid("action", "Choose what to do with the tag."))
	action := req.R.PostFormValue("action")
	if state, ok := view.ParseTagAction(action); ok {
		_, err = h.app.TrendRules.Set(req.Ctx, req.User.Actor(), page.Tag, state, page.Note)
	}
	if errors.Is(err, social.ErrNotFound) {
		err = social.Invalid("tag", "This isn't a tag. A tag is a word with at least one letter.")
	}
	return req.Submitted(err, "/moderation/tags?"+action, func(_, problem string) error {
		page.Problem = problem
		return h.showTagRules(req, http.StatusUnprocessableEntity, page)
	})
}
