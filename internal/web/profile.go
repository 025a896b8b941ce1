package web

import (
	"context"
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/live"
	"retwis/internal/social/moderation"
	"retwis/internal/social/people"
	"retwis/internal/social/posts"
	"retwis/internal/social/timeline"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// profileHandlers has the pages of a user: posts, followers and followed users.
type profileHandlers struct {
	follows    *people.Follows
	lists      *timeline.Lists
	live       *live.Hub
	moderation *moderation.Service
	profiles   *accounts.Profiles
	reactions  *posts.Reactions
	read       *reader.Reader
	relations  *people.Relations
}

func (h *profileHandlers) posts(req *request.Request) error { return h.tab(req, "posts") }

func (h *profileHandlers) replies(req *request.Request) error { return h.tab(req, "replies") }

func (h *profileHandlers) likes(req *request.Request) error { return h.tab(req, "likes") }

func (h *profileHandlers) tab(req *request.Request, tab string) error {
	user, v, err := h.read.VisibleUser(req)
	if err != nil {
		return err
	}
	path := view.TabPath(user.Name, tab)
	if user.Name != req.R.PathValue("name") {
		return req.RedirectToName(path)
	}
	header, err := h.header(req, v, user)
	if err != nil {
		return err
	}
	header.Tab = tab
	list, err := h.feed(req, v, header, path)
	if err != nil {
		return err
	}
	if header.Profile.Pinned != 0 && tab == "posts" && !list.Later {
		if err := h.showPinned(req, v, &header); err != nil {
			return err
		}
		// It is not shown twice on a page.
		if !header.Pinned.IsEmpty() {
			list.Posts = list.Posts.Without(header.Profile.Pinned)
		}
	}
	f := req.Frame(view.ShownName(user))
	f.Here = view.ProfilePath(user.Name)
	card := view.ProfileCard(req.Origin(), f.Site, user, header.Profile.Bio)
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

// header reads the part of a profile above its posts.
func (h *profileHandlers) header(req *request.Request, v *social.Viewer, user social.User) (view.Profile, error) {
	header := view.Profile{User: user, Own: req.LoggedIn && user.ID == req.User.ID}
	var err error
	if header.Profile, err = h.profiles.Get(req.Ctx, user.ID); err != nil {
		return header, err
	}
	if header.Counts, err = h.follows.CountsFor(req.Ctx, v, user.ID); err != nil {
		return header, err
	}
	if header.Own && user.Standing == social.Limited {
		header.Standing, err = h.moderation.StandingOf(req.Ctx, user.ID)
	}
	if !req.LoggedIn || header.Own {
		return header, err
	}
	if header.Relation, err = h.relations.Get(req.Ctx, v, user.ID); err != nil {
		return header, err
	}
	header.Common, err = h.follows.CommonFollowers(req.Ctx, v, user.ID)
	return header, err
}

// feed reads the posts of a tab.
func (h *profileHandlers) feed(req *request.Request, v *social.Viewer, header view.Profile, path string) (view.Feed, error) {
	user := header.User
	list := view.Feed{Path: path}
	var items []timeline.Item
	if header.Tab == "likes" {
		cursor := req.R.URL.Query().Get("before")
		page, err := h.reactions.LikedPosts(req.Ctx, v, user.ID, cursor, homePosts)
		if err != nil {
			return view.Feed{}, err
		}
		items, list.Later, list.More = page.Items, cursor != "", view.NextPage(path, page.Next)
	} else {
		before, err := request.Before(req)
		if err != nil {
			return view.Feed{}, err
		}
		read := h.lists.ProfilePosts
		if header.Tab == "replies" {
			read = h.lists.ProfileReplies
		}
		page, err := read(req.Ctx, v, user.ID, before, homePosts)
		if err != nil {
			return view.Feed{}, err
		}
		items, list.Later, list.Next = page.Items, before != 0, page.Next
	}
	list.Empty = map[string]string{
		"posts":   user.Name + " hasn't posted yet.",
		"replies": user.Name + " hasn't replied to anyone yet.",
		"likes":   user.Name + " hasn't liked anything yet.",
	}[header.Tab]
	if header.Own {
		switch header.Tab {
		case "posts":
			list.Empty, list.Step, list.To = "You haven't posted yet.", "Write your first post", "/home#status"
		case "replies":
			list.Empty, list.Step, list.To = "You haven't replied to anyone yet.", "See what people write", "/timeline"
		case "likes":
			list.Empty, list.Step, list.To = "You haven't liked anything yet.", "See what people write", "/timeline"
		}
	}
	var err error
	list.Posts, err = h.read.Posts(req, v, items)
	return list, err
}

// showPinned puts the pinned post of a profile first. One that is deleted meanwhile,
// or hidden, is left out.
func (h *profileHandlers) showPinned(req *request.Request, v *social.Viewer, header *view.Profile) error {
	item, err := h.lists.PostPage(req.Ctx, v, header.Profile.Pinned)
	if errors.Is(err, social.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	header.Pinned, err = h.read.Posts(req, v, []timeline.Item{item})
	return err
}

func (h *profileHandlers) followers(req *request.Request) error {
	return h.people(req, "followers", h.follows.Followers)
}

func (h *profileHandlers) following(req *request.Request) error {
	return h.people(req, "following", h.follows.Following)
}

func (h *profileHandlers) people(req *request.Request, what string, list func(ctx context.Context, v *social.Viewer, uid int64, cursor string, limit int) (social.People, error)) error {
	user, v, err := h.read.VisibleUser(req)
	if err != nil {
		return err
	}
	if user.Name != req.R.PathValue("name") {
		return req.RedirectToName(view.TabPath(user.Name, what))
	}
	cursor := req.R.URL.Query().Get("before")
	people, err := list(req.Ctx, v, user.ID, cursor, reader.PeopleOnPage)
	if err != nil {
		return err
	}
	page, err := h.read.People(req, v, people, view.TabPath(user.Name, what))
	if err != nil {
		return err
	}
	header, err := h.header(req, v, user)
	if err != nil {
		return err
	}
	header.Tab = what
	if user.Unsearchable {
		req.NoIndex()
	}
	title := "Followers of " + user.Name
	if what == "following" {
		title = "Followed by " + user.Name
	}
	f := req.Frame(title)
	f.Here = view.ProfilePath(user.Name)
	return req.Render(http.StatusOK, view.PeoplePage(f, header, page))
}
