package web

import (
	"net/http"
	"slices"

	"retwis/internal/social/search"
	"retwis/internal/social/timeline"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

const (
	// explorePeople is the number of people suggested on Explore, and exploreLatest the number of
	// latest posts.
	explorePeople = 6
	exploreLatest = 10
)

// explore shows trends, popular posts and people to follow. Values that are not cached are read
// concurrently.
func (h *handlers) explore(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	var page view.Explore
	var top search.Top
	var latest timeline.Listing
	err = concurrently(
		func() (err error) { top, err = h.app.Trends.Top(req.Ctx, v); return err },
		func() (err error) { page.People, err = h.suggestedPeople(req, v, explorePeople); return err },
		// Some of the latest posts may also be popular.
		func() (err error) { latest, err = h.app.Lists.PublicPosts(req.Ctx, v, 0, 3*exploreLatest); return err },
	)
	if err != nil {
		return err
	}
	page.Tags, page.Links = top.Tags, top.Links
	popular := make([]timeline.Item, len(top.Posts))
	for i, post := range top.Posts {
		popular[i] = post.Item
	}
	above := slices.Concat(popular, top.Liked)
	var newest []timeline.Item
	for _, item := range latest.Items {
		isSame := func(other timeline.Item) bool { return other.Post.ID == item.Post.ID }
		if len(newest) < exploreLatest && !slices.ContainsFunc(above, isSame) && !slices.ContainsFunc(newest, isSame) {
			newest = append(newest, item)
		}
	}
	page.Popular, page.Liked, page.Latest = view.NewPosts(v, popular), view.NewPosts(v, top.Liked), view.NewPosts(v, newest)
	// The author of a parent is stored with the reply, whichever list shows the reply.
	if err := h.nameParents(req, view.NewPosts(v, append(above, newest...))); err != nil {
		return err
	}
	f := req.Frame(req.T("Explore"))
	f.Description = req.T("See what people on {site} are posting and liking, and who they are.", f.Site.Name)
	f.Sidebar = view.Without{SidebarSource: f.Sidebar, Tags: true, People: true}
	return req.Render(http.StatusOK, view.ExplorePage(f, page))
}
