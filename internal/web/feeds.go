package web

import (
	"strings"

	"retwis/internal/social/text"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// feedEntries is how many posts a feed has.
const feedEntries = 30

// feedPage is a page as a feed, in the format with this suffix: Atom or JSON. A feed has what a
// stranger sees, without what is hidden from a person who is logged in. Its address is that of the
// page with .atom or .json at the end.
type feedPage = func(req *request.Request, suffix string) error

// inFormat makes a page of a feed in one format.
func inFormat(feed feedPage, suffix string) request.Page {
	return func(req *request.Request) error { return feed(req, suffix) }
}

// orFeed responds with a feed where the address ends in .atom or .json. No pattern of a mux ends
// in them after a name, so a feed has the pattern of its page.
func orFeed(feed feedPage, html request.Page) request.Page {
	return func(req *request.Request) error {
		for _, suffix := range [...]string{view.AtomSuffix, view.JSONSuffix} {
			if name, ok := strings.CutSuffix(req.R.PathValue("name"), suffix); ok && name != "" {
				req.R.SetPathValue("name", name)
				return feed(req, suffix)
			}
		}
		return html(req)
	}
}

func (h *handlers) timelineFeed(req *request.Request, suffix string) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	list, err := h.app.Lists.PublicPosts(req.Ctx, v, 0, feedEntries)
	if err != nil {
		return err
	}
	return h.sendFeed(req, suffix, view.WebFeed{Title: req.Info.Name(), Path: "/timeline", Items: list.Items})
}

func (h *handlers) profileFeed(req *request.Request, suffix string) error {
	user, v, err := h.visibleUser(req)
	if err != nil {
		return err
	}
	if user.Unsearchable {
		req.NoIndex()
	}
	path := view.ProfilePath(user.Name)
	if user.Name != req.R.PathValue("name") {
		return req.RedirectToName(path + suffix)
	}
	list, err := h.app.Lists.ProfilePosts(req.Ctx, v, user.ID, 0, feedEntries)
	if err != nil {
		return err
	}
	return h.sendFeed(req, suffix, view.WebFeed{
		Title: view.ShownName(user) + " (@" + user.Name + ")", Path: path, Author: &user, Items: list.Items, Since: user.Joined,
	})
}

func (h *handlers) tagFeed(req *request.Request, suffix string) error {
	tag, ok := text.FoldTag(req.R.PathValue("name"))
	if !ok {
		return request.ErrNotFound
	}
	if tag != req.R.PathValue("name") {
		return req.RedirectToName(view.TagPath(tag) + suffix)
	}
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	list, err := h.app.Tags.TagPosts(req.Ctx, v, tag, 0, feedEntries)
	if err != nil {
		return err
	}
	return h.sendFeed(req, suffix, view.WebFeed{Title: "#" + tag, Path: view.TagPath(tag), Items: list.Items})
}

// sendFeed sends a feed in the format with a suffix.
func (h *handlers) sendFeed(req *request.Request, suffix string, feed view.WebFeed) error {
	id, err := h.app.Site.ID(req.Ctx)
	if err != nil {
		return err
	}
	feed.Site, feed.ID, feed.Origin, feed.Language = req.Info.Name(), id, req.PublicURL(), req.Language
	write, mediaType := feed.XML, view.AtomType+"; charset=utf-8"
	if suffix == view.JSONSuffix {
		write, mediaType = feed.JSON, view.JSONType
	}
	body, err := write()
	if err != nil {
		return err
	}
	request.SendCached(req, mediaType, body)
	return nil
}
