package web

import (
	"context"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/live"
	"retwis/internal/social/posts"
	"retwis/internal/social/text"
	"retwis/internal/web/view"
)

// tagHandlers has the pages of tags.
type tagHandlers struct {
	live *live.Hub
	read *reader
	tags *posts.Tags
}

func (h *timelineHandlers) bookmarks(req *request) error {
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	cursor := req.r.URL.Query().Get("before")
	page, err := h.reactions.BookmarkedPosts(req.ctx, v, cursor, homePosts)
	if err != nil {
		return err
	}
	list := view.Feed{
		Path: "/bookmarks", Later: cursor != "", More: view.NextPage("/bookmarks", page.Next),
		Empty: "No bookmarks yet. Save a post with its bookmark button to find it here again.",
		Step:  "See what people write", To: "/timeline",
	}
	if list.Posts, err = h.read.posts(req, v, page.Items); err != nil {
		return err
	}
	return req.render(http.StatusOK, view.BookmarksPage(req.page("Bookmarks"), list))
}

// tagName returns the tag in the address in its usual form.
func tagName(req *request) (tag string, ok bool) {
	return text.FoldTag(req.r.PathValue("name"))
}

var errNoTag = &pageError{status: http.StatusNotFound, detail: "This isn't a tag. A tag is a word with at least one letter."}

func (h *tagHandlers) page(req *request) error {
	tag, ok := tagName(req)
	if !ok {
		return errNoTag
	}
	if tag != req.r.PathValue("name") {
		return req.redirectToName(view.TagPath(tag))
	}
	before, err := before(req)
	if err != nil {
		return err
	}
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	page, err := h.tags.TagPosts(req.ctx, v, tag, before, homePosts)
	if err != nil {
		return err
	}
	following := false
	if req.signed {
		if following, err = h.tags.IsFollowingTag(req.ctx, req.viewer.ID, tag); err != nil {
			return err
		}
	}
	list := view.Feed{
		Path: view.TagPath(tag), Later: before != 0, Next: page.Next,
		Empty: "No posts with this tag yet.", Step: "Write the first one", To: "/home#status",
	}
	if list.Posts, err = h.read.posts(req, v, page.Items); err != nil {
		return err
	}
	f := liveUpdates(h.live, req.page("#"+tag), liveTag(tag), before != 0)
	f.Feed = view.TagPath(tag) + atomSuffix
	f.Description = "Posts with the tag #" + tag + " on Retwis."
	return req.render(http.StatusOK, view.TagPage(f, tag, following, list))
}

func (h *tagHandlers) follow(req *request) error { return h.change(req, h.tags.FollowTag) }

func (h *tagHandlers) unfollow(req *request) error { return h.change(req, h.tags.UnfollowTag) }

func (h *tagHandlers) change(req *request, change func(ctx context.Context, user social.User, tag string) error) error {
	tag, ok := tagName(req)
	if !ok {
		return errNoTag
	}
	if err := change(req.ctx, req.viewer, tag); err != nil {
		return err
	}
	return req.changed(req.back(view.TagPath(tag)))
}
