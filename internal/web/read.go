package web

import (
	"errors"
	"net/http"
	"net/url"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/site"
	"retwis/internal/social/timeline"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

var (
	errNoUser = &request.Error{Status: http.StatusNotFound, Detail: i18n.T("This account doesn't exist.")}
	errNoPost = &request.Error{Status: http.StatusNotFound, Detail: i18n.T("This post doesn't exist.")}
)

// namedUser returns the user whose name is in the path, ignoring case.
func (h *handlers) namedUser(req *request.Request) (social.User, error) {
	user, err := h.app.Users.UserByName(req.Ctx, req.R.PathValue("name"))
	if errors.Is(err, social.ErrNotFound) {
		return social.User{}, errNoUser
	}
	return user, err
}

// visibleUser returns the user named in the path and the viewer, along with an error if the viewer
// must not see the user, such as errNoUser if the user has blocked the viewer. A user hidden only
// by the viewer's own block is returned without an error, so that the viewer can unblock them.
func (h *handlers) visibleUser(req *request.Request) (social.User, *social.Viewer, error) {
	user, err := h.namedUser(req)
	if err != nil {
		return social.User{}, nil, err
	}
	v, err := req.Viewer()
	if err != nil {
		return social.User{}, nil, err
	}
	if user.Pending && v.User.Role < social.Moderator {
		return user, v, errNoUser
	}
	if user.Standing == social.Suspended && v.User.Role < social.Moderator {
		return user, v, &request.Error{Status: http.StatusNotFound, Detail: i18n.T("This account is suspended.")}
	}
	if v.Sees(user.ID) == social.Hidden && v.WithoutOwnBlocks().Sees(user.ID) == social.Hidden {
		return user, v, errNoUser
	}
	return user, v, nil
}

// siteAccount returns the user who represents the site and the picture of the site, which is the
// header of the user's profile. It returns the zero User if strangers cannot see that user. It
// takes no round trip if the values are cached.
func (h *handlers) siteAccount(req *request.Request) (user social.User, picture string, err error) {
	name := req.Info.Of(site.Account)
	if name == "" {
		return social.User{}, "", nil
	}
	user, err = h.app.Users.UserByName(req.Ctx, name)
	if err == nil && user.Standing.Hidden() {
		err = social.ErrNotFound
	}
	var profile accounts.UserProfile
	if err == nil {
		profile, err = h.app.Profiles.Get(req.Ctx, user.ID)
	}
	if errors.Is(err, social.ErrNotFound) {
		return social.User{}, "", nil
	}
	return user, profile.Header, err
}

// noIndexIfUnsearchable asks search engines not to index a page about a post whose author does not
// want to be found. The author of a cached post may be outdated, so the current user is looked up.
func (h *handlers) noIndexIfUnsearchable(req *request.Request, author social.User) error {
	known, err := h.app.Users.ByID(req.Ctx, []int64{author.ID})
	if err == nil && known[author.ID].Unsearchable {
		req.NoIndex()
	}
	return err
}

// postInPath returns the post whose ID is in the path, as the viewer sees the post. It returns
// errNoPost if the viewer must not see the post.
func (h *handlers) postInPath(req *request.Request, v *social.Viewer) (timeline.Item, error) {
	id, ok := request.ParseID(req.R.PathValue("id"))
	if !ok {
		return timeline.Item{}, errNoPost
	}
	item, err := h.app.Lists.PostPage(req.Ctx, v, id)
	if errors.Is(err, social.ErrNotFound) {
		return timeline.Item{}, errNoPost
	}
	return item, err
}

// targetPost returns the post that a form is about. It returns errNoPost if the name in the path is
// not the author's: such a form is not from this site.
func (h *handlers) targetPost(req *request.Request) (social.Post, error) {
	v, err := req.Viewer()
	if err != nil {
		return social.Post{}, err
	}
	item, err := h.postInPath(req, v)
	if err != nil {
		return social.Post{}, err
	}
	if item.Entry.Author.Name != req.R.PathValue("name") {
		return social.Post{}, errNoPost
	}
	return item.Post.Post, nil
}

// ownPost returns the post in the path, or social.ErrNotAuthor if the session user is not the
// author.
func (h *handlers) ownPost(req *request.Request) (*social.Viewer, timeline.Item, error) {
	v, err := req.Viewer()
	if err != nil {
		return nil, timeline.Item{}, err
	}
	item, err := h.postInPath(req, v)
	if err == nil && item.Post.Author.ID != req.User.ID {
		err = social.ErrNotAuthor
	}
	return v, item, err
}

// canonical returns the canonical address of a page of a post. moved reports whether the request
// has another address: with the name of another user, or with the ID of a repost.
func canonical(req *request.Request, item timeline.Item, suffix string) (path string, moved bool) {
	path = view.PostPath(item.Post.Post)
	return path + suffix, item.Entry != item.Post || req.R.PathValue("name") != item.Post.Author.Name
}

// shownPosts returns posts for a page, with the names of the authors to whom they reply.
func (h *handlers) shownPosts(req *request.Request, v *social.Viewer, items []timeline.Item) (view.Posts, error) {
	list := view.NewPosts(v, items)
	return list, h.nameParents(req, list)
}

// latestPosts returns the first n posts of the public timeline, for pages that introduce the site.
func (h *handlers) latestPosts(req *request.Request, n int) (view.Posts, error) {
	v, err := req.Viewer()
	if err != nil {
		return view.Posts{}, err
	}
	page, err := h.app.Lists.PublicPosts(req.Ctx, v, 0, n)
	if err != nil {
		return view.Posts{}, err
	}
	return h.shownPosts(req, v, page.Items)
}

// nameParents reads the parents of replies, for the names of their authors. It takes at most one
// round trip.
func (h *handlers) nameParents(req *request.Request, list view.Posts) error {
	ids := list.UnnamedParents()
	if len(ids) == 0 {
		return nil
	}
	parents, err := h.app.Views.Get(req.Ctx, ids...)
	if err != nil {
		return err
	}
	list.NameParents(ids, parents)
	return nil
}

// peopleOnPage is the number of users on a page of followers.
const peopleOnPage = 30

// peopleList returns a page of a list of people whose first page is at path.
func (h *handlers) peopleList(req *request.Request, v *social.Viewer, people social.People, path string) (view.People, error) {
	list := view.People{Later: req.R.URL.Query().Get("before") != ""}
	if people.Next != "" {
		list.Next = path + "?before=" + url.QueryEscape(people.Next)
	}
	var err error
	list.People, err = h.withButtons(req, v, people.Users)
	return list, err
}

// withButtons returns users with the viewer's relations, which the follow buttons show.
func (h *handlers) withButtons(req *request.Request, v *social.Viewer, users []social.User) ([]view.Person, error) {
	ids := make([]int64, len(users))
	for i, user := range users {
		ids[i] = user.ID
	}
	relations, err := h.app.Relations.GetMany(req.Ctx, v, ids...)
	if err != nil {
		return nil, err
	}
	views := make([]view.Person, len(users))
	for i, user := range users {
		views[i] = view.Person{
			User: user, Own: req.LoggedIn && user.ID == req.User.ID,
			Following: relations[i].Following, FollowedBy: relations[i].FollowedBy, Back: req.R.URL.RequestURI(),
		}
	}
	return views, nil
}
