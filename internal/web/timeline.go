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
	"retwis/internal/web/view"
)

// timelineHandlers has the pages of timelines, and the form for a post on them.
type timelineHandlers struct {
	follows   *people.Follows
	lists     *timeline.Lists
	live      *live.Hub
	members   *memberLists
	posts     *posts.Service
	public    atomic.Pointer[publicPage]
	reactions *posts.Reactions
	read      *reader
	signUps   *accounts.SignUps
	users     *users.Users
	viewers   *timeline.Viewers
	visitors  *pageCache
}

// timelinePosts is how many posts a page of the public timeline has.
const timelinePosts = 50

// newMembers returns the latest users, with how the viewer stands to them: as it was
// a second ago at most, except after a change by the viewer.
func (h *timelineHandlers) newMembers(req *request, v *social.Viewer) ([]view.Person, error) {
	newest, err := h.users.LatestUsers(req.ctx, v, view.NewMembers)
	if err != nil {
		return nil, err
	}
	key := membersOf{viewer: v.User.ID, page: req.r.URL.RequestURI()}
	copy(key.users[:], newest)
	if list, ok := h.members.GetIfPresent(key); ok && !req.isFresh && time.Since(list.at) < time.Second {
		return list.people, nil
	}
	list := memberList{at: time.Now()}
	if list.people, err = h.read.withButtons(req, v, newest); err != nil {
		return nil, err
	}
	for i := range list.people {
		list.people[i].Compact = true
	}
	h.members.Set(key, list)
	return list.people, nil
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
func (h *timelineHandlers) publicPosts(req *request, v *social.Viewer, before int64, since string) (timeline.Listing, string, error) {
	if before != 0 || req.isFresh || !req.signed {
		page, err := h.lists.PublicPosts(req.ctx, v, before, timelinePosts)
		return page, since, err
	}
	public, now := h.public.Load(), time.Now()
	if public == nil || now.Sub(public.at) >= sharedFor {
		page, lacks, err := h.lists.SharedPosts(req.ctx, timelinePosts)
		if err != nil {
			return timeline.Listing{}, since, err
		}
		public = &publicPage{at: now, since: since, page: page, lacks: lacks}
		h.public.Store(public)
	}
	if slices.Contains(public.lacks, v.User.ID) {
		page, err := h.lists.PublicPosts(req.ctx, v, 0, timelinePosts)
		return page, since, err
	}
	posts := make([]*social.Post, len(public.page.Items))
	for i, item := range public.page.Items {
		if social.Visible(v, item.Entry.Post) < social.Shown || social.Visible(v, item.Post.Post) < social.Shown {
			page, err := h.lists.PublicPosts(req.ctx, v, 0, timelinePosts)
			return page, since, err
		}
		posts[i] = &item.Post.Post
	}
	marks, err := h.viewers.Marks(req.ctx, v, posts)
	if err != nil {
		return timeline.Listing{}, since, err
	}
	page := timeline.Listing{Items: slices.Clone(public.page.Items), Next: public.page.Next}
	for i := range page.Items {
		page.Items[i].Marks = marks[i]
	}
	return page, public.since, nil
}

func (h *timelineHandlers) timeline(req *request) error {
	began := time.Now()
	before, err := before(req)
	if err != nil {
		return err
	}
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	// Before the posts are read, so that no event is missed in between.
	f := liveUpdates(h.live, req.page("Explore"), liveTimeline, before != 0)
	page, since, err := h.publicPosts(req, v, before, f.Since)
	if err != nil {
		return err
	}
	f.Since = since
	f.Feed = "/timeline" + atomSuffix
	posts, err := h.read.posts(req, v, page.Items)
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
	if req.signed {
		list.Step, list.To = "Write the first one", "/home"
	}
	return req.renderTo(view.TimelinePage(f, latest, list), func(body []byte) {
		if isShared(req.r) {
			h.visitors.keep(began, body)
		}
		req.send(http.StatusOK, body)
	})
}
