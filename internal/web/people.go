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

func (s *Server) followers(v *visit) error {
	return s.people(v, "followers", s.social.Followers)
}

func (s *Server) following(v *visit) error {
	return s.people(v, "following", s.social.Following)
}

func (s *Server) people(v *visit, what string, list func(ctx context.Context, uid int64, cursor string, limit int) (social.People, error)) error {
	user, err := v.owner()
	if err != nil {
		return err
	}
	if user.Name != v.r.PathValue("name") {
		return v.rename(profilePath(user.Name) + "/" + what)
	}
	cursor := v.r.URL.Query().Get("before")
	people, err := list(v.ctx, user.ID, cursor, peopleOnPage)
	if err != nil {
		return err
	}
	next := ""
	if people.Next != "" {
		next = profilePath(user.Name) + "/" + what + "?before=" + url.QueryEscape(people.Next)
	}
	title := "Who follows " + user.Name
	if what == "following" {
		title = "Whom " + user.Name + " follows"
	}
	return v.show(http.StatusOK, peoplePage(v.page(title), user, what, people.Users, next, cursor != ""))
}

// changeFollow follows or unfollows the owner of the page.
func (s *Server) changeFollow(v *visit, change func(ctx context.Context, from, to social.User) error) error {
	if !v.signed {
		return v.toLogin()
	}
	user, err := v.owner()
	if err != nil {
		return err
	}
	err = change(v.ctx, v.viewer, user)
	if errors.Is(err, social.ErrSelfFollow) {
		return &pageError{status: http.StatusBadRequest, detail: "Nobody follows themselves."}
	}
	if err != nil {
		return err
	}
	return v.changed(profilePath(user.Name))
}
