package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/people"
	"retwis/internal/web/view"
)

// relationHandlers changes how the session user and others stand to each other.
type relationHandlers struct {
	follows   *people.Follows
	read      *reader
	relations *people.Relations
}

// peopleOnPage is how many users a page of followers has.
const peopleOnPage = 30

// withButtons adds to users how the viewer stands to them.
func (h *reader) withButtons(req *request, v *social.Viewer, users []social.User) ([]view.Person, error) {
	ids := make([]int64, len(users))
	for i, user := range users {
		ids[i] = user.ID
	}
	relations, err := h.relations.GetMany(req.ctx, v, ids...)
	if err != nil {
		return nil, err
	}
	views := make([]view.Person, len(users))
	for i, user := range users {
		views[i] = view.Person{
			User: user, Own: req.signed && user.ID == req.viewer.ID,
			Following: relations[i].Following, FollowedBy: relations[i].FollowedBy, Back: req.r.URL.RequestURI(),
		}
	}
	return views, nil
}

func (h *profileHandlers) followers(req *request) error {
	return h.people(req, "followers", h.follows.Followers)
}

func (h *profileHandlers) following(req *request) error {
	return h.people(req, "following", h.follows.Following)
}

func (h *profileHandlers) people(req *request, what string, list func(ctx context.Context, v *social.Viewer, uid int64, cursor string, limit int) (social.People, error)) error {
	user, v, err := h.read.visibleUser(req)
	if err != nil {
		return err
	}
	if user.Name != req.r.PathValue("name") {
		return req.redirectToName(view.TabPath(user.Name, what))
	}
	cursor := req.r.URL.Query().Get("before")
	people, err := list(req.ctx, v, user.ID, cursor, peopleOnPage)
	if err != nil {
		return err
	}
	page, err := h.read.people(req, v, people, view.TabPath(user.Name, what))
	if err != nil {
		return err
	}
	data, err := h.header(req, v, user)
	if err != nil {
		return err
	}
	data.Tab = what
	title := "Followers of " + user.Name
	if what == "following" {
		title = "Followed by " + user.Name
	}
	f := req.page(title)
	f.Here = view.ProfilePath(user.Name)
	return req.render(http.StatusOK, view.PeoplePage(f, data, page))
}

// people is a page of a list of people that begins at path.
func (h *reader) people(req *request, v *social.Viewer, people social.People, path string) (view.People, error) {
	data := view.People{Later: req.r.URL.Query().Get("before") != ""}
	if people.Next != "" {
		data.Next = path + "?before=" + url.QueryEscape(people.Next)
	}
	var err error
	data.People, err = h.withButtons(req, v, people.Users)
	return data, err
}

// The forms that change how the viewer and the owner of the page stand to each other.

func (h *relationHandlers) follow(req *request) error { return h.relate(req, h.follows.Follow) }

func (h *relationHandlers) unfollow(req *request) error { return h.relate(req, h.follows.Unfollow) }

func (h *relationHandlers) unmute(req *request) error { return h.relate(req, h.relations.Unmute) }

func (h *relationHandlers) unblock(req *request) error { return h.relate(req, h.relations.Unblock) }

func (h *relationHandlers) removeFollower(req *request) error {
	return h.relate(req, h.relations.RemoveFollower)
}

func (h *relationHandlers) mute(req *request) error { return h.relateUntil(req, h.relations.Mute) }

func (h *relationHandlers) block(req *request) error { return h.relateUntil(req, h.relations.Block) }

func (h *relationHandlers) relateUntil(req *request, change func(ctx context.Context, from, to social.User, until time.Time) error) error {
	until, err := relationEnd(req, time.Now())
	if err != nil {
		return err
	}
	return h.relate(req, func(ctx context.Context, from, to social.User) error { return change(ctx, from, to, until) })
}

// relationEnd reads when a mute or a block ends: the zero time for no end.
func relationEnd(req *request, now time.Time) (time.Time, error) {
	switch req.r.PostFormValue("for") {
	case "":
		return time.Time{}, nil
	case "day":
		return now.AddDate(0, 0, 1), nil
	case "week":
		return now.AddDate(0, 0, 7), nil
	}
	return time.Time{}, &pageError{status: http.StatusBadRequest, detail: "The form couldn't be read. Please try again."}
}

func (h *relationHandlers) relate(req *request, change func(ctx context.Context, from, to social.User) error) error {
	user, err := h.target(req)
	if err != nil {
		return err
	}
	err = change(req.ctx, req.viewer, user)
	switch {
	case errors.Is(err, social.ErrNotFound):
		return errNoUser
	case errors.Is(err, social.ErrSelfFollow):
		return &pageError{status: http.StatusBadRequest, detail: "You can't follow yourself."}
	case errors.Is(err, people.ErrBlocked):
		return &pageError{status: http.StatusForbidden, detail: "You can't follow this account.", cause: err}
	case err != nil:
		return err
	}
	return req.changed(req.back(view.ProfilePath(user.Name)))
}

// target returns the user named in the address of a form: one that the viewer can see,
// or has a relation to that can be ended. A user who has blocked the viewer is not found.
func (h *relationHandlers) target(req *request) (social.User, error) {
	user, v, err := h.read.visibleUser(req)
	var page *pageError
	if err == nil || v == nil || !errors.As(err, &page) {
		return user, err
	}
	relation, other := h.relations.Get(req.ctx, v, user.ID)
	if other != nil {
		return social.User{}, other
	}
	if relation.Muted || relation.Blocked || relation.Following {
		return user, nil
	}
	return social.User{}, err
}

// back is the page that a form leads back to: the one on which it was, if it says
// so, else another one.
func (req *request) back(fallback string) string {
	if to := req.r.PostFormValue("back"); to != "" {
		return localPath(to)
	}
	return fallback
}

// pin and unpin choose the post that is shown first on a profile.
func (h *postHandlers) pin(req *request) error {
	if req.signed {
		if _, err := h.read.targetPost(req); err != nil {
			return err // a post that the viewer must not see does not exist
		}
	}
	return h.changePin(req, h.profiles.Pin)
}

func (h *postHandlers) unpin(req *request) error { return h.changePin(req, h.profiles.Unpin) }

func (h *postHandlers) changePin(req *request, change func(ctx context.Context, user social.User, id int64) error) error {
	id, err := strconv.ParseInt(req.r.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return errNotFound
	}
	err = change(req.ctx, req.viewer, id)
	if errors.Is(err, social.ErrNotAuthor) {
		return &pageError{status: http.StatusForbidden, detail: "You can pin your own posts only.", cause: err}
	}
	if err != nil {
		return err
	}
	return req.changed(req.back(view.ProfilePath(req.viewer.Name)))
}
