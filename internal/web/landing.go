package web

import "net/http"

// landingPosts is how many posts the front page shows.
const landingPosts = 3

// landing introduces Retwis to visitors who are not logged in.
func (s *Server) landing(req *request) error {
	if req.signed {
		return req.redirect("/home")
	}
	page, err := s.social.Everybody(req.ctx, 0, landingPosts)
	if err != nil {
		return err
	}
	posts, err := s.posts.get(req.ctx, page.IDs)
	if err != nil {
		return err
	}
	return req.render(http.StatusOK, landingPage(req.page("Retwis"), posts))
}
