package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// profileTab returns the page of a profile tab.
func (h *handlers) profileTab(tab string) request.Page {
	return func(req *request.Request) error {
		user, v, err := h.visibleUser(req)
		if err != nil {
			return err
		}
		path := view.TabPath(user.Name, tab)
		if user.Name != req.R.PathValue("name") {
			return req.RedirectToName(path)
		}
		header, err := h.profileHeader(req, v, user)
		if err != nil {
			return err
		}
		header.Tab = tab
		list, err := h.tabPosts(req, v, header, path)
		if err != nil {
			return err
		}
		if header.Profile.Pinned != 0 && tab == "posts" && !list.Later {
			if err := h.showPinned(req, v, &header); err != nil {
				return err
			}
			// The pinned post is not shown twice.
			if !header.Pinned.IsEmpty() {
				list.Posts = list.Posts.Without(header.Profile.Pinned)
			}
		}
		f := req.Frame(view.ShownName(user))
		f.Here = view.ProfilePath(user.Name)
		card := view.ProfileCard(req.Language, req.PublicURL(), f.Site, user, header.Profile.Bio)
		f.Description = card.Description
		if user.Unsearchable {
			req.NoIndex()
		}
		if tab == "posts" {
			f = liveUpdates(h.live, f, liveProfile(user.ID), list.Later)
			f.Feed = f.Here
			if !list.Later {
				f.Head = card.Head()
			}
		}
		return req.Render(http.StatusOK, view.ProfilePage(f, header, list))
	}
}

// profileHeader reads the part of a profile above its posts.
func (h *handlers) profileHeader(req *request.Request, v *social.Viewer, user social.User) (view.Profile, error) {
	header := view.Profile{User: user, Own: req.LoggedIn && user.ID == req.User.ID}
	var err error
	if header.Profile, err = h.app.Profiles.Get(req.Ctx, user.ID); err != nil {
		return header, err
	}
	if header.Counts, err = h.app.Follows.CountsFor(req.Ctx, v, user.ID); err != nil {
		return header, err
	}
	if header.Own && user.Standing == social.Limited {
		header.Standing, err = h.app.Moderation.StandingOf(req.Ctx, user.ID)
	}
	if !req.LoggedIn || header.Own {
		return header, err
	}
	if header.Relation, err = h.app.Relations.Get(req.Ctx, v, user.ID); err != nil {
		return header, err
	}
	header.Common, err = h.app.Follows.CommonFollowers(req.Ctx, v, user.ID)
	return header, err
}

// tabPosts reads the posts of a tab.
func (h *handlers) tabPosts(req *request.Request, v *social.Viewer, header view.Profile, path string) (view.Feed, error) {
	user := header.User
	list := view.Feed{Path: path}
	var items []timeline.Item
	if header.Tab == "likes" {
		cursor := req.R.URL.Query().Get("before")
		page, err := h.app.Reactions.LikedPosts(req.Ctx, v, user.ID, cursor, homePosts)
		if err != nil {
			return view.Feed{}, err
		}
		items, list.Later, list.More = page.Items, cursor != "", view.NextPage(path, page.Next)
	} else {
		before, err := request.Before(req)
		if err != nil {
			return view.Feed{}, err
		}
		read := h.app.Lists.ProfilePosts
		if header.Tab == "replies" {
			read = h.app.Lists.ProfileReplies
		}
		page, err := read(req.Ctx, v, user.ID, before, homePosts)
		if err != nil {
			return view.Feed{}, err
		}
		items, list.Later, list.Next = page.Items, before != 0, page.Next
	}
	switch header.Tab {
	case "posts":
		list.Empty = req.T("{name} hasn't posted yet.", user.Name)
	case "replies":
		list.Empty = req.T("{name} hasn't replied to anyone yet.", user.Name)
	case "likes":
		list.Empty = req.T("{name} hasn't liked anything yet.", user.Name)
	}
	if header.Own {
		switch header.Tab {
		case "posts":
			list.Empty, list.Step, list.To = req.T("You haven't posted yet."), req.T("Write your first post"), "/home#status"
		case "replies":
			list.Empty, list.Step, list.To = req.T("You haven't replied to anyone yet."), req.T("Look around"), "/explore"
		case "likes":
			list.Empty, list.Step, list.To = req.T("You haven't liked anything yet."), req.T("Look around"), "/explore"
		}
	}
	if list.Posts = view.NewPosts(v, items); header.Tab == "replies" {
		list.Posts = list.Posts.Together()
	}
	return list, h.nameParents(req, list.Posts)
}

// showPinned adds the pinned post to a profile, unless the post has been deleted or hidden.
func (h *handlers) showPinned(req *request.Request, v *social.Viewer, header *view.Profile) error {
	item, err := h.app.Lists.PostPage(req.Ctx, v, header.Profile.Pinned)
	if errors.Is(err, social.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	header.Pinned, err = h.shownPosts(req, v, []timeline.Item{item})
	return err
}

// profilePeople returns the page of a user's followers or followees.
func (h *handlers) profilePeople(tab string, list listPeople) request.Page {
	return func(req *request.Request) error {
		user, v, err := h.visibleUser(req)
		if err != nil {
			return err
		}
		if user.Name != req.R.PathValue("name") {
			return req.RedirectToName(view.TabPath(user.Name, tab))
		}
		cursor := req.R.URL.Query().Get("before")
		people, err := list(req.Ctx, v, user.ID, cursor, peopleOnPage)
		if err != nil {
			return err
		}
		page, err := h.peopleList(req, v, people, view.TabPath(user.Name, tab))
		if err != nil {
			return err
		}
		header, err := h.profileHeader(req, v, user)
		if err != nil {
			return err
		}
		header.Tab = tab
		if user.Unsearchable {
			req.NoIndex()
		}
		title := req.T("Followers of {name}", user.Name)
		if tab == "following" {
			title = req.T("Followed by {name}", user.Name)
		}
		f := req.Frame(title)
		f.Here = view.ProfilePath(user.Name)
		return req.Render(http.StatusOK, view.PeoplePage(f, header, page))
	}
}
