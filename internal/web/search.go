package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/search"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// resultsOnPage is how many posts a page of results has.
const resultsOnPage = 20

// searchPage is GET /search?q=…&in=posts|people|tags.
func (h *handlers) searchPage(req *request.Request) error {
	query := req.R.URL.Query()
	page := view.Search{Query: query.Get("q"), In: query.Get("in"), MaySave: req.LoggedIn}
	f := req.Frame("Search")
	f.Sidebar = view.Without{SidebarSource: f.Sidebar, Find: true}
	if page.Query != "" {
		f.Title = view.Opening(page.Query, 50) + " · Search"
	}
	req.NoIndex()
	v, err := req.Viewer()
	if err == nil && page.Query != "" {
		err = h.search(req, v, &page)
	}
	var invalid *social.InvalidError
	var nobody *search.NoUserError
	switch {
	case errors.As(err, &invalid):
		page.Problem = invalid.Reason
		return req.Render(http.StatusUnprocessableEntity, view.SearchPage(f, page))
	case errors.As(err, &nobody):
		page.Problem = nobody.Error()
	case err != nil:
		return err
	}
	return req.Render(http.StatusOK, view.SearchPage(f, page))
}

func (h *handlers) search(req *request.Request, v *social.Viewer, page *view.Search) error {
	q, err := search.Parse(page.Query)
	if err != nil {
		return err
	}
	switch page.In {
	case view.SearchPeople:
		page.Notes = q.NotesOnOperators()
		return h.searchPeople(req, v, page)
	case view.SearchTags:
		page.Notes = q.NotesOnOperators()
		page.Tags, err = h.app.Search.Tags(req.Ctx, page.Query)
		return err
	}
	page.In, page.Notes = view.SearchPosts, q.Notes()
	return h.searchPosts(req, v, q, page)
}

func (h *handlers) searchPosts(req *request.Request, v *social.Viewer, q *search.Query, page *view.Search) error {
	before, err := request.Before(req)
	if err != nil {
		return err
	}
	list, err := h.app.Search.Posts(req.Ctx, v, q, before, resultsOnPage)
	if err != nil {
		return err
	}
	path := page.Path(view.SearchPosts)
	page.Posts = view.Feed{Path: path, Later: before != 0, Empty: "No post matches."}
	if list.Next != 0 {
		page.Posts.More = view.OlderPage(path, list.Next)
	}
	posts, err := h.shownPosts(req, v, list.Items)
	page.Posts.Posts = posts.Marked(q.Marker().Find)
	return err
}

func (h *handlers) searchPeople(req *request.Request, v *social.Viewer, page *view.Search) error {
	users, err := h.app.Search.People(req.Ctx, v, page.Query)
	if err != nil {
		return err
	}
	page.People.People, err = h.withButtons(req, v, users)
	return err
}
