package discover

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/suggestions"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// People has the pages with people to follow.
type People struct {
	read        *reader.Reader
	suggestions *suggestions.Service
}

// NewPeople returns the handlers of people to follow.
func NewPeople(read *reader.Reader, s *suggestions.Service) *People {
	return &People{read: read, suggestions: s}
}

// peopleOnPage is how many people the page suggests.
const peopleOnPage = 20

// Page suggests people to follow.
func (h *People) Page(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	people, err := h.Suggested(req, v, peopleOnPage)
	if err != nil {
		return err
	}
	f := req.Frame("People to follow")
	f.Description = "People who post on " + f.Site.Name + "."
	return req.Render(http.StatusOK, view.SuggestedPage(f, people))
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
		people[i].Why = why(list[i])
		people[i].Dismissible = req.LoggedIn
	}
	return people, nil
}

// why is the reason of a suggestion, as a page shows it.
func why(one suggestions.Suggestion) view.Why {
	reason := view.Why{FollowedBy: one.FollowedBy, Bio: one.Bio}
	for i := range min(len(one.By), len(reason.By)) {
		reason.By[i] = view.ShownName(one.By[i])
	}
	return reason
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
