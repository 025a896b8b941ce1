package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
)

// profileView is what a profile shows besides its posts.
type profileView struct {
	User      social.User
	Counts    social.Counts
	Own       bool
	Following bool
	Common    social.Common
}

// owner returns whose page it is. The name may be in another case.
func (v *visit) owner() (social.User, error) {
	user, err := v.server.social.UserByName(v.ctx, v.r.PathValue("name"))
	if errors.Is(err, social.ErrNotFound) {
		return social.User{}, errNoUser
	}
	return user, err
}

func (s *Server) profile(v *visit) error {
	user, err := v.owner()
	if err != nil {
		return err
	}
	if user.Name != v.r.PathValue("name") {
		return v.rename(profilePath(user.Name))
	}
	before, err := v.before()
	if err != nil {
		return err
	}
	page, err := s.social.Profile(v.ctx, user.ID, before, homePosts)
	if err != nil {
		return err
	}
	posts, err := s.posts.get(v.ctx, page.IDs)
	if err != nil {
		return err
	}
	view, err := s.view(v, user)
	if err != nil {
		return err
	}
	list := feed{
		Posts: posts, Next: page.Next, Path: profilePath(user.Name), Later: before != 0,
		Empty: user.Name + " has not posted anything yet.",
	}
	if view.Own {
		list.Empty, list.Step, list.To = "You have not posted anything yet.", "Write your first post", "/home"
	}
	return v.show(http.StatusOK, profilePage(v.page(user.Name), view, list))
}

// view reads what a profile shows besides its posts.
func (s *Server) view(v *visit, user social.User) (profileView, error) {
	view := profileView{User: user, Own: v.signed && user.ID == v.viewer.ID}
	var err error
	if view.Counts, err = s.social.Counts(v.ctx, user.ID); err != nil {
		return view, err
	}
	if !v.signed || view.Own {
		return view, nil
	}
	if view.Following, err = s.social.IsFollowing(v.ctx, v.viewer.ID, user.ID); err != nil {
		return view, err
	}
	view.Common, err = s.social.CommonFollowers(v.ctx, v.viewer.ID, user.ID)
	return view, err
}

func (s *Server) follow(v *visit) error { return s.changeFollow(v, s.social.Follow) }

func (s *Server) unfollow(v *visit) error { return s.changeFollow(v, s.social.Unfollow) }
