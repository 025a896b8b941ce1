package web

import (
	"errors"
	"net/http"
	"net/url"

	"retwis/internal/social"
	"retwis/internal/social/people"
	"retwis/internal/social/timeline"
	"retwis/internal/social/users"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// reader reads what several pages show, and finds the users and posts that addresses name.
type reader struct {
	lists     *timeline.Lists
	relations *people.Relations
	users     *users.Users
	views     *timeline.Views
}

var (
	errNoUser = &request.Error{Status: http.StatusNotFound, Detail: "This account doesn't exist."}
	errNoPost = &request.Error{Status: http.StatusNotFound, Detail: "This post doesn't exist."}
)

// user returns the user named in the address, in any case.
func (r *reader) user(req *request.Request) (social.User, error) {
	user, err := r.users.UserByName(req.Ctx, req.R.PathValue("name"))
	if errors.Is(err, social.ErrNotFound) {
		return social.User{}, errNoUser
	}
	return user, err
}

// visibleUser returns the user named in the address, and who looks at them. Those
// who have blocked the viewer do not exist: with the error that says so, both are returned
// too.
func (r *reader) visibleUser(req *request.Request) (social.User, *social.Viewer, error) {
	user, err := r.user(req)
	if err != nil {
		return social.User{}, nil, err
	}
	v, err := req.Viewer()
	if err != nil {
		return social.User{}, nil, err
	}
	if user.Standing == social.Suspended && v.User.Role < social.Moderator {
		return user, v, &request.Error{Status: http.StatusNotFound, Detail: "This account is suspended."}
	}
	if v.Sees(user.ID) == social.Hidden {
		relation, err := r.relations.Get(req.Ctx, v, user.ID)
		if err != nil {
			return social.User{}, nil, err
		}
		if !relation.Blocked {
			return user, v, errNoUser
		}
	}
	return user, v, nil
}

// post returns the post in the address, as the viewer sees it. A post that the
// viewer must not see does not exist.
func (r *reader) post(req *request.Request, v *social.Viewer) (timeline.Item, error) {
	id, ok := request.ParseID(req.R.PathValue("id"))
	if !ok {
		return timeline.Item{}, errNoPost
	}
	item, err := r.lists.PostPage(req.Ctx, v, id)
	if errors.Is(err, social.ErrNotFound) {
		return timeline.Item{}, errNoPost
	}
	return item, err
}

// targetPost returns the session user and the post that a form is about. A name that is
// not the author's is refused: the form is not one of this site.
func (r *reader) targetPost(req *request.Request) (social.Post, error) {
	v, err := req.Viewer()
	if err != nil {
		return social.Post{}, err
	}
	item, err := r.post(req, v)
	if err != nil {
		return social.Post{}, err
	}
	if item.Entry.Author.Name != req.R.PathValue("name") {
		return social.Post{}, errNoPost
	}
	return item.Post.Post, nil
}

// ownPost returns the post in the address of a form that only its author gets.
func (r *reader) ownPost(req *request.Request) (*social.Viewer, timeline.Item, error) {
	v, err := req.Viewer()
	if err != nil {
		return nil, timeline.Item{}, err
	}
	item, err := r.post(req, v)
	if err == nil && item.Post.Author.ID != req.User.ID {
		err = social.ErrNotAuthor
	}
	return v, item, err
}

// canonical returns the one address of a page of a post, and whether the request
// has another: with the name of another user, or with the id of a repost.
func canonical(req *request.Request, item timeline.Item, suffix string) (path string, elsewhere bool) {
	path = view.PostPath(item.Post.Post)
	return path + suffix, item.Entry != item.Post || req.R.PathValue("name") != item.Post.Author.Name
}

// posts returns posts for a page.
func (r *reader) posts(req *request.Request, v *social.Viewer, items []timeline.Item) (view.Posts, error) {
	list := view.NewPosts(v, items)
	return list, r.nameParents(req, list)
}

// nameParents reads the posts that these reply to, for the names of their authors: one round
// trip at most.
func (r *reader) nameParents(req *request.Request, list view.Posts) error {
	ids := list.UnnamedParents()
	if len(ids) == 0 {
		return nil
	}
	parents, err := r.views.Get(req.Ctx, ids...)
	if err != nil {
		return err
	}
	list.NameParents(ids, parents)
	return nil
}

// peopleOnPage is how many users a page of followers has.
const peopleOnPage = 30

// people is a page of a list of people that begins at path.
func (r *reader) people(req *request.Request, v *social.Viewer, people social.People, path string) (view.People, error) {
	list := view.People{Later: req.R.URL.Query().Get("before") != ""}
	if people.Next != "" {
		list.Next = path + "?before=" + url.QueryEscape(people.Next)
	}
	var err error
	list.People, err = r.withButtons(req, v, people.Users)
	return list, err
}

// withButtons adds to users how the viewer stands to them.
func (r *reader) withButtons(req *request.Request, v *social.Viewer, users []social.User) ([]view.Person, error) {
	ids := make([]int64, len(users))
	for i, user := range users {
		ids[i] = user.ID
	}
	relations, err := r.relations.GetMany(req.Ctx, v, ids...)
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
