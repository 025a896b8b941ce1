package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
)

// profileView is the part of a profile above its posts.
type profileView struct {
	User      social.User
	Counts    social.Counts
	Own       bool
	Following bool
	Common    social.Common
}

// owner returns the user named in the address, in any case.
func (req *request) owner() (social.User, error) {
	user, err := req.server.social.UserByName(req.ctx, req.r.PathValue("name"))
	if errors.Is(err, social.ErrNotFound) {
		return social.User{}, errNoUser
	}
	return user, err
}

func (s *Server) profile(req *request) error {
	user, err := req.owner()
	if err != nil {
		return err
	}
	if user.Name != req.r.PathValue("name") {
		return req.redirectToName(profilePath(user.Name))
	}
	before, err := req.before()
	if err != nil {
		return err
	}
	v, err := req.person()
	if err != nil {
		return err
	}
	page, err := s.social.ProfilePosts(req.ctx, v, user.ID, before, homePosts)
	if err != nil {
		return err
	}
	posts, err := req.show(v, page.Items)
	if err != nil {
		return err
	}
	view, err := s.view(req, user)
	if err != nil {
		return err
	}
	list := feed{
		Posts: posts, Next: page.Next, Path: profilePath(user.Name), Later: before != 0,
		Empty: user.Name + " hasn't posted yet.",
	}
	if view.Own {
		list.Empty, list.Step, list.To = "You haven't posted yet.", "Write your first post", "/home"
	}
	return req.render(http.StatusOK, profilePage(req.page(user.Name), view, list))
}

// view reads the part of a profile above its posts.
func (s *Server) view(req *request, user social.User) (profileView, error) {
	view := profileView{User: user, Own: req.signed && user.ID == req.viewer.ID}
	var err error
	if view.Counts, err = s.social.Counts(req.ctx, user.ID); err != nil {
		return view, err
	}
	if !req.signed || view.Own {
		return view, nil
	}
	if view.Following, err = s.social.IsFollowing(req.ctx, req.viewer.ID, user.ID); err != nil {
		return view, err
	}
	v, err := req.person()
	if err != nil {
		return view, err
	}
	view.Common, err = s.social.CommonFollowers(req.ctx, v, user.ID)
	return view, err
}

func (s *Server) follow(req *request) error { return s.changeFollow(req, s.social.Follow) }

func (s *Server) unfollow(req *request) error { return s.changeFollow(req, s.social.Unfollow) }
