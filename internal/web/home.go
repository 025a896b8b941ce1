package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/web/view"
)

// homePosts is how many posts a page of a home timeline or a profile has.
const homePosts = 10

func (s *Server) home(req *request) error {
	before, err := req.before()
	if err != nil {
		return err
	}
	return s.showHome(req, http.StatusOK, before, view.StatusForm{})
}

func (s *Server) showHome(req *request, status int, before int64, form view.StatusForm) error {
	f := req.live(req.page("Home"), liveHome, before != 0) // before the posts are read
	v, err := req.person()
	if err != nil {
		return err
	}
	page, err := s.app.Lists.HomePosts(req.ctx, v, before, homePosts)
	if err != nil {
		return err
	}
	posts, err := req.show(v, page.Items)
	if err != nil {
		return err
	}
	counts, err := s.app.Follows.CountsFor(req.ctx, v, req.viewer.ID)
	if err != nil {
		return err
	}
	return req.render(status, view.HomePage(f, form, counts, view.Feed{
		Posts: posts, Next: page.Next, Path: "/home", Later: before != 0,
		Empty: "No posts yet. Write your first post, or",
		Step:  "find people to follow", To: "/timeline",
	}))
}

func (s *Server) post(req *request) error {
	if !req.signed {
		return req.loginFirst()
	}
	typed := req.r.PostFormValue("status")
	post, err := s.app.Posts.PostOnce(req.ctx, req.viewer, typed)
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		return s.showHome(req, http.StatusUnprocessableEntity, 0, view.StatusForm{Status: typed, Problem: invalid.Reason})
	}
	if err != nil {
		return err
	}
	return req.changedPosts("/home", post.ID)
}
