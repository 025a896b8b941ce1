package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/web/view"
)

// homePosts is how many posts a page of a home timeline or a profile has.
const homePosts = 10

func (h *timelineHandlers) home(req *request) error {
	before, err := before(req)
	if err != nil {
		return err
	}
	return h.showHome(req, http.StatusOK, before, view.StatusForm{})
}

func (h *timelineHandlers) showHome(req *request, status int, before int64, form view.StatusForm) error {
	f := liveUpdates(h.live, req.page("Home"), liveHome, before != 0) // before the posts are read
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	page, err := h.lists.HomePosts(req.ctx, v, before, homePosts)
	if err != nil {
		return err
	}
	posts, err := h.read.posts(req, v, page.Items)
	if err != nil {
		return err
	}
	counts, err := h.follows.CountsFor(req.ctx, v, req.viewer.ID)
	if err != nil {
		return err
	}
	return req.render(status, view.HomePage(f, form, counts, view.Feed{
		Posts: posts, Next: page.Next, Path: "/home", Later: before != 0,
		Empty: "No posts yet. Write your first post, or",
		Step:  "find people to follow", To: "/timeline",
	}))
}

func (h *timelineHandlers) post(req *request) error {
	if !req.signed {
		return req.loginFirst()
	}
	typed := req.r.PostFormValue("status")
	post, err := h.posts.PostOnce(req.ctx, req.viewer, typed)
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		return h.showHome(req, http.StatusUnprocessableEntity, 0, view.StatusForm{Status: typed, Problem: invalid.Reason})
	}
	if err != nil {
		return err
	}
	return req.changedPosts("/home", post.ID)
}
