package discover

import (
	"net/http"

	"retwis/internal/social/timeline"
	"retwis/internal/social/trends"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Trends has the page of trends.
type Trends struct {
	read   *reader.Reader
	trends *trends.Trends
}

// NewTrends returns the handlers of trends.
func NewTrends(read *reader.Reader, all *trends.Trends) *Trends {
	return &Trends{read: read, trends: all}
}

// Page shows the trends.
func (h *Trends) Page(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	top, err := h.trends.Top(req.Ctx, v)
	if err != nil {
		return err
	}
	page := view.Trends{Tags: top.Tags, Links: top.Links}
	items := make([]timeline.Item, len(top.Posts))
	for i, post := range top.Posts {
		items[i] = post.Item
	}
	if page.Posts, err = h.read.Posts(req, v, items); err != nil {
		return err
	}
	f := req.Frame("Trends")
	f.Description = "The tags, links and posts that many people on " + f.Site.Name + " write about and like today."
	f.Sidebar = view.Without{SidebarSource: f.Sidebar, Tags: true}
	return req.Render(http.StatusOK, view.TrendsPage(f, page))
}
