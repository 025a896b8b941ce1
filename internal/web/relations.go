package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/people"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// relationHandlers changes how the session user and others stand to each other.
type relationHandlers struct {
	follows   *people.Follows
	read      *reader.Reader
	relations *people.Relations
}

// The forms that change how the viewer and the owner of the page stand to each other.

func (h *relationHandlers) follow(req *request.Request) error { return h.relate(req, h.follows.Follow) }

func (h *relationHandlers) unfollow(req *request.Request) error {
	return h.relate(req, h.follows.Unfollow)
}

func (h *relationHandlers) unmute(req *request.Request) error {
	return h.relate(req, h.relations.Unmute)
}

func (h *relationHandlers) unblock(req *request.Request) error {
	return h.relate(req, h.relations.Unblock)
}

func (h *relationHandlers) removeFollower(req *request.Request) error {
	return h.relate(req, h.relations.RemoveFollower)
}

func (h *relationHandlers) mute(req *request.Request) error {
	return h.relateUntil(req, h.relations.Mute)
}

func (h *relationHandlers) block(req *request.Request) error {
	return h.relateUntil(req, h.relations.Block)
}

func (h *relationHandlers) relateUntil(req *request.Request, change func(ctx context.Context, from, to social.User, until time.Time) error) error {
	until, err := relationEnd(req, time.Now())
	if err != nil {
		return err
	}
	return h.relate(req, func(ctx context.Context, from, to social.User) error { return change(ctx, from, to, until) })
}

// relationEnd reads when a mute or a block ends: the zero time for no end.
func relationEnd(req *request.Request, now time.Time) (time.Time, error) {
	switch req.R.PostFormValue("for") {
	case "":
		return time.Time{}, nil
	case "day":
		return now.AddDate(0, 0, 1), nil
	case "week":
		return now.AddDate(0, 0, 7), nil
	}
	return time.Time{}, &request.Error{Status: http.StatusBadRequest, Detail: "The form couldn't be read. Please try again."}
}

func (h *relationHandlers) relate(req *request.Request, change func(ctx context.Context, from, to social.User) error) error {
	user, err := h.target(req)
	if err != nil {
		return err
	}
	err = change(req.Ctx, req.User, user)
	switch {
	case errors.Is(err, social.ErrNotFound):
		return reader.ErrNoUser
	case errors.Is(err, social.ErrSelfFollow):
		return &request.Error{Status: http.StatusBadRequest, Detail: "You can't follow yourself."}
	case errors.Is(err, people.ErrBlocked):
		return &request.Error{Status: http.StatusForbidden, Detail: "You can't follow this account.", Cause: err}
	case err != nil:
		return err
	}
	return req.Changed(req.Back(view.ProfilePath(user.Name)))
}

// target returns the user named in the address of a form: one that the viewer can see,
// or has a relation to that can be ended. A user who has blocked the viewer is not found.
func (h *relationHandlers) target(req *request.Request) (social.User, error) {
	user, v, err := h.read.VisibleUser(req)
	var page *request.Error
	if err == nil || v == nil || !errors.As(err, &page) {
		return user, err
	}
	relation, other := h.relations.Get(req.Ctx, v, user.ID)
	if other != nil {
		return social.User{}, other
	}
	if relation.Muted || relation.Blocked || relation.Following {
		return user, nil
	}
	return social.User{}, err
}
