package web

import (
	"net/http"
	"time"
)

const (
	// timelinePosts is how many posts a page of the public timeline has.
	timelinePosts = 50
	// latestUsers is how many new members are listed beside it.
	latestUsers = 8
)

// membersKey is what the list of new members shows.
func membersKey(latest []personView) any {
	var key [latestUsers]personView
	copy(key[:], latest)
	return key
}

func (s *Server) timeline(req *request) error {
	began := time.Now()
	before, err := req.before()
	if err != nil {
		return err
	}
	v, err := req.person()
	if err != nil {
		return err
	}
	page, err := s.social.PublicPosts(req.ctx, v, before, timelinePosts)
	if err != nil {
		return err
	}
	posts, err := req.show(v, page.Items)
	if err != nil {
		return err
	}
	newest, err := s.social.LatestUsers(req.ctx, v, latestUsers)
	if err != nil {
		return err
	}
	latest, err := req.withButtons(v, newest)
	if err != nil {
		return err
	}
	list := feed{
		Posts: posts, Next: page.Next, Path: "/timeline", Later: before != 0,
		Empty: "No posts yet.", Step: "Sign up to write the first one", To: "/register",
	}
	if req.signed {
		list.Step, list.To = "Write the first one", "/home"
	}
	return req.renderTo(timelinePage(req.live(req.page("Explore"), liveTimeline, before != 0), latest, list), func(body []byte) {
		if isShared(req.r) {
			s.visitors.keep(began, body)
		}
		req.send(http.StatusOK, body)
	})
}
