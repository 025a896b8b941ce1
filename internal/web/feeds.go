package web

import (
	"strings"

	"retwis/internal/social/text"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// feedEntries is the number of posts in a feed.
const feedEntries = 30

// feedPage serves a page as a feed in the format of suffix: Atom or JSON. A feed shows what a
// stranger sees, minus what is hidden from a logged-in user. The address of a feed is the address
// of the page plus .atom or .json.
type feedPage = func(req *request.Request, suffix string) error

// inFormat returns the page of a feed in the format of suffix.
func inFormat(feed feedPage, suffix string) request.Page {
	return func(req *request.Request) error { return feed(req, suffix) }
}

// orFeed serves a feed if the address ends in .atom or .json, and a page otherwise. ServeMux
// patterns cannot have a suffix after a wildcard, so a feed shares the pattern of its page.
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

// sendFeed sends a feed in the format of suffix.
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
