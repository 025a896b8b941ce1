package web

import (
	"net/http"

	"retwis/internal/web/view"
)

// landingPosts is how many posts the front page shows.
const landingPosts = 3

// landing introduces Retwis to visitors who are not logged in.
func (h *timelineHandlers) landing(req *request) error {
	if req.signed {
		return req.redirect("/home")
	}
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	page, err := h.lists.PublicPosts(req.ctx, v, 0, landingPosts)
	if err != nil {
		return err
	}
	posts, err := h.read.posts(req, v, page.Items)
	if err != nil {
		return err
	}
	mode, err := h.signUps.SignUpMode(req.ctx)
	if err != nil {
		return err
	}
	return req.render(http.StatusOK, view.LandingPage(req.page("Retwis"), view.AccountForm{Mode: mode}, posts))
}
