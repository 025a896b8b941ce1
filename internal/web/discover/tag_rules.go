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
	err := error(social.Invalid("action", "Choose what to do with the tag."))
	if state, ok := view.ParseTagAction(req.R.PostFormValue("action")); ok {
		_, err = h.rules.Set(req.Ctx, req.User.Actor(), page.Tag, state, page.Note)
	}
	if errors.Is(err, social.ErrNotFound) {
		err = social.Invalid("tag", "This isn't a tag. A tag is a word with at least one letter.")
	}
	return req.Submitted(err, "/moderation/tags?done", func(_, problem string) error {
		page.Problem = problem
		return h.show(req, http.StatusUnprocessableEntity, page)
	})
}
