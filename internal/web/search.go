package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

const (
	// resultsOnPage is the number of posts on a page of results.
	resultsOnPage = 20
	// peopleAmongAll and tagsAmongAll are the maximum numbers of people and tags above the posts of
	// a search for everything.
	peopleAmongAll = 3
	tagsAmongAll   = 3
)

// searchPage serves GET /search?q=…&in=all|posts|people|tags. The option fields become operators of
// the query.
func (h *handlers) searchPage(req *request.Request) error {
	query := req.R.URL.Query()
	page := view.Search{Query: query.Get("q"), In: query.Get("in"), MaySave: req.LoggedIn}
	switch options := searchOptions(query); {
	case len(options) > 0:
		page.Query, page.In = withOptions(page.Query, options), view.SearchPosts
	case page.In == "" && query.Get("before") != "": // an old link to a later page of posts
		page.In = view.SearchPosts
	case page.In != view.SearchPosts && page.In != view.SearchPeople && page.In != view.SearchTags:
		page.In = view.SearchAll
	}
	f := req.Frame(req.T("Search"))
	f.Sidebar = view.Without{SidebarSource: f.Sidebar, Find: true}
	if page.Query != "" {
		f.Title = req.T("{query} · Search", view.Opening(page.Query, 50))
	}
	req.NoIndex()
	v, err := req.Viewer()
	if err == nil && page.Query != "" {
		err = h.search(req, v, &page)
	}
	var invalid *social.InvalidError
	var noUser *search.NoUserError
	switch {
	case errors.As(err, &invalid):
		page.Problem = req.Language.Say(invalid.Reason)
		return req.Render(http.StatusUnprocessableEntity, view.SearchPage(f, page))
	case errors.As(err, &noUser):
		page.Problem = req.T("There is no user @{name}.", noUser.Name)
	case err != nil:
		return err
	}
	return req.Render(http.StatusOK, view.SearchPage(f, page))
}

// searchOptions returns the operators for the option fields.
func searchOptions(fields url.Values) (operators []string) {
	for _, option := range []struct{ field, operator string }{
		{"from", "from:"}, {"after-day", "after:"}, {"before-day", "before:"},
	} {
		if typed := strings.Fields(strings.TrimLeft(strings.TrimSpace(fields.Get(option.field)), "@＠")); len(typed) > 0 {
			operators = append(operators, option.operator+typed[0])
		}
	}
	if fields.Get("pictures") != "" {
		operators = append(operators, search.HasPicture)
	}
	return operators
}

// withOptions adds the operators that a query does not contain.
func withOptions(query string, operators []string) string {
	words := strings.Fields(query)
	for _, operator := range operators {
		if !slices.Contains(words, operator) {
			query = strings.TrimSpace(query + " " + operator)
		}
	}
	return query
}

func (h *handlers) search(req *request.Request, v *social.Viewer, page *view.Search) error {
	q, err := search.Parse(page.Query)
	if err != nil {
		return err
	}
	switch page.In {
	case view.SearchPeople:
		page.Notes = q.NotesOnOperators()
		page.People.People, _, err = h.foundPeople(req, v, page.Query, search.MaxPeople)
		return err
	case view.SearchTags:
		page.Notes = q.NotesOnOperators()
		page.Tags, err = h.app.Search.Tags(req.Ctx, page.Query)
		return err
	}
	page.Notes = q.Notes()
	if page.In == view.SearchAll {
		return h.searchAll(req, v, q, page)
	}
	if err := h.searchPosts(req, v, q, page); err != nil || !page.Posts.Posts.IsEmpty() || page.Posts.Later {
		return err
	}
	_, n, err := h.peopleNamed(req, v, page.Query, 0)
	if n > 0 {
		page.Posts.Step, page.Posts.To = req.Language.Say(view.PeopleMatch(n)), page.Path(view.SearchPeople)
	}
	return err
}

// searchAll searches for posts, people and tags concurrently.
func (h *handlers) searchAll(req *request.Request, v *social.Viewer, q *search.Query, page *view.Search) error {
	var n int
	err := concurrently(
		func() error { return h.searchPosts(req, v, q, page) },
		func() (err error) {
			page.People.People, n, err = h.peopleNamed(req, v, page.Query, peopleAmongAll)
			return err
		},
		func() (err error) {
			if _, tags := search.Names(page.Query); tags != "" {
				page.Tags, err = h.app.Search.Tags(req.Ctx, tags)
				page.Tags = page.Tags[:min(len(page.Tags), tagsAmongAll)]
			}
			return err
		},
	)
	page.MorePeople = n > len(page.People.People)
	switch {
	case n > 0:
		page.Posts.Empty = req.Language.Say(i18n.Sentences(page.NothingFor(view.SearchPosts), view.PeopleMatch(n)))
	case len(page.Tags) == 0:
		page.Posts.Empty = req.Language.Say(page.NothingFor(view.SearchAll))
	}
	return err
}

// concurrently calls functions at the same time, so that they share round trips, and returns one of
// their errors.
func concurrently(all ...func() error) error {
	return storage.AtOnce(len(all), func(i int) error { return all[i]() })
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
	page.Posts = view.Feed{Path: path, Later: before != 0, Empty: req.Language.Say(page.NothingFor(view.SearchPosts))}
	if list.Next != 0 {
		page.Posts.More = view.OlderPage(path, list.Next)
	}
	posts, err := h.shownPosts(req, v, list.Items)
	page.Posts.Posts = posts.Marked(q.Marker().Find)
	return err
}

// peopleNamed returns the first limit people whose names match a search for posts, and the number
// of matches.
func (h *handlers) peopleNamed(req *request.Request, v *social.Viewer, query string, limit int) ([]view.Person, int, error) {
	names, _ := search.Names(query)
	if names == "" {
		return nil, 0, nil
	}
	people, n, err := h.foundPeople(req, v, names, limit)
	if errors.As(err, new(*social.InvalidError)) { // the query may still be valid for posts
		err = nil
	}
	return people, n, err
}

// foundPeople returns the first limit people that a search finds, with buttons, and the number of
// matches.
func (h *handlers) foundPeople(req *request.Request, v *social.Viewer, query string, limit int) ([]view.Person, int, error) {
	users, err := h.app.Search.People(req.Ctx, v, query)
	if err != nil || limit == 0 {
		return nil, len(users), err
	}
	people, err := h.withButtons(req, v, users[:min(len(users), limit)])
	return people, len(users), err
}
