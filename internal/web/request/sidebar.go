package request

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/people"
	"retwis/internal/social/search"
	"retwis/internal/web/view"
)

// SidebarPatience is how long a finished page waits for its sidebar, too short for people to
// notice. After that the page gets only the search box. Tests of sidebars wait longer.
var SidebarPatience = 50 * time.Millisecond

// sidebarTimeout limits reading a sidebar, which continues after the page has been sent.
const sidebarTimeout = 2 * time.Second

// sidebars reads the sidebars of pages concurrently with the pages.
type sidebars struct {
	suggestions *people.Suggestions
	trends      *search.Trends
	running     sync.WaitGroup
}

// begin returns the sidebar of a page. It sends no command if the suggestions and trends are
// cached.
func (s *sidebars) begin(ctx context.Context, v *social.Viewer, bar view.Sidebar) view.SidebarSource {
	people, ok := s.suggestions.InMemory(ctx, v, view.SidebarPeople)
	tags, known := s.trends.TagsInMemory(ctx)
	if ok && known {
		return filled(bar, people, tags)
	}
	pending := &pendingSidebar{empty: bar, ready: make(chan view.Sidebar, 1)}
	// The results are cached for the next page, so reading continues after this request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sidebarTimeout)
	s.running.Go(func() {
		defer cancel()
		// Parts that cannot be read are left out: the page itself reports the error.
		people, _ := s.suggestions.Beside(ctx, v, view.SidebarPeople)
		tags, _ := s.trends.Tags(ctx)
		pending.ready <- filled(bar, people, tags)
	})
	return pending
}

func filled(bar view.Sidebar, people []people.Suggestion, tags []search.TrendingTag) view.Sidebar {
	bar.People = make([]view.Person, len(people))
	for i, suggestion := range people {
		bar.People[i] = view.Suggested(suggestion)
	}
	bar.Tags = tags
	return bar
}

// pendingSidebar is a sidebar that is being read.
type pendingSidebar struct {
	empty view.Sidebar
	ready chan view.Sidebar
}

// Sidebar waits for the sidebar for at most SidebarPatience.
func (p *pendingSidebar) Sidebar() view.Sidebar {
	select {
	case bar := <-p.ready:
		return bar
	case <-time.After(SidebarPatience):
		return p.empty
	}
}

// withSidebar lists the pages for reading, which have a sidebar. Pages with forms have none.
var withSidebar = []string{"/home", "/explore", "/timeline", "/notifications", "/bookmarks", "/search", "/tag/", "/u/", "/lists", "/post"}

// hasSidebar reports whether the pages of a route have a sidebar.
func hasSidebar(pattern string) bool {
	_, path, _ := strings.Cut(pattern, " ")
	for _, form := range []string{"/edit", "/delete", "/report", "{name}/lists"} {
		if strings.HasSuffix(path, form) {
			return false
		}
	}
	for _, page := range withSidebar {
		if path == page || strings.HasPrefix(path, page) && (strings.HasSuffix(page, "/") || path[len(page)] == '/') {
			return true
		}
	}
	return false
}

// beginSidebar starts to read the sidebar of a page, if the page has one.
func beginSidebar(req *Request, v *social.Viewer) {
	if !req.columns || req.sidebar != nil {
		return
	}
	bar := view.Sidebar{Find: req.LoggedIn, Back: "/home"}
	if req.R.Method == http.MethodGet {
		bar.Back = req.R.URL.RequestURI()
	}
	req.sidebar = req.site.sidebars.begin(req.Ctx, v, bar)
}
