package web

import (
	"errors"
	"net/http"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/people"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// errNoList means that a list does not exist or belongs to another user: lists are private.
var errNoList = &request.Error{Status: http.StatusNotFound, Detail: i18n.T("This list doesn't exist.")}

// noList replaces social.ErrNotFound with errNoList.
func noList(err error) error {
	if errors.Is(err, social.ErrNotFound) {
		return errNoList
	}
	return err
}

// listChanged redirects after a change of a list, or returns the error page if err is not nil.
func listChanged(req *request.Request, to string, err error) error {
	return req.Submitted(noList(err), to, unprocessable)
}

// unprocessable returns the error page for a rejected form that no page shows again.
func unprocessable(_, problem string) error {
	return &request.Error{Status: http.StatusUnprocessableEntity, Detail: i18n.Verbatim(problem)}
}

// listsPage shows the lists and saved searches of the session user.
func (h *handlers) listsPage(req *request.Request) error {
	return h.showLists(req, http.StatusOK, "", "")
}

func (h *handlers) showLists(req *request.Request, status int, name, problem string) error {
	all, err := h.app.Library.All(req.Ctx, req.User)
	if err != nil {
		return err
	}
	tags, err := h.app.Tags.FollowedTags(req.Ctx, req.User.ID)
	if err != nil {
		return err
	}
	return req.Render(status, view.ListsPage(req.Frame(req.T("Lists")), view.Library{Library: all, Tags: tags, Name: name, Problem: problem}))
}

// createList creates a list and redirects to the page where people are added.
func (h *handlers) createList(req *request.Request) error {
	name := req.R.PostFormValue("name")
	list, err := h.app.Library.Create(req.Ctx, req.User, name)
	return req.Submitted(err, view.ListPath(list.ID)+"/edit", func(_, problem string) error {
		return h.showLists(req, http.StatusUnprocessableEntity, name, problem)
	})
}

// listInPath returns the list whose ID is in the path.
func (h *handlers) listInPath(req *request.Request) (people.List, error) {
	list, err := h.app.Library.Get(req.Ctx, req.User, req.R.PathValue("id"))
	return list, noList(err)
}

// listPosts is the number of posts on a page of a list.
const listPosts = 10

// listPage shows the posts of a list's members.
func (h *handlers) listPage(req *request.Request) error {
	list, err := h.listInPath(req)
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
	page, err := h.app.Library.Posts(req.Ctx, v, list, before, listPosts)
	if err != nil {
		return err
	}
	feed := view.Feed{
		Path: view.ListPath(list.ID), Later: before != 0, Next: page.Next,
		Empty: req.T("No posts yet."), Step: req.T("Add people to this list"), To: view.ListPath(list.ID) + "/edit",
	}
	if feed.Posts, err = h.shownPosts(req, v, page.Items); err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.ListPage(req.Frame(list.Name), list, feed))
}

// editListForm shows the forms that change a list.
func (h *handlers) editListForm(req *request.Request) error {
	list, err := h.listInPath(req)
	if err != nil {
		return err
	}
	return h.showListEdit(req, http.StatusOK, view.ListForm{List: list})
}

func (h *handlers) showListEdit(req *request.Request, status int, form view.ListForm) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	known, err := h.app.Users.ByID(req.Ctx, form.List.Members)
	if err != nil {
		return err
	}
	for _, uid := range form.List.Members {
		if user, ok := known[uid]; ok && v.Sees(uid) != social.Hidden {
			form.People = append(form.People, user)
		}
	}
	return req.Render(status, view.ListEditPage(req.Frame(req.T("Edit list")), form))
}

// editList renames a list and sets whether its members are left out of the home timeline.
func (h *handlers) editList(req *request.Request) error {
	list, err := h.listInPath(req)
	if err != nil {
		return err
	}
	name, leftOut := req.R.PostFormValue("name"), req.R.PostFormValue("left_out") != ""
	err = h.app.Library.Edit(req.Ctx, req.User, list.ID, name, leftOut)
	return req.Submitted(noList(err), view.ListPath(list.ID), func(_, problem string) error {
		list.Name, list.LeftOut = name, leftOut
		return h.showListEdit(req, http.StatusUnprocessableEntity, view.ListForm{List: list, Field: "name", Problem: problem})
	})
}

// deleteList deletes a list.
func (h *handlers) deleteList(req *request.Request) error {
	return listChanged(req, "/lists", h.app.Library.Delete(req.Ctx, req.User, req.R.PathValue("id")))
}

// addToList adds the user with the submitted name to a list.
func (h *handlers) addToList(req *request.Request) error {
	list, err := h.listInPath(req)
	if err != nil {
		return err
	}
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	typed := social.TypedName(req.R.PostFormValue("member"))
	user, err := h.app.Users.UserByName(req.Ctx, typed)
	if err == nil {
		err = h.app.Library.Add(req.Ctx, v, list.ID, user)
	}
	if errors.Is(err, social.ErrNotFound) {
		err = social.Invalid("member", "There is no account with that name.")
	}
	return req.Submitted(err, view.ListPath(list.ID)+"/edit", func(_, problem string) error {
		return h.showListEdit(req, http.StatusUnprocessableEntity, view.ListForm{List: list, Field: "member", Typed: typed, Problem: problem})
	})
}

// removeFromList removes a user from a list.
func (h *handlers) removeFromList(req *request.Request) error {
	id, _ := request.ParseID(req.R.PostFormValue("member"))
	list := req.R.PathValue("id")
	return listChanged(req, view.ListPath(list)+"/edit", h.app.Library.Remove(req.Ctx, req.User, list, id))
}

// chooseListsForm shows which of the viewer's lists contain a user.
func (h *handlers) chooseListsForm(req *request.Request) error {
	user, _, err := h.visibleUser(req)
	if err != nil {
		return err
	}
	return h.showListChoice(req, http.StatusOK, user, "")
}

func (h *handlers) showListChoice(req *request.Request, status int, user social.User, problem string) error {
	all, err := h.app.Library.All(req.Ctx, req.User)
	if err != nil {
		return err
	}
	return req.Render(status, view.ChooseListsPage(req.Frame(req.T("Lists")), user, all.Lists, problem))
}

// chooseLists sets which of the viewer's lists contain a user.
func (h *handlers) chooseLists(req *request.Request) error {
	user, v, err := h.visibleUser(req)
	if err != nil {
		return err
	}
	err = h.app.Library.Put(req.Ctx, v, user, req.R.PostForm["list"])
	if errors.Is(err, social.ErrNotFound) {
		err = errNoUser
	}
	return req.Submitted(err, view.ProfilePath(user.Name), func(_, problem string) error {
		return h.showListChoice(req, http.StatusUnprocessableEntity, user, problem)
	})
}

// saveSearch saves a search.
func (h *handlers) saveSearch(req *request.Request) error {
	return listChanged(req, "/lists", h.app.Library.SaveSearch(req.Ctx, req.User, req.R.PostFormValue("q")))
}

// forgetSearch deletes a saved search.
func (h *handlers) forgetSearch(req *request.Request) error {
	return listChanged(req, "/lists", h.app.Library.ForgetSearch(req.Ctx, req.User, req.R.PostFormValue("q")))
}
