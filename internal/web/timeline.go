package web

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/live"
	"retwis/internal/social/people"
	"retwis/internal/social/posts"
	"retwis/internal/social/timeline"
	"retwis/internal/social/users"
	"retwis/internal/web/discover"
	"retwis/internal/web/pictures"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// timelineHandlers has the pages of timelines, and the form for a post on them.
type timelineHandlers struct {
	follows   *people.Follows
	lists     *timeline.Lists
	live      *live.Hub
	members   *memberLists
	people    *discover.People
	pictures  *pictures.Pictures
	posts     *posts.Service
	public    atomic.Pointer[publicPage]
	reactions *posts.Reactions
	read      *reader.Reader
	signUps   *accounts.SignUps
	users     *users.Users
	viewers   *timeline.Viewers
	visitors  *request.PageCache
}

// landingPosts is how many posts the front page shows.
const landingPosts = 3

// landing introduces Retwis to visitors who are not logged in.
func (h *timelineHandlers) landing(req *request.Request) error {
	if req.LoggedIn {
		return req.Redirect("/home")
	}
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	page, err := h.lists.PublicPosts(req.Ctx, v, 0, landingPosts)
	if err != nil {
		return err
	}
	posts, err := h.read.Posts(req, v, page.Items)
	if err != nil {
		return err
	}
	mode, err := h.signUps.SignUpMode(req.Ctx)
	if err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.LandingPage(req.Frame("Retwis"), view.AccountForm{Mode: mode}, posts))
}

// homePosts is how many posts a page of a home timeline or a profile has.
const homePosts = 10

func (h *timelineHandlers) home(req *request.Request) error {
	before, err := request.Before(req)
	if err != nil {
		return err
	}
	return h.showHome(req, http.StatusOK, before, view.StatusForm{})
}

func (h *timelineHandlers) showHome(req *request.Request, status int, before int64, form view.StatusForm) error {
	form.Pictures = h.pictures.IsOn()
	f := liveUpdates(h.live, req.Frame("Home"), liveHome, before != 0) // before the posts are read
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	page, err := h.lists.HomePosts(req.Ctx, v, before, homePosts)
	if err != nil {
		return err
	}
	posts, err := h.read.Posts(req, v, page.Items)
	if err != nil {
		return err
	}
	counts, err := h.follows.CountsFor(req.Ctx, v, req.User.ID)
	if err != nil {
		return err
	}
	home := view.Home{Form: form, Counts: counts, Posts: view.Feed{
		Posts: posts, Next: page.Next, Path: "/home", Later: before != 0,
		Empty: "No posts yet. Write your first post, or",
		Step:  "find people to follow", To: "/explore/people",
	}}
	if isEmpty := posts.IsEmpty() && page.Next == 0; before == 0 && (isEmpty || counts.Following < fewFollows) {
		if home.People, err = h.suggested(req, v, isEmpty); err != nil {
			return err
		}
	}
	return req.Render(status, view.HomePage(f, home))
}

const (
	// fewFollows is below how many follows a home page suggests people.
	fewFollows = 5
	// homePeople is how many it suggests.
	homePeople = 5
)

// suggested returns people to follow, for the middle of an empty home page or for the side of
// another one.
func (h *timelineHandlers) suggested(req *request.Request, v *social.Viewer, isEmpty bool) ([]view.Person, error) {
	list, err := h.people.Suggested(req, v, homePeople)
	for i := range list {
		list[i].Back, list[i].Compact, list[i].Dismissible = "/home", !isEmpty, isEmpty
	}
	return list, err
}

func (h *timelineHandlers) post(req *request.Request) error {
	if !req.LoggedIn {
		return req.LoginFirst()
	}
	draft, form, err := h.pictures.Draft(req)
	var post social.Post
	if err == nil {
		post, err = h.posts.PostOnce(req.Ctx, req.User, draft)
	}
	if problem, ok := pictures.Problem(err); ok {
		form.Problem = problem
		return h.showHome(req, http.StatusUnprocessableEntity, 0, form)
	}
	if err != nil {
		return err
	}
	return req.Changed("/home", post.ID)
}

// timelinePosts is how many posts a page of the public timeline has.
const timelinePosts = 50

func (h *timelineHandlers) timeline(req *request.Request) error {
	began := time.Now()
	before, err := request.Before(req)
	if err != nil {
		return err
	}
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	// Before the posts are read, so that no event is missed in between.
	f := liveUpdates(h.live, req.Frame("Latest posts"), liveTimeline, before != 0)
	page, since, err := h.publicPosts(req, v, before, f.Since)
	if err != nil {
		return err
	}
	f.Since = since
	f.Feed = "/timeline"
	posts, err := h.read.Posts(req, v, page.Items)
	if err != nil {
		return err
	}
	latest, err := h.newMembers(req, v)
	if err != nil {
		return err
	}
	list := view.Feed{
		Posts: posts, Next: page.Next, Path: "/timeline", Later: before != 0,
		Empty: "No posts yet.", Step: "Sign up to write the first one", To: "/register",
	}
	if req.LoggedIn {
		list.Step, list.To = "Write the first one", "/home"
	}
	return req.RenderTo(view.TimelinePage(f, latest, list), func(body []byte) {
		h.visitors.Keep(req, began, body)
		req.Send(http.StatusOK, body)
	})
}

// publicPage is the first page of the public timeline, as a stranger sees it.
type publicPage struct {
	at    time.Time
	since string // the last event before it was read
	page  timeline.Listing
	lacks []int64 // the authors of posts that it lacks
}

// publicPosts returns a page of the public timeline. Its first page is read a few
// times a second at most, and for those who have just changed something; others get
// the same posts with their own marks, unless one of these is hidden from them, or it
// lacks a post of their own, which only they see.
func (h *timelineHandlers) publicPosts(req *request.Request, v *social.Viewer, before int64, since string) (timeline.Listing, string, error) {
	if before != 0 || req.IsFresh || !req.LoggedIn {
		page, err := h.lists.PublicPosts(req.Ctx, v, before, timelinePosts)
		return page, since, err
	}
	public, now := h.public.Load(), time.Now()
	if public == nil || now.Sub(public.at) >= request.SharedFor {
		page, lacks, err := h.lists.SharedPosts(req.Ctx, timelinePosts)
		if err != nil {
			return timeline.Listing{}, since, err
		}
		public = &publicPage{at: now, since: since, page: page, lacks: lacks}
		h.public.Store(public)
	}
	if slices.Contains(public.lacks, v.User.ID) {
		page, err := h.lists.PublicPosts(req.Ctx, v, 0, timelinePosts)
		return page, since, err
	}
	posts := make([]*social.Post, len(public.page.Items))
	for i, item := range public.page.Items {
		if social.Visible(v, item.Entry.Post) < social.Shown || social.Visible(v, item.Post.Post) < social.Shown {
			page, err := h.lists.PublicPosts(req.Ctx, v, 0, timelinePosts)
			return page, since, err
		}
		posts[i] = &item.Post.Post
	}
	marks, err := h.viewers.Marks(req.Ctx, v, posts)
	if err != nil {
		return timeline.Listing{}, since, err
	}
	page := timeline.Listing{Items: slices.Clone(public.page.Items), Next: public.page.Next}
	for i := range page.Items {
		page.Items[i].Marks = marks[i]
	}
	return page, public.since, nil
}

// memberLists are the lists of new members of the latest viewers, who would be
// compared with each of them for every page.
type memberLists = otter.Cache[membersOf, memberList]

func newMemberLists() (*memberLists, error) {
	lists, err := otter.New(&otter.Options[membersOf, memberList]{MaximumSize: 2000})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return lists, nil
}

type membersOf struct {
	viewer int64
	users  [view.NewMembers]social.User
	page   string // to which the buttons lead back
}

type memberList struct {
	at     time.Time
	people []view.Person // never changes
}

// newMembers returns the latest users, with how the viewer stands to them: as it was
// a second ago at most, except after a change by the viewer.
func (h *timelineHandlers) newMembers(req *request.Request, v *social.Viewer) ([]view.Person, error) {
	newest, err := h.users.LatestUsers(req.Ctx, v, view.NewMembers)
	if err != nil {
		return nil, err
	}
	key := membersOf{viewer: v.User.ID, page: req.R.URL.RequestURI()}
	copy(key.users[:], newest)
	if list, ok := h.members.GetIfPresent(key); ok && !req.IsFresh && time.Since(list.at) < time.Second {
		return list.people, nil
	}
	list := memberList{at: time.Now()}
	if list.people, err = h.read.WithButtons(req, v, newest); err != nil {
		return nil, err
	}
	for i := range list.people {
		list.people[i].Compact = true
	}
	h.members.Set(key, list)
	return list.people, nil
}

func (h *timelineHandlers) bookmarks(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	cursor := req.R.URL.Query().Get("before")
	page, err := h.reactions.BookmarkedPosts(req.Ctx, v, cursor, homePosts)
	if err != nil {
		return err
	}
	list := view.Feed{
		Path: "/bookmarks", Later: cursor != "", More: view.NextPage("/bookmarks", page.Next),
		Empty: "No bookmarks yet. Save a post with its bookmark button to find it here again.",
		Step:  "See what people write", To: "/timeline",
	}
	if list.Posts, err = h.read.Posts(req, v, page.Items); err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.BookmarksPage(req.Frame("Bookmarks"), list))
}
