package web

import (
	"strings"

	"retwis/internal/social/posts"
	"retwis/internal/social/text"
	"retwis/internal/social/timeline"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// feedHandlers has the Atom feeds. They have what a stranger sees, without what is hidden from a
// person who is logged in. Their addresses are those of the pages with .atom at the end.
type feedHandlers struct {
	lists *timeline.Lists
	read  *reader.Reader
	tags  *posts.Tags
}

// atomEntries is how many posts a feed has.
const atomEntries = 30

// orFeed responds with a feed where the address ends in .atom. No pattern of a mux ends in
// .atom after a name, so a feed has the pattern of its page.
func orFeed(feed, html request.Page) request.Page {
	return func(req *request.Request) error {
		name, ok := strings.CutSuffix(req.R.PathValue("name"), view.AtomSuffix)
		if !ok || name == "" {
			return html(req)
		}
		req.R.SetPathValue("name", name)
		return feed(req)
	}
}

func (h *feedHandlers) timeline(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	list, err := h.lists.PublicPosts(req.Ctx, v, 0, atomEntries)
	if err != nil {
		return err
	}
	return sendFeed(req, view.AtomFeed{Title: "Retwis", Path: "/timeline", Items: list.Items})
}

func (h *feedHandlers) profile(req *request.Request) error {
	user, v, err := h.read.VisibleUser(req)
	if err != nil {
		return err
	}
	path := view.ProfilePath(user.Name)
	if user.Name != req.R.PathValue("name") {
		return req.RedirectToName(path + view.AtomSuffix)
	}
	list, err := h.lists.ProfilePosts(req.Ctx, v, user.ID, 0, atomEntries)
	if err != nil {
		return err
	}
	return sendFeed(req, view.AtomFeed{
		Title: view.ShownName(user) + " (@" + user.Name + ")", Path: path, Author: &user, Items: list.Items, Since: user.Joined,
	})
}

func (h *feedHandlers) tag(req *request.Request) error {
	tag, ok := text.FoldTag(req.R.PathValue("name"))
	if !ok {
		return request.ErrNotFound
	}
	if tag != req.R.PathValue("name") {
		return req.RedirectToName(view.TagPath(tag) + view.AtomSuffix)
	}
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	list, err := h.tags.TagPosts(req.Ctx, v, tag, 0, atomEntries)
	if err != nil {
		return err
	}
	return sendFeed(req, view.AtomFeed{Title: "#" + tag, Path: view.TagPath(tag), Items: list.Items})
}

// sendFeed sends a feed.
func sendFeed(req *request.Request, feed view.AtomFeed) error {
	feed.Origin = req.Origin()
	body, updated, err := feed.XML()
	if err != nil {
		return err
	}
	request.SendCached(req, view.AtomType+"; charset=utf-8", body, updated)
	return nil
}
