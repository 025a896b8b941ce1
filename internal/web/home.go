package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
)

// homePosts is how many posts a page of a home timeline or a profile has.
const homePosts = 10

// statusForm is the form of a new post as it is shown again.
type statusForm struct {
	Status  string
	Notice  string
	Problem string
}

func (s *Server) home(v *visit) error {
	if !v.signed {
		return v.toLogin()
	}
	before, err := v.before()
	if err != nil {
		return err
	}
	return s.showHome(v, http.StatusOK, before, statusForm{})
}

func (s *Server) showHome(v *visit, status int, before int64, form statusForm) error {
	page, err := s.social.Home(v.ctx, v.viewer.ID, before, homePosts)
	if err != nil {
		return err
	}
	posts, err := s.posts.get(v.ctx, page.IDs)
	if err != nil {
		return err
	}
	counts, err := s.social.Counts(v.ctx, v.viewer.ID)
	if err != nil {
		return err
	}
	return v.show(status, homePage(v.page("Home"), form, counts, feed{
		Posts: posts, Next: page.Next, Path: "/home", Later: before != 0,
		Empty: "Nothing here yet. Write your first post, or",
		Step:  "find people to follow", To: "/timeline",
	}))
}

func (s *Server) post(v *visit) error {
	if !v.signed && v.draft != "" {
		return v.show(http.StatusForbidden, loginPage(v.page("Log in"), accountForm{Next: "/home", Draft: v.draft}))
	}
	if !v.signed {
		return v.toLogin()
	}
	typed := v.r.PostFormValue("status")
	_, err := s.social.Post(v.ctx, v.viewer, typed)
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		return s.showHome(v, http.StatusUnprocessableEntity, 0, statusForm{Status: typed, Problem: invalid.Reason})
	}
	if err != nil {
		return err
	}
	return v.changed("/home")
}
