package web

import (
	"errors"
	"net/http"
	"slices"

	"retwis/internal/social"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// suggestedOnPage is the maximum number of suggestions on the page of people to follow.
const suggestedOnPage = 20

// peopleToFollow shows suggested people and new members.
func (h *handlers) peopleToFollow(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	people, err := h.suggestedPeople(req, v, suggestedOnPage)
	if err != nil {
		return err
	}
	latest, err := h.app.Users.LatestUsers(req.Ctx, v, view.NewMembers)
	if err != nil {
		return err
	}
	newest, err := h.withButtons(req, v, latest)
	if err != nil {
		return err
	}
	newest = slices.DeleteFunc(newest, func(person view.Person) bool {
		return slices.ContainsFunc(people, func(p view.Person) bool { return p.User.ID == person.User.ID })
	})
	f := req.Frame(req.T("People to follow"))
	f.Description = req.T("People who post on {site}.", f.Site.Name)
	f.Sidebar = view.Without{SidebarSource: f.Sidebar, People: true}
	return req.Render(http.StatusOK, view.SuggestedPage(f, people, newest))
}

// suggestedPeople returns up to n people for the viewer to follow. The follow buttons lead back to
// the page of the request.
func (h *handlers) suggestedPeople(req *request.Request, v *social.Viewer, n int) ([]view.Person, error) {
	list, err := h.app.Suggestions.Get(req.Ctx, v, n)
	if err != nil {
		return nil, err
	}
	users := make([]social.User, len(list))
	for i, suggestion := range list {
		users[i] = suggestion.User
	}
	people, err := h.withButtons(req, v, users)
	if err != nil {
		return nil, err
	}
	for i := range people {
		people[i].Why = view.Suggested(list[i]).Why
		people[i].Dismissible = req.LoggedIn
	}
	return people, nil
}

// dismiss removes a person from the suggestions for the session user.
func (h *handlers) dismiss(req *request.Request) error {
	user, _, err := h.visibleUser(req)
	if err != nil {
		return err
	}
	if err := h.app.Suggestions.Dismiss(req.Ctx, req.User, user); err != nil {
		if errors.Is(err, social.ErrNotFound) {
			return errNoUser
		}
		return err
	}
	return req.Changed(req.Back("/explore/people"))
}
