package discover

import (
	"errors"
	"net/http"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/lists"
	"retwis/internal/social/posts"
	"retwis/internal/social/users"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Lists has the pages of a user's lists of people, followed tags and saved searches.
type Lists struct {
	lists *lists.Service
	read  *reader.Reader
	tags  *posts.Tags
	users *users.Users
}

// NewLists returns the handlers of lists.
func NewLists(all *lists.Service, read *reader.Reader, tags *posts.Tags, users *users.Users) *Lists {
	return &Lists{lists: all, read: read, tags: tags, users: users}
}

// errNoList is also what others get: a list is private.
var errNoList = &request.Error{Status: http.StatusNotFound, Detail: "This list doesn't exist."}

// noList describes an error about a list.
func noList(err error) error {
	if errors.Is(err, social.ErrNotFound) {
		return errNoList
	}
	return err
}

// changed leads to a page after a change of a list, or describes why there was none.
func changed(req *request.Request, to string, err error) error {
	return req.Submitted(noList(err), to, unprocessable)
}

// unprocessable is the error page for a form that nothing leads back to.
func unprocessable(_, problem string) error {
	return &request.Error{Status: http.StatusUnprocessableEntity, Detail: problem}
}

// Page lists all that the session user has.
func (h *Lists) Page(req *request.Request) error { return h.show(req, http.StatusOK, "", "") }

func (h *Lists) show(req *request.Request, status int, name, problem string) error {
	all, err := h.lists.All(req.Ctx, req.User)
	if err != nil {
		return err
	}
	tags, err := h.tags.FollowedTags(req.Ctx, req.User.ID)
	if err != nil {
		return err
	}
	return req.Render(status, view.ListsPage(req.Frame("Lists"), view.Library{Library: all, Tags: tags, Name: name, Problem: problem}))
}

// Create makes a list, and leads to the page on which people are added.
func (h *Lists) Create(req *request.Request) error {
	name := req.R.PostFormValue("name")
	made, err := h.lists.Create(req.Ctx, req.User, name)
	return req.Submitted(err, view.ListPath(made.ID)+"/edit", func(_, problem string) error {
		return h.show(req, http.StatusUnprocessableEntity, name, problem)
	})
}

// list returns the list in the address.
func (h *Lists) list(req *request.Request) (lists.List, error) {
	one, err := h.lists.Get(req.Ctx, req.User, req.R.PathValue("id"))
	return one, noList(err)
}

// listPosts is how many posts a page of a list has.
const listPosts = 10

// Posts shows what the members of a list have posted.
func (h *Lists) Posts(req *request.Request) error {
	one, err := h.list(req)
	if err != nil {
		return err
	}
	before, err := request.Before(req)
	if err != nil {
		return err
	}
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	page, err := h.lists.Posts(req.Ctx, v, one, before, listPosts)
	if err != nil {
		return err
	}
	feed := view.Feed{
		Path: view.ListPath(one.ID), Later: before != 0, Next: page.Next,
		Empty: "No posts yet.", Step: "Add people to this list", To: view.ListPath(one.ID) + "/edit",
	}
	if feed.Posts, err = h.read.Posts(req, v, page.Items); err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.ListPage(req.Frame(one.Name), one, feed))
}

// EditPage has the forms that change a list.
func (h *Lists) EditPage(req *request.Request) error {
	one, err := h.list(req)
	if err != nil {
		return err
	}
	return h.showEdit(req, http.StatusOK, view.ListForm{List: one})
}

func (h *Lists) showEdit(req *request.Request, status int, form view.ListForm) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	known, err := h.users.ByID(req.Ctx, form.List.Members)
	if err != nil {
		return err
	}
	for _, uid := range form.List.Members {
		if user, ok := known[uid]; ok && v.Sees(uid) != social.Hidden {
			form.People = append(form.People, user)
		}
	}
	return req.Render(status, view.ListEditPage(req.Frame("Edit list"), form))
}

// Edit renames a list, and says whether its members are left out of the home timeline.
func (h *Lists) Edit(req *request.Request) error {
	one, err := h.list(req)
	if err != nil {
		return err
	}
	name, leftOut := req.R.PostFormValue("name"), req.R.PostFormValue("left_out") != ""
	err = h.lists.Edit(req.Ctx, req.User, one.ID, name, leftOut)
	return req.Submitted(noList(err), view.ListPath(one.ID), func(_, problem string) error {
		one.Name, one.LeftOut = name, leftOut
		return h.showEdit(req, http.StatusUnprocessableEntity, view.ListForm{List: one, Field: "name", Problem: problem})
	})
}

// Delete deletes a list.
func (h *Lists) Delete(req *request.Request) error {
	return changed(req, "/lists", h.lists.Delete(req.Ctx, req.User, req.R.PathValue("id")))
}

// Add puts the user with a typed name on a list.
func (h *Lists) Add(req *request.Request) error {
	one, err := h.list(req)
	if err != nil {
		return err
	}
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	typed := strings.TrimPrefix(strings.TrimSpace(req.R.PostFormValue("member")), "@")
	user, err := h.users.UserByName(req.Ctx, typed)
	if err == nil {
		err = h.lists.Add(req.Ctx, v, one.ID, user)
	}
	if errors.Is(err, social.ErrNotFound) {
		err = social.Invalid("member", "There is no account with that name.")
	}
	return req.Submitted(err, view.ListPath(one.ID)+"/edit", func(_, problem string) error {
		return h.showEdit(req, http.StatusUnprocessableEntity, view.ListForm{List: one, Field: "member", Typed: typed, Problem: problem})
	})
}

// Remove takes a user off a list.
func (h *Lists) Remove(req *request.Request) error {
	id, _ := request.ParseID(req.R.PostFormValue("member"))
	list := req.R.PathValue("id")
	return changed(req, view.ListPath(list)+"/edit", h.lists.Remove(req.Ctx, req.User, list, id))
}

// ChoosePage says on which lists of the viewer a user is.
func (h *Lists) ChoosePage(req *request.Request) error {
	user, _, err := h.read.VisibleUser(req)
	if err != nil {
		return err
	}
	return h.showChoice(req, http.StatusOK, user, "")
}

func (h *Lists) showChoice(req *request.Request, status int, user social.User, problem string) error {
	all, err := h.lists.All(req.Ctx, req.User)
	if err != nil {
		return err
	}
	return req.Render(status, view.ChooseListsPage(req.Frame("Lists"), user, all.Lists, problem))
}

// Choose puts a user on the chosen lists of the viewer.
func (h *Lists) Choose(req *request.Request) error {
	user, v, err := h.read.VisibleUser(req)
	if err != nil {
		return err
	}
	err = h.lists.Put(req.Ctx, v, user, req.R.PostForm["list"])
	if errors.Is(err, social.ErrNotFound) {
		err = reader.ErrNoUser
	}
	return req.Submitted(err, view.ProfilePath(user.Name), func(_, problem string) error {
		return h.showChoice(req, http.StatusUnprocessableEntity, user, problem)
	})
}

// SaveSearch keeps a search.
func (h *Lists) SaveSearch(req *request.Request) error {
	return changed(req, "/lists", h.lists.SaveSearch(req.Ctx, req.User, req.R.PostFormValue("q")))
}

// ForgetSearch removes a saved search.
func (h *Lists) ForgetSearch(req *request.Request) error {
	return changed(req, "/lists", h.lists.ForgetSearch(req.Ctx, req.User, req.R.PostFormValue("q")))
}
