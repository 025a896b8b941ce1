package web

import (
	"net/http"

	"retwis/internal/web/view"
)

// landingPosts is how many posts the front page shows.
const landingPosts = 3

// landing introduces Retwis to visitors who are not logged in.
func (s *Server) landing(req *request) error {
	if req.signed {
		return req.redirect("/home")
	}
	v, err := req.person()
	if err != nil {
		return err
	}
	page, err := s.app.Lists.PublicPosts(req.ctx, v, 0, landingPosts)
	if err != nil {
		return err
	}
	posts, err := req.show(v, page.Items)
	if err != nil {
		return err
	}
	mode, err := s.app.SignUps.SignUpMode(req.ctx)
	if err != nil {
		return err
	}
	return req.render(http.StatusOK, view.LandingPage(req.page("Retwis"), view.AccountForm{Mode: mode}, posts))
}
