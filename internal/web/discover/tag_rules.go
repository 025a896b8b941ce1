package discover

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/trends"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// TagRules has the page on which moderators block and pin tags.
type TagRules struct{ rules *trends.Rules }

// NewTagRules returns the handlers of decisions about tags.
func NewTagRules(rules *trends.Rules) *TagRules { return &TagRules{rules: rules} }

// Page lists the tags that are blocked or pinned.
func (h *TagRules) Page(req *request.Request) error {
	return h.show(req, http.StatusOK, view.TagRules{Done: req.R.URL.Query().Has("done")})
}

func (h *TagRules) show(req *request.Request, status int, page view.TagRules) (err error) {
	if page.Tags, err = h.rules.All(req.Ctx); err != nil {
		return err
	}
	return req.Render(status, view.TagRulesPage(req.Frame("Moderation"), page))
}

// Decide blocks or pins a tag, or ends that.
func (h *TagRules) Decide(req *request.Request) error {
	page := view.TagRules{Tag: req.R.PostFormValue("tag"), Note: req.R.PostFormValue("note")}
	state, ok := view.ParseTagAction(req.R.PostFormValue("action"))
	if !ok {
		page.Problem = "Choose what to do with the tag."
		return h.show(req, http.StatusUnprocessableEntity, page)
	}
	_, err := h.rules.Set(req.Ctx, req.User.Actor(), page.Tag, state, page.Note)
	var invalid *social.InvalidError
	switch {
	case errors.Is(err, social.ErrNotFound):
		page.Problem = "This isn't a tag. A tag is a word with at least one letter."
		return h.show(req, http.StatusUnprocessableEntity, page)
	case errors.As(err, &invalid):
		page.Problem = invalid.Reason
		return h.show(req, http.StatusUnprocessableEntity, page)
	case err != nil:
		return err
	}
	return req.Changed("/moderation/tags?done")
}
