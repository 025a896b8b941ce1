package web

import (
	"context"
	"net/http"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/text"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// tagName returns the tag in the path in its canonical form.
func tagName(req *request.Request) (tag string, ok bool) {
	return text.FoldTag(req.R.PathValue("name"))
}

var errNoTag = &request.Error{Status: http.StatusNotFound, Detail: i18n.T("This isn't a tag. A tag is a word with at least one letter.")}

func (h *handlers) tagPage(req *request.Request) error {
	tag, ok := tagName(req)
	if !ok {
		return errNoTag
	}
	if tag != req.R.PathValue("name") {
		return req.RedirectToName(view.TagPath(tag))
	}
	before, err := request.Before(req)
	if err != nil {
		return err
	}
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	page, err := h.app.Tags.TagPosts(req.Ctx, v, tag, before, homePosts)
	if err != nil {
		return err
	}
	following := false
	if req.LoggedIn {
		if following, err = h.app.Tags.IsFollowingTag(req.Ctx, req.User.ID, tag); err != nil {
			return err
		}
	}
	list := view.Feed{
		Path: view.TagPath(tag), Later: before != 0, Next: page.Next,
		Empty: req.T("No posts with this tag yet."), Step: req.T("Write the first one"), To: "/home#status",
	}
	if list.Posts, err = h.shownPosts(req, v, page.Items); err != nil {
		return err
	}
	f := liveUpdates(h.live, req.Frame("#"+tag), liveTag(tag), before != 0)
	card := view.TagCard(req.Language, req.PublicURL(), f.Site, tag)
	f.Feed, f.Description = view.TagPath(tag), card.Description
	if !list.Later {
		f.Head = card.Head()
	}
	return req.Render(http.StatusOK, view.TagPage(f, tag, following, list))
}

// changeTag returns a handler for an action of the session user on a tag.
func (h *handlers) changeTag(change func(ctx context.Context, user social.User, tag string) error) request.Page {
	return func(req *request.Request) error {
		tag, ok := tagName(req)
		if !ok {
			return errNoTag
		}
		if err := change(req.Ctx, req.User, tag); err != nil {
			return err
		}
		return req.Changed(req.Back(view.TagPath(tag)))
	}
}
