package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"retwis/internal/social"
)

// peopleOnPage is how many users a page of followers has.
const peopleOnPage = 30

func (s *Server) followers(req *request) error {
	return s.people(req, "followers", s.social.Followers)
}

func (s *Server) following(req *request) error {
	return s.people(req, "following", s.social.Following)
}

func (s *Server) people(req *request, what string, list func(ctx context.Context, v *social.Viewer, uid int64, cursor string, limit int) (social.People, error)) error {
	user, err := req.owner()
	if err != nil {
		return err
	}
	if user.Name != req.r.PathValue("name") {
		return req.redirectToName(profilePath(user.Name) + "/" + what)
	}
	cursor := req.r.URL.Query().Get("before")
	v, err := req.person()
	if err != nil {
		return err
	}
	people, err := list(req.ctx, v, user.ID, cursor, peopleOnPage)
	if err != nil {
		return err
	}
	next := ""
	if people.Next != "" {
		next = profilePath(user.Name) + "/" + what + "?before=" + url.QueryEscape(people.Next)
	}
	title := "Followers of " + user.Name
	if what == "following" {
		title = "Followed by " + user.Name
	}
	return req.render(http.StatusOK, peoplePage(req.page(title), user, what, people.Users, next, cursor != ""))
}

// changeFollow follows or unfollows the owner of the page.
func (s *Server) changeFollow(req *request, change func(ctx context.Context, from, to social.User) error) error {
	if !req.signed {
		return req.toLogin()
	}
	user, err := req.owner()
	if err != nil {
		return err
	}
	err = change(req.ctx, req.viewer, user)
	if errors.Is(err, social.ErrSelfFollow) {
		return &pageError{status: http.StatusBadRequest, detail: "You can't follow yourself."}
	}
	if err != nil {
		return err
	}
	return req.changed(profilePath(user.Name))
}
