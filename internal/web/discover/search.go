package discover

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/search"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Search has the page that finds posts, people and tags.
type Search struct {
	search *search.Service
	read   *reader.Reader
}

// NewSearch returns the page of a search.
func NewSearch(service *search.Service, read *reader.Reader) *Search {
	return &Search{search: service, read: read}
}

// postsOnPage is how many posts a page of results has.
const postsOnPage = 20

// Page is GET /search?q=…&in=posts|people|tags.
func (h *Search) Page(req *request.Request) error {
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
		switch page.In {
		case view.SearchPeople:
			err = h.people(req, v, &page)
		case view.SearchTags:
			page.Tags, err = h.search.Tags(req.Ctx, page.Query)
		default:
			page.In = view.SearchPosts
			err = h.posts(req, v, &page)
		}
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

func (h *Search) posts(req *request.Request, v *social.Viewer, page *view.Search) error {
	before, err := request.Before(req)
	if err != nil {
		return err
	}
	q, err := search.Parse(page.Query)
	if err != nil {
		return err
	}
	list, err := h.search.Posts(req.Ctx, v, q, before, postsOnPage)
	if err != nil {
		return err
	}
	path := page.Path(view.SearchPosts)
	page.Posts = view.Feed{Path: path, Later: before != 0, Empty: "No post matches."}
	if list.Next != 0 {
		page.Posts.More = view.OlderPage(path, list.Next)
	}
	posts, err := h.read.Posts(req, v, list.Items)
	page.Posts.Posts = posts.Marked(q.Marker().Find)
	return err
}

func (h *Search) people(req *request.Request, v *social.Viewer, page *view.Search) error {
	users, err := h.search.People(req.Ctx, v, page.Query)
	if err != nil {
		return err
	}
	page.People.People, err = h.read.WithButtons(req, v, users)
	return err
}
