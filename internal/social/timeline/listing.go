package timeline

import (
	"context"
	"slices"

	"retwis/internal/social"
)

// Item is an entry in a list of posts, as a viewer sees it.
type Item struct {
	Entry *View        // the post that is on the list, which may be a repost
	Post  *View        // the post that the entry shows: the entry itself, or the original of a repost
	Marks social.Marks // the viewer's marks of Post
}

// Listing is one page of posts as a viewer sees it, and the cursor of the next page, 0 at the end.
// A page can have fewer posts than requested even if another page follows, if most of the entries
// are hidden from the viewer.
type Listing struct {
	Items []Item
	Next  int64
}

// Lists returns lists of posts as a viewer sees them: without posts hidden from the viewer, and
// with the viewer's marks of each post.
type Lists struct {
	views     *Views
	viewers   *Viewers
	timelines *Timelines
}

// NewLists returns Lists of the given posts, viewers and timelines.
func NewLists(views *Views, viewers *Viewers, timelines *Timelines) *Lists {
	return &Lists{views: views, viewers: viewers, timelines: timelines}
}

// HomePosts returns a page of the viewer's home timeline. It skips posts that do not belong there
// (see social.BelongsOnHome), and posts of people whom the viewer has left out of the timeline. If
// it has to skip many posts, it removes them from the list. before is the cursor of the page, 0 for
// the first page. A repost is left out if its original is among the 40 older entries.
func (l *Lists) HomePosts(ctx context.Context, v *social.Viewer, before int64, limit int) (Listing, error) {
	return l.Page(ctx, PageQuery{
		Viewer: v, Before: before, Limit: limit, Window: repostWindow, Least: social.Unlisted, Home: true,
		Read: func(ctx context.Context, before int64, limit int) (Page, error) {
			return l.timelines.Home(ctx, v.User.ID, before, limit)
		},
	})
}

// MemberPosts returns a page of the posts and reposts of the given users, as on a home timeline;
// see HomePosts.
func (l *Lists) MemberPosts(ctx context.Context, v *social.Viewer, uids []int64, before int64, limit int) (Listing, error) {
	seen := make([]int64, 0, len(uids))
	for _, uid := range uids {
		if v.Sees(uid) >= social.Unlisted {
			seen = append(seen, uid)
		}
	}
	return l.Page(ctx, PageQuery{
		Viewer: v, Before: before, Limit: limit, Window: repostWindow, Least: social.Unlisted,
		Read: func(ctx context.Context, before int64, limit int) (Page, error) {
			return l.timelines.Profiles(ctx, seen, before, limit)
		},
	})
}

// PublicPosts returns a page of the public timeline; see HomePosts.
func (l *Lists) PublicPosts(ctx context.Context, v *social.Viewer, before int64, limit int) (Listing, error) {
	return l.Page(ctx, PageQuery{Viewer: v, Before: before, Limit: limit, Least: social.Shown, Read: l.timelines.Everybody})
}

// SharedPosts returns the first page of the public timeline as seen by a visitor who is not logged
// in, and the authors whose posts the page lacks, although these authors see their own posts. See
// HomePosts.
func (l *Lists) SharedPosts(ctx context.Context, limit int) (list Listing, lacks []int64, err error) {
	visitor, err := l.viewers.Get(ctx, social.User{})
	if err != nil {
		return Listing{}, nil, err
	}
	var ids []int64
	read := func(ctx context.Context, before int64, limit int) (Page, error) {
		page, err := l.timelines.Everybody(ctx, before, limit)
		ids = append(ids, page.IDs...)
		return page, err
	}
	list, err = l.Page(ctx, PageQuery{Viewer: visitor, Limit: limit, Least: social.Shown, Read: read})
	if err != nil {
		return Listing{}, nil, err
	}
	all, err := l.views.Get(ctx, ids...)
	for _, view := range all {
		if view != nil && !view.Deleted && social.Visible(visitor, view.Post) < social.Shown && !slices.Contains(lacks, view.Author.ID) {
			lacks = append(lacks, view.Author.ID)
		}
	}
	return list, lacks, err
}

// ProfilePosts returns a page of a user's posts and reposts, however old. The viewer has asked for
// this user, so a mute does not hide the posts. See HomePosts.
func (l *Lists) ProfilePosts(ctx context.Context, v *social.Viewer, uid, before int64, limit int) (Listing, error) {
	return l.Page(ctx, PageQuery{
		Viewer: v.Asking(uid), Before: before, Limit: limit, Least: social.Unlisted,
		Read: func(ctx context.Context, before int64, limit int) (Page, error) {
			return l.timelines.Profile(ctx, uid, before, limit)
		},
	})
}

// latestLooks is the number of profile entries that are searched for the latest post. Some of the
// entries may be reposts, or hidden.
const latestLooks = 4

// LatestPosts returns the latest post of each user that the viewer sees on public lists, or nil. At
// most two round trips.
func (l *Lists) LatestPosts(ctx context.Context, v *social.Viewer, uids []int64) ([]*View, error) {
	perUser, err := l.timelines.eachProfile(ctx, uids, 0, latestLooks)
	if err != nil {
		return nil, err
	}
	views, err := l.views.Get(ctx, slices.Concat(perUser...)...)
	if err != nil {
		return nil, err
	}
	latest := make([]*View, len(uids))
	for i, ids := range perUser {
		for _, view := range views[:len(ids)] {
			if latest[i] == nil && view != nil && view.RepostOf == 0 && social.Visible(v, view.Post) == social.Shown {
				latest[i] = view
			}
		}
		views = views[len(ids):]
	}
	return latest, nil
}

// ProfileReplies returns a page of a user's replies, however old; see ProfilePosts.
func (l *Lists) ProfileReplies(ctx context.Context, v *social.Viewer, uid, before int64, limit int) (Listing, error) {
	return l.Page(ctx, PageQuery{
		Viewer: v.Asking(uid), Before: before, Limit: limit, Least: social.Unlisted,
		Read: func(ctx context.Context, before int64, limit int) (Page, error) {
			return l.timelines.Replies(ctx, uid, before, limit)
		},
	})
}

// PostPage returns one post as a viewer sees it on the page of the post, where a mute does not hide
// the post. It returns ErrNotFound for a missing, hidden or deleted post. posts.Threads returns the
// conversation of the post.
func (l *Lists) PostPage(ctx context.Context, v *social.Viewer, id int64) (Item, error) {
	items, err := l.Select(ctx, v, []int64{id}, social.Muted)
	if err != nil {
		return Item{}, err
	}
	if len(items) == 0 {
		return Item{}, social.ErrNotFound
	}
	return items[0], l.Mark(ctx, v, items)
}

// Items returns the given list entries that a viewer sees, in order. It is for lists with cursors
// of their own.
func (l *Lists) Items(ctx context.Context, v *social.Viewer, ids ...int64) ([]Item, error) {
	items, err := l.Select(ctx, v, ids, social.Unlisted)
	if err != nil {
		return nil, err
	}
	return items, l.Mark(ctx, v, items)
}

const (
	// repostWindow is the number of older entries of a home timeline that are searched for the
	// original of a repost. If the original is found, the repost is left out.
	repostWindow = 40
	// farEntries limits the number of entries that a page with Far reads.
	farEntries = 4000
)

// PageQuery requests a page of a list for a viewer.
type PageQuery struct {
	Viewer *social.Viewer
	Before int64 // the cursor; 0 for the first page
	Limit  int
	// Window is the number of older entries among which the original of a repost must not be, or
	// else the repost is left out. 0 keeps all reposts.
	Window int
	Least  social.Visibility // posts of lower visibility are left out
	Home   bool              // omit posts that do not belong on the home timeline
	// Far makes Page read up to farEntries entries if many are hidden from the viewer, so that the
	// page is not short or empty. The list ends after that.
	Far bool
	// Read reads a part of the list; see Timelines.
	Read func(ctx context.Context, before int64, limit int) (Page, error)
}

// Page returns a page of a list as a viewer sees it.
func (l *Lists) Page(ctx context.Context, q PageQuery) (Listing, error) {
	limit := social.PageSize(q.Limit)
	list, looks, step, read := Listing{Next: q.Before}, social.MaxLooks, limit, 0
	if q.Far {
		looks = farEntries/social.MaxPage + 1
	}
	var seen []int64
	for look := range looks {
		if q.Far && look > 0 {
			step = social.MaxPage
		}
		page, err := q.Read(ctx, list.Next, step)
		if err != nil {
			return Listing{}, err
		}
		items, err := l.selectFor(ctx, q, page.IDs)
		if err != nil {
			return Listing{}, err
		}
		if q.Window > 0 && slices.ContainsFunc(items, isRepost) {
			if items, err = l.withoutRepeats(ctx, q, page, items); err != nil {
				return Listing{}, err
			}
		}
		if q.Home {
			if seen = append(seen, page.IDs...); look == looksBeforeCleaning {
				defer l.cleanHome(ctx, q.Viewer, seen)
			}
		}
		list.Next = page.Next
		if room := limit - len(list.Items); len(items) > room {
			items = items[:room]
			list.Next = items[room-1].Entry.ID
		}
		list.Items = append(list.Items, items...)
		if list.Next == 0 || len(list.Items) == limit {
			break
		}
		if read += len(page.IDs); q.Far && read >= farEntries {
			list.Next = 0
			break
		}
	}
	return list, l.Mark(ctx, q.Viewer, list.Items)
}

// selectFor returns the entries that belong on a page.
func (l *Lists) selectFor(ctx context.Context, q PageQuery, ids []int64) ([]Item, error) {
	items, err := l.Select(ctx, q.Viewer, ids, q.Least)
	if err != nil || !q.Home {
		return items, err
	}
	v, err := l.listener(ctx, q.Viewer, items)
	return slices.DeleteFunc(items, func(item Item) bool {
		return q.Viewer.LeavesOut(item.Entry.Author.ID) || !belongsOnHome(v, item.Entry)
	}), err
}

func isRepost(item Item) bool { return item.Entry.RepostOf != 0 }

// Select returns the entries that a viewer sees with at least the given visibility.
func (l *Lists) Select(ctx context.Context, v *social.Viewer, ids []int64, least social.Visibility) ([]Item, error) {
	entries, err := l.views.Get(ctx, ids...)
	if err != nil {
		return nil, err
	}
	items := make([]Item, 0, len(ids))
	var originals []int64
	for _, entry := range entries {
		if entry == nil || social.Visible(v, entry.Post) < least {
			continue
		}
		items = append(items, Item{Entry: entry, Post: entry})
		if entry.RepostOf != 0 {
			originals = append(originals, entry.RepostOf)
		}
	}
	if len(originals) == 0 {
		return items, nil
	}
	found, err := l.views.Get(ctx, originals...)
	if err != nil {
		return nil, err
	}
	shown := items[:0]
	for _, item := range items {
		if isRepost(item) {
			item.Post, found = found[0], found[1:]
			if item.Post == nil || social.Visible(v, item.Post.Post) < least {
				continue
			}
		}
		shown = append(shown, item)
	}
	return shown, nil
}

// withoutRepeats removes reposts whose original, or an earlier repost of it, the viewer sees among
// the next entries of the list.
func (l *Lists) withoutRepeats(ctx context.Context, q PageQuery, page Page, items []Item) ([]Item, error) {
	ids, older := page.IDs, []Item(nil)
	if page.Next != 0 {
		next, err := q.Read(ctx, page.Next, q.Window)
		if err != nil {
			return nil, err
		}
		if older, err = l.selectFor(ctx, q, next.IDs); err != nil {
			return nil, err
		}
		ids = slices.Concat(ids, next.IDs)
	}
	position := make(map[int64]int, len(ids)) // on the list, including hidden entries
	for i, id := range ids {
		position[id] = i
	}
	last := map[int64]int{} // the position of each post, or of its latest repost so far
	all := slices.Concat(items, older)
	kept := make([]Item, 0, len(items))
	for i := len(all) - 1; i >= 0; i-- { // from the oldest
		item := all[i]
		current := position[item.Entry.ID]
		previous, ok := last[item.Post.ID]
		last[item.Post.ID] = current
		if i < len(items) && !(isRepost(item) && ok && previous-current <= q.Window) {
			kept = append(kept, item)
		}
	}
	slices.Reverse(kept)
	return kept, nil
}

// Mark adds the viewer's marks to items.
func (l *Lists) Mark(ctx context.Context, v *social.Viewer, items []Item) error {
	if v.User.ID == 0 || len(items) == 0 {
		return nil
	}
	posts := make([]*social.Post, len(items))
	for i, item := range items {
		posts[i] = &item.Post.Post
	}
	all, err := l.viewers.Marks(ctx, v, posts)
	if err != nil {
		return err
	}
	for i := range items {
		items[i].Marks = all[i]
	}
	return nil
}
