package discover

import (
	"errors"
	"net/http"
	"slices"

	"retwis/internal/social"
	"retwis/internal/social/suggestions"
	"retwis/internal/social/users"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// People has the pages with people to follow.
type People struct {
	read        *reader.Reader
	suggestions *suggestions.Service
	users       *users.Users
}

// NewPeople returns the handlers of people to follow.
func NewPeople(read *reader.Reader, s *suggestions.Service, all *users.Users) *People {
	return &People{read: read, suggestions: s, users: all}
}

// peopleOnPage is how many people the page suggests.
const peopleOnPage = 20

// Page suggests people to follow, and has the new members.
func (h *People) Page(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	people, err := h.Suggested(req, v, peopleOnPage)
	if err != nil {
		return err
	}
	latest, err := h.users.LatestUsers(req.Ctx, v, view.NewMembers)
	if err != nil {
		return err
	}
	newest, err := h.read.WithButtons(req, v, latest)
	if err != nil {
		return err
	}
	newest = slices.DeleteFunc(newest, func(one view.Person) bool {
		return slices.ContainsFunc(people, func(p view.Person) bool { return p.User.ID == one.User.ID })
	})
	f := req.Frame("People to follow")
	f.Description = "People who post on " + f.Site.Name + "."
	f.Sidebar = view.Without{SidebarSource: f.Sidebar, People: true}
	return req.Render(http.StatusOK, view.SuggestedPage(f, people, newest))
}

// Suggested returns up to n people for the viewer to follow, with the buttons that lead back
// to the page of the request.
func (h *People) Suggested(req *request.Request, v *social.Viewer, n int) ([]view.Person, error) {
	list, err := h.suggestions.Get(req.Ctx, v, n)
	if err != nil {
		return nil, err
	}
	users := make([]social.User, len(list))
	for i, one := range list {
		users[i] = one.User
	}
	people, err := h.read.WithButtons(req, v, users)
	if err != nil {
		return nil, err
	}
	for i := range people {
		people[i].Why = view.Suggested(list[i]).Why
		people[i].Dismissible = req.LoggedIn
	}
	return people, nil
}

// Dismiss makes a person no longer a suggestion for the session user.
func (h *People) Dismiss(req *request.Request) error {
	user, _, err := h.read.VisibleUser(req)
	if err != nil {
		return err
	}
	if err := h.suggestions.Dismiss(req.Ctx, req.User, user); err != nil {
		if errors.Is(err, social.ErrNotFound) {
			return reader.ErrNoUser
		}
		return err
	}
	return req.Changed(req.Back("/explore/people"))
}
