package web

import "net/http"

const (
	// timelinePosts is how many posts a page of everybody's timeline has.
	timelinePosts = 50
	// latestUsers is how many of those who came last stand beside it.
	latestUsers = 8
)

func (s *Server) timeline(v *visit) error {
	before, err := v.before()
	if err != nil {
		return err
	}
	page, err := s.social.Everybody(v.ctx, before, timelinePosts)
	if err != nil {
		return err
	}
	posts, err := s.posts.get(v.ctx, page.IDs)
	if err != nil {
		return err
	}
	latest, err := s.social.LatestUsers(v.ctx, latestUsers)
	if err != nil {
		return err
	}
	list := feed{
		Posts: posts, Next: page.Next, Path: "/timeline", Later: before != 0,
		Empty: "Nobody has posted anything yet.", Step: "Sign up and be the first", To: "/register",
	}
	if v.signed {
		list.Step, list.To = "Be the first", "/home"
	}
	return v.show(http.StatusOK, timelinePage(v.page("Everybody"), latest, list))
}
