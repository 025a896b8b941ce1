package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/people"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// relationForm returns the page that asks for how long to mute or block a person.
func (h *handlers) relationForm(action string) request.Page {
	return func(req *request.Request) error {
		user, _, err := h.visibleUser(req)
		if err != nil {
			return err
		}
		if user.ID == req.User.ID {
			return request.ErrNotFound
		}
		title := req.T("Mute @{name}", user.Name)
		if action == "block" {
			title = req.T("Block @{name}", user.Name)
		}
		return req.Render(http.StatusOK, view.RelationPage(req.Frame(title), action, user.Name, req.ReturnTo(view.ProfilePath(user.Name))))
	}
}

// relateUntil is like relate, but for changes that can expire.
func (h *handlers) relateUntil(told string, change func(ctx context.Context, from, to social.User, until time.Time) error) request.Page {
	return func(req *request.Request) error {
		until, err := relationEnd(req, time.Now())
		if err != nil {
			return err
		}
		return h.relate(told, func(ctx context.Context, from, to social.User) error { return change(ctx, from, to, until) })(req)
	}
}

// relationEnd parses when a mute or block expires. It returns the zero time for never.
func relationEnd(req *request.Request, now time.Time) (time.Time, error) {
	switch req.R.PostFormValue("for") {
	case "":
		return time.Time{}, nil
	case "day":
		return now.AddDate(0, 0, 1), nil
	case "week":
		return now.AddDate(0, 0, 7), nil
	}
	return time.Time{}, &request.Error{Status: http.StatusBadRequest, Detail: i18n.T("The form couldn't be read. Please try again.")}
}

// relate returns a handler that changes the relation between the session user and another user. The
// next page shows the message told, unless told is empty.
func (h *handlers) relate(told string, change func(ctx context.Context, from, to social.User) error) request.Page {
	return func(req *request.Request) error {
		user, err := h.relationTarget(req)
		if err != nil {
			return err
		}
		err = change(req.Ctx, req.User, user)
		switch {
		case errors.Is(err, social.ErrNotFound):
			return errNoUser
		case errors.Is(err, social.ErrSelfFollow):
			return &request.Error{Status: http.StatusBadRequest, Detail: i18n.T("You can't follow yourself.")}
		case errors.Is(err, people.ErrBlocked):
			return &request.Error{Status: http.StatusForbidden, Detail: i18n.T("You can't follow this account."), Cause: err}
		case err != nil:
			return err
		}
		if told != "" {
			req.Tell(told, user.Name)
		}
		return req.Changed(req.Back(view.ProfilePath(user.Name)))
	}
}

// relationTarget returns the user in the path of a form: a user whom the viewer can see, or with
// whom the viewer has a relation that can be ended. A user who has blocked the viewer is not found,
// unless the viewer has a block to end.
func (h *handlers) relationTarget(req *request.Request) (social.User, error) {
	user, v, err := h.visibleUser(req)
	var page *request.Error
	if err == nil || v == nil || !errors.As(err, &page) {
		return user, err
	}
	relation, relationErr := h.app.Relations.Get(req.Ctx, v, user.ID)
	switch {
	case relationErr != nil:
		return social.User{}, relationErr
	case relation.Blocked, !relation.BlockedBy && (relation.Muted || relation.Following):
		return user, nil
	}
	return social.User{}, err
}
