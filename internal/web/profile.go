package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/live"
	"retwis/internal/social/moderation"
	"retwis/internal/social/people"
	"retwis/internal/social/posts"
	"retwis/internal/social/timeline"
	"retwis/internal/web/view"
)

// profileHandlers has the pages of a user: posts, followers and those whom they follow.
type profileHandlers struct {
	follows    *people.Follows
	lists      *timeline.Lists
	live       *live.Hub
	moderation *moderation.Service
	profiles   *accounts.Profiles
	reactions  *posts.Reactions
	read       *reader
	relations  *people.Relations
}

// user returns the user named in the address, in any case.
func (h *reader) user(req *request) (social.User, error) {
	user, err := h.users.UserByName(req.ctx, req.r.PathValue("name"))
	if errors.Is(err, social.ErrNotFound) {
		return social.User{}, errNoUser
	}
	return user, err
}

// visibleUser returns the user named in the address, and who looks at them. Those
// who have blocked the viewer do not exist: with the error that says so, both are returned
// too.
func (h *reader) visibleUser(req *request) (social.User, *social.Viewer, error) {
	user, err := h.user(req)
	if err != nil {
		return social.User{}, nil, err
	}
	v, err := req.asViewer()
	if err != nil {
		return social.User{}, nil, err
	}
	if user.Standing == social.Suspended && v.User.Role < social.Moderator {
		return user, v, &pageError{status: http.StatusNotFound, detail: "This account is suspended."}
	}
	if v.Sees(user.ID) == social.Hidden {
		relation, err := h.relations.Get(req.ctx, v, user.ID)
		if err != nil {
			return social.User{}, nil, err
		}
		if !relation.Blocked {
			return user, v, errNoUser
		}
	}
	return user, v, nil
}

func (h *profileHandlers) posts(req *request) error { return h.tab(req, "posts") }

func (h *profileHandlers) replies(req *request) error { return h.tab(req, "replies") }

func (h *profileHandlers) likes(req *request) error { return h.tab(req, "likes") }

func (h *profileHandlers) tab(req *request, tab string) error {
	user, v, err := h.read.visibleUser(req)
	if err != nil {
		return err
	}
	path := view.TabPath(user.Name, tab)
	if user.Name != req.r.PathValue("name") {
		return req.redirectToName(path)
	}
	data, err := h.header(req, v, user)
	if err != nil {
		return err
	}
	data.Tab = tab
	list, err := h.feed(req, v, data, path)
	if err != nil {
		return err
	}
	if data.Profile.Pinned != 0 && tab == "posts" && !list.Later {
		if err := h.showPinned(req, v, &data); err != nil {
			return err
		}
		// It is not shown twice on a page.
		if !data.Pinned.IsEmpty() {
			list.Posts = list.Posts.Without(data.Profile.Pinned)
		}
	}
	f := req.page(view.ShownName(user))
	f.Here = view.ProfilePath(user.Name)
	f.Description = data.Profile.Bio
	if tab == "posts" {
		f = liveUpdates(h.live, f, liveProfile(user.ID), list.Later)
		f.Feed = f.Here + atomSuffix
	}
	return req.render(http.StatusOK, view.ProfilePage(f, data, list))
}

// feed reads the posts of a tab.
func (h *profileHandlers) feed(req *request, v *social.Viewer, data view.Profile, path string) (view.Feed, error) {
	user := data.User
	list := view.Feed{Path: path}
	var items []timeline.Item
	if data.Tab == "likes" {
		cursor := req.r.URL.Query().Get("before")
		page, err := h.reactions.LikedPosts(req.ctx, v, user.ID, cursor, homePosts)
		if err != nil {
			return view.Feed{}, err
		}
		items, list.Later, list.More = page.Items, cursor != "", view.NextPage(path, page.Next)
	} else {
		before, err := before(req)
		if err != nil {
			return view.Feed{}, err
		}
		read := h.lists.ProfilePosts
		if data.Tab == "replies" {
			read = h.lists.ProfileReplies
		}
		page, err := read(req.ctx, v, user.ID, before, homePosts)
		if err != nil {
			return view.Feed{}, err
		}
		items, list.Later, list.Next = page.Items, before != 0, page.Next
	}
	list.Empty = map[string]string{
		"posts":   user.Name + " hasn't posted yet.",
		"replies": user.Name + " hasn't replied to anyone yet.",
		"likes":   user.Name + " hasn't liked anything yet.",
	}[data.Tab]
	if data.Own {
		switch data.Tab {
		case "posts":
			list.Empty, list.Step, list.To = "You haven't posted yet.", "Write your first post", "/home#status"
		case "replies":
			list.Empty, list.Step, list.To = "You haven't replied to anyone yet.", "See what people write", "/timeline"
		case "likes":
			list.Empty, list.Step, list.To = "You haven't liked anything yet.", "See what people write", "/timeline"
		}
	}
	var err error
	list.Posts, err = h.read.posts(req, v, items)
	return list, err
}

// header reads the part of a profile above its posts.
func (h *profileHandlers) header(req *request, v *social.Viewer, user social.User) (view.Profile, error) {
	data := view.Profile{User: user, Own: req.signed && user.ID == req.viewer.ID}
	var err error
	if data.Profile, err = h.profiles.Get(req.ctx, user.ID); err != nil {
		return data, err
	}
	if data.Counts, err = h.follows.CountsFor(req.ctx, v, user.ID); err != nil {
		return data, err
	}
	if data.Own && user.Standing == social.Limited {
		data.Standing, err = h.moderation.StandingOf(req.ctx, user.ID)
	}
	if !req.signed || data.Own {
		return data, err
	}
	if data.Relation, err = h.relations.Get(req.ctx, v, user.ID); err != nil {
		return data, err
	}
	data.Common, err = h.follows.CommonFollowers(req.ctx, v, user.ID)
	return data, err
}

// showPinned puts the pinned post of a profile first. One that is deleted meanwhile,
// or hidden, is left out.
func (h *profileHandlers) showPinned(req *request, v *social.Viewer, data *view.Profile) error {
	item, err := h.lists.PostPage(req.ctx, v, data.Profile.Pinned)
	if errors.Is(err, social.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	data.Pinned, err = h.read.posts(req, v, []timeline.Item{item})
	return err
}
