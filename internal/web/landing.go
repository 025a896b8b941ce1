package web

import "net/http"

// landingPosts is how many posts the front page shows.
const landingPosts = 3

// landing says what this is to whoever does not know it yet.
func (s *Server) landing(v *visit) error {
	if v.signed {
		return v.redirect("/home")
	}
	page, err := s.social.Everybody(v.ctx, 0, landingPosts)
	if err != nil {
		return err
	}
	posts, err := s.posts.get(v.ctx, page.IDs)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, landingPage(v.page("Retwis"), posts))
}
