package web

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// landingPosts is the number of posts on the front page and on the page of an invitation.
const landingPosts = 3

// landingFaces is the number of members shown on the front page.
const landingFaces = 10

// landing introduces the site to visitors who are not logged in.
func (h *handlers) landing(req *request.Request) error {
	if req.LoggedIn {
		return req.Redirect("/home")
	}
	mode, err := h.app.SignUps.SignUpMode(req.Ctx)
	if err != nil {
		return err
	}
	page, err := h.frontPage(req, view.AccountForm{Mode: mode})
	if err != nil {
		return err
	}
	f := req.Frame("")
	f.Head = view.SiteCard(req.Language, req.PublicURL(), f.Site, page.Picture).Head()
	return req.Render(http.StatusOK, view.LandingPage(f, page))
}

// frontPage reads the content of the front page.
func (h *handlers) frontPage(req *request.Request, join view.AccountForm) (page view.Landing, err error) {
	page.Join, page.Rules = join, req.Info.Rules()
	if page.By, page.Picture, err = h.siteAccount(req); err != nil {
		return page, err
	}
	v, err := req.Viewer()
	if err != nil {
		return page, err
	}
	if page.Liked, err = h.likedPosts(req, v, landingPosts); err != nil {
		return page, err
	}
	if page.Liked.IsEmpty() {
		if page.Latest, err = h.latestPosts(req, landingPosts); err != nil {
			return page, err
		}
	}
	if page.Picture == "" {
		if page.Faces, err = h.app.Users.LatestUsers(req.Ctx, v, landingFaces); err != nil {
			return page, err
		}
	}
	page.People, page.Posts, err = h.app.Totals(req.Ctx)
	return page, err
}

// likedPosts returns n posts that people currently like or have liked this week, or none if there
// are fewer.
func (h *handlers) likedPosts(req *request.Request, v *social.Viewer, n int) (view.Posts, error) {
	top, err := h.app.Trends.Top(req.Ctx, v)
	if err != nil {
		return view.Posts{}, err
	}
	var items []timeline.Item
	for _, post := range top.Posts {
		items = append(items, post.Item)
	}
	if items = append(items, top.Liked...); len(items) < n {
		return view.Posts{}, nil
	}
	return h.shownPosts(req, v, items[:n])
}

// homePosts is the number of posts on a page of a home timeline, a profile, a tag or the bookmarks.
const homePosts = 10

func (h *handlers) home(req *request.Request) error {
	before, err := request.Before(req)
	if err != nil {
		return err
	}
	return h.showHome(req, http.StatusOK, before, view.StatusForm{})
}

func (h *handlers) showHome(req *request.Request, status int, before int64, form view.StatusForm) error {
	form.Pictures = h.app.Media.IsOn()
	f := liveUpdates(h.live, req.Frame(req.T("Home")), liveHome, before != 0) // before the posts are read
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	page, err := h.app.Lists.HomePosts(req.Ctx, v, before, homePosts)
	if err != nil {
		return err
	}
	posts := view.NewPosts(v, page.Items).Together()
	if err := h.nameParents(req, posts); err != nil {
		return err
	}
	home := view.Home{Form: form, Posts: view.Feed{
		Posts: posts, Next: page.Next, Path: "/home", Later: before != 0,
	}}
	if isNew := time.Since(req.User.Joined) < newFor; before == 0 && (page.Next == 0 || isNew) && !v.FollowsMore && len(v.Following) < view.EnoughFollows && !hidesSteps(req) {
		if home.First, err = h.firstSteps(req, v); err != nil {
			return err
		}
		home.Fresh = slices.ContainsFunc(page.Items, func(item timeline.Item) bool {
			return item.Entry.Author.ID == req.User.ID && social.IsFreshPost(req.Ctx, item.Entry.ID)
		})
	}
	if home.First != nil && f.Sidebar != nil {
		f.Sidebar = view.Sidebar{Find: true} // the main column has everything else
	}
	return req.Render(status, view.HomePage(f, home))
}

const (
	// homePeople and homeTags are the numbers of people and tags suggested on a home page with few
	// posts.
	homePeople = 5
	homeTags   = 6
	// newFor is how long a new user's home page suggests people even if it has many posts: the
	// first person that the user follows may have written all of them.
	newFor = 30 * 24 * time.Hour
)

// stepsCookie records that the user has dismissed the first steps.
const stepsCookie = "steps"

func hidesSteps(req *request.Request) bool {
	_, err := req.R.Cookie(stepsCookie)
	return err == nil
}

// hideSteps hides the first steps in this browser.
func (h *handlers) hideSteps(req *request.Request) error {
	req.SetCookie(stepsCookie, "no", int(newFor/time.Second))
	return req.Redirect("/home")
}

// firstSteps returns suggestions for a viewer who follows fewer than view.EnoughFollows people. It
// returns nil for others and if there is nobody to follow.
func (h *handlers) firstSteps(req *request.Request, v *social.Viewer) (*view.FirstSteps, error) {
	counts, err := h.app.Follows.CountsFor(req.Ctx, v, req.User.ID)
	if err != nil || counts.Following >= view.EnoughFollows {
		return nil, err
	}
	first := &view.FirstSteps{Follows: counts.Following, NoFace: req.User.Avatar == "" && req.User.DisplayName == ""}
	if first.People, err = h.suggestedPeople(req, v, homePeople); err != nil || len(first.People) == 0 {
		return nil, err
	}
	ids := make([]int64, len(first.People))
	for i := range first.People {
		first.People[i].Back, first.People[i].Dismissible = "/home", false
		ids[i] = first.People[i].User.ID
	}
	latest, err := h.app.Lists.LatestPosts(req.Ctx, v, ids)
	if err != nil {
		return nil, err
	}
	for i, post := range latest {
		if post != nil {
			first.People[i].Latest = &post.Post
		}
	}
	first.Tags, err = h.otherTags(req)
	return first, err
}

// otherTags returns trending tags that the session user does not follow.
func (h *handlers) otherTags(req *request.Request) ([]string, error) {
	all, err := h.app.Trends.Tags(req.Ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	followed, err := h.app.Tags.FollowedTags(req.Ctx, req.User.ID)
	if err != nil {
		return nil, err
	}
	var tags []string
	for _, tag := range all {
		if len(tags) < homeTags && !slices.Contains(followed, tag.Name) {
			tags = append(tags, tag.Name)
		}
	}
	return tags, nil
}

func (h *handlers) createPost(req *request.Request) error {
	if !req.LoggedIn {
		return req.LoginFirst()
	}
	draft, form, err := h.draft(req)
	var post social.Post
	if err == nil {
		post, err = h.app.Posts.PostOnce(req.Ctx, req.User, draft)
	}
	if status, problem := pictureProblem(req, err); status != 0 {
		form.Problem = problem
		return h.showHome(req, status, 0, form)
	}
	if err != nil {
		return err
	}
	req.Tell("posted", strconv.FormatInt(post.ID, 10))
	return req.Changed(req.Back("/home"), post.ID)
}

// timelinePosts is the number of posts on a page of the public timeline.
const timelinePosts = 50

func (h *handlers) publicTimeline(req *request.Request) error {
	began := time.Now()
	before, err := request.Before(req)
	if err != nil {
		return err
	}
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	// The position is read before the posts, so that no event is missed.
	f := liveUpdates(h.live, req.Frame(req.T("Latest posts")), liveTimeline, before != 0)
	page, since, err := h.publicPosts(req, v, before, f.Since)
	if err != nil {
		return err
	}
	f.Since = since
	f.Feed = "/timeline"
	posts, err := h.shownPosts(req, v, page.Items)
	if err != nil {
		return err
	}
	list := view.Feed{
		Posts: posts, Next: page.Next, Path: "/timeline", Later: before != 0,
		Empty: req.T("No posts yet."), Step: req.T("Sign up to write the first one"), To: "/register",
	}
	switch {
	case req.LoggedIn:
		list.Step, list.To = req.T("Write the first one"), "/home"
	case f.Site.NoSignUp:
		list.Step = ""
	}
	return req.RenderTo(view.TimelinePage(f, list), func(body []byte) {
		h.visitors.Keep(req, began, body)
		req.Send(http.StatusOK, body)
	})
}

// publicPage is the first page of the public timeline, as a stranger sees it.
type publicPage struct {
	at    time.Time
	since string // the last event before the page was read
	page  timeline.Listing
	lacks []int64 // authors of posts that are left out
}

// publicPosts returns a page of the public timeline. Logged-in users share the first page, each
// with their own marks; it is read at most a few times a second. The page is read separately for
// users who have just changed something, users from whom one of the posts is hidden, and authors of
// a post that only they see.
func (h *handlers) publicPosts(req *request.Request, v *social.Viewer, before int64, since string) (timeline.Listing, string, error) {
	if before != 0 || req.IsFresh || !req.LoggedIn {
		page, err := h.app.Lists.PublicPosts(req.Ctx, v, before, timelinePosts)
		return page, since, err
	}
	public, now := h.public.Load(), time.Now()
	if public == nil || now.Sub(public.at) >= request.SharedFor {
		page, lacks, err := h.app.Lists.SharedPosts(req.Ctx, timelinePosts)
		if err != nil {
			return timeline.Listing{}, since, err
		}
		public = &publicPage{at: now, since: since, page: page, lacks: lacks}
		h.public.Store(public)
	}
	if slices.Contains(public.lacks, v.User.ID) {
		page, err := h.app.Lists.PublicPosts(req.Ctx, v, 0, timelinePosts)
		return page, since, err
	}
	posts := make([]*social.Post, len(public.page.Items))
	for i, item := range public.page.Items {
		if social.Visible(v, item.Entry.Post) < social.Shown || social.Visible(v, item.Post.Post) < social.Shown {
			page, err := h.app.Lists.PublicPosts(req.Ctx, v, 0, timelinePosts)
			return page, since, err
		}
		posts[i] = &item.Post.Post
	}
	marks, err := h.app.Viewers.Marks(req.Ctx, v, posts)
	if err != nil {
		return timeline.Listing{}, since, err
	}
	page := timeline.Listing{Items: slices.Clone(public.page.Items), Next: public.page.Next}
	for i := range page.Items {
		page.Items[i].Marks = marks[i]
	}
	return page, public.since, nil
}

func (h *handlers) bookmarks(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	cursor := req.R.URL.Query().Get("before")
	page, err := h.app.Reactions.BookmarkedPosts(req.Ctx, v, cursor, homePosts)
	if err != nil {
		return err
	}
	list := view.Feed{
		Path: "/bookmarks", Later: cursor != "", More: view.NextPage("/bookmarks", page.Next),
		Empty: req.T("No bookmarks yet. Save a post with its bookmark button to find it here again."),
		Step:  req.T("Look around"), To: "/explore",
	}
	if list.Posts, err = h.shownPosts(req, v, page.Items); err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.BookmarksPage(req.Frame(req.T("Bookmarks")), list))
}
