package web

import (
	"net/http"

	"retwis/internal/social/timeline"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// trendsPage shows the trends.
func (h *handlers) trendsPage(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	top, err := h.app.Trends.Top(req.Ctx, v)
	if err != nil {
		return err
	}
	page := view.Trends{Tags: top.Tags, Links: top.Links}
	items := make([]timeline.Item, len(top.Posts))
	for i, post := range top.Posts {
		items[i] = post.Item
	}
	if page.Posts, err = h.shownPosts(req, v, items); err != nil {
		return err
	}
	f := req.Frame("Trends")
	f.Description = "The tags, links and posts that many people on " + f.Site.Name + " write about and like today."
	f.Sidebar = view.Without{SidebarSource: f.Sidebar, Tags: true}
	return req.Render(http.StatusOK, view.TrendsPage(f, page))
}
