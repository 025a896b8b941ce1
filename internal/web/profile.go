package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/people"
	"retwis/internal/social/text"
	"retwis/internal/social/timeline"
)

// profileView is the part of a profile above its posts.
type profileView struct {
	User     social.User
	Profile  accounts.UserProfile
	Counts   people.Counts
	Own      bool
	Relation people.Relation
	Common   people.Common
	Standing social.StandingInfo // of one's own account
	Tab      string              // one of profileTabNames
	Pinned   postList            // none, or one
}

// profileTabNames are the tabs of a profile, of which the first has the path of the profile.
var profileTabNames = []string{"posts", "replies", "likes", "followers", "following"}

// tabPath is the address of a tab.
func tabPath(name, tab string) string {
	if tab == profileTabNames[0] {
		return profilePath(name)
	}
	return profilePath(name) + "/" + tab
}

// capital writes a word with a capital letter.
func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// currentTab marks the tab that is shown.
func currentTab(tab, one string) string {
	if tab == one {
		return "page"
	}
	return "false"
}

// owner returns the user named in the address, in any case.
func (req *request) owner() (social.User, error) {
	user, err := req.server.app.Users.UserByName(req.ctx, req.r.PathValue("name"))
	if errors.Is(err, social.ErrNotFound) {
		return social.User{}, errNoUser
	}
	return user, err
}

// visibleOwner returns the user named in the address, and who looks at them. Those
// who have blocked the viewer do not exist: with the error that says so, both are returned
// too.
func (req *request) visibleOwner() (social.User, *social.Viewer, error) {
	user, err := req.owner()
	if err != nil {
		return social.User{}, nil, err
	}
	v, err := req.person()
	if err != nil {
		return social.User{}, nil, err
	}
	if user.Standing == social.Suspended && v.User.Role < social.Moderator {
		return user, v, &pageError{status: http.StatusNotFound, detail: "This account is suspended."}
	}
	if v.Sees(user.ID) == social.Hidden {
		relation, err := req.server.app.Relations.Get(req.ctx, v, user.ID)
		if err != nil {
			return social.User{}, nil, err
		}
		if !relation.Blocked {
			return user, v, errNoUser
		}
	}
	return user, v, nil
}

func (s *Server) profile(req *request) error { return s.profileTab(req, "posts") }

func (s *Server) profileReplies(req *request) error { return s.profileTab(req, "replies") }

func (s *Server) profileLikes(req *request) error { return s.profileTab(req, "likes") }

func (s *Server) profileTab(req *request, tab string) error {
	user, v, err := req.visibleOwner()
	if err != nil {
		return err
	}
	path := tabPath(user.Name, tab)
	if user.Name != req.r.PathValue("name") {
		return req.redirectToName(path)
	}
	view, err := s.view(req, v, user)
	if err != nil {
		return err
	}
	view.Tab = tab
	list, err := s.profileFeed(req, v, view, path)
	if err != nil {
		return err
	}
	if view.Profile.Pinned != 0 && tab == "posts" && !list.Later {
		if err := s.showPinned(req, v, &view); err != nil {
			return err
		}
		// It is not shown twice on a page.
		list.Posts.items = slices.DeleteFunc(list.Posts.items, func(item timeline.Item) bool {
			return len(view.Pinned.items) > 0 && item.Entry.ID == view.Profile.Pinned
		})
	}
	f := req.page(shownName(user))
	f.Here = profilePath(user.Name)
	f.Description = view.Profile.Bio
	if tab == "posts" {
		f = req.live(f, liveProfile(user.ID), list.Later)
		f.Feed = f.Here + atomSuffix
	}
	return req.render(http.StatusOK, profilePage(f, view, list))
}

// profileFeed reads the posts of a tab.
func (s *Server) profileFeed(req *request, v *social.Viewer, view profileView, path string) (feed, error) {
	user := view.User
	list := feed{Path: path}
	var items []timeline.Item
	if view.Tab == "likes" {
		cursor := req.r.URL.Query().Get("before")
		page, err := s.app.Reactions.LikedPosts(req.ctx, v, user.ID, cursor, homePosts)
		if err != nil {
			return feed{}, err
		}
		items, list.Later, list.More = page.Items, cursor != "", moreOf(path, page.Next)
	} else {
		before, err := req.before()
		if err != nil {
			return feed{}, err
		}
		read := s.app.Lists.ProfilePosts
		if view.Tab == "replies" {
			read = s.app.Lists.ProfileReplies
		}
		page, err := read(req.ctx, v, user.ID, before, homePosts)
		if err != nil {
			return feed{}, err
		}
		items, list.Later, list.Next = page.Items, before != 0, page.Next
	}
	list.Empty = map[string]string{
		"posts":   user.Name + " hasn't posted yet.",
		"replies": user.Name + " hasn't replied to anyone yet.",
		"likes":   user.Name + " hasn't liked anything yet.",
	}[view.Tab]
	if view.Own {
		switch view.Tab {
		case "posts":
			list.Empty, list.Step, list.To = "You haven't posted yet.", "Write your first post", "/home#status"
		case "replies":
			list.Empty, list.Step, list.To = "You haven't replied to anyone yet.", "See what people write", "/timeline"
		case "likes":
			list.Empty, list.Step, list.To = "You haven't liked anything yet.", "See what people write", "/timeline"
		}
	}
	var err error
	list.Posts, err = req.show(v, items)
	return list, err
}

// moreOf is the address of the next page of a list with a cursor, empty at the end.
func moreOf(path, cursor string) string {
	if cursor == "" {
		return ""
	}
	return path + "?before=" + url.QueryEscape(cursor)
}

// view reads the part of a profile above its posts.
func (s *Server) view(req *request, v *social.Viewer, user social.User) (profileView, error) {
	view := profileView{User: user, Own: req.signed && user.ID == req.viewer.ID}
	var err error
	if view.Profile, err = s.app.Profiles.Get(req.ctx, user.ID); err != nil {
		return view, err
	}
	if view.Counts, err = s.app.Follows.CountsFor(req.ctx, v, user.ID); err != nil {
		return view, err
	}
	if view.Own && user.Standing == social.Limited {
		view.Standing, err = s.app.Moderation.StandingOf(req.ctx, user.ID)
	}
	if !req.signed || view.Own {
		return view, err
	}
	if view.Relation, err = s.app.Relations.Get(req.ctx, v, user.ID); err != nil {
		return view, err
	}
	view.Common, err = s.app.Follows.CommonFollowers(req.ctx, v, user.ID)
	return view, err
}

// showPinned puts the pinned post of a profile first. One that is deleted meanwhile,
// or hidden, is left out.
func (s *Server) showPinned(req *request, v *social.Viewer, view *profileView) error {
	item, err := s.app.Lists.PostPage(req.ctx, v, view.Profile.Pinned)
	if errors.Is(err, social.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	view.Pinned, err = req.show(v, []timeline.Item{item})
	return err
}

// shownLink is how a link on a profile is displayed.
func shownLink(address string) string {
	return text.Segment{Kind: text.Link, Target: address}.Shown()
}
