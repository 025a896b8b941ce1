package timeline

import (
	"context"
	"slices"

	"retwis/internal/social"
)

// Item is one entry of a list of posts, as a viewer sees it.
type Item struct {
	Entry *View        // the post that is on the list, which may be a repost
	Post  *View        // what it shows: the post itself, or the one that a repost repeats
	Marks social.Marks // what the viewer has done with Post
}

// Listing is one page of posts as a viewer sees it, and the cursor of the next page,
// 0 at the end. A page can have fewer posts than asked for although another follows,
// where most of what was there is hidden from the viewer.
type Listing struct {
	Items []Item
	Next  int64
}

// Lists are the lists of posts as a viewer sees them: without what is hidden from
// them, and with what they have done with each post.
type Lists struct {
	views     *Views
	viewers   *Viewers
	timelines *Timelines
}

// NewLists returns the lists of these posts, viewers and timelines.
func NewLists(views *Views, viewers *Viewers, timelines *Timelines) *Lists {
	return &Lists{views: views, viewers: viewers, timelines: timelines}
}

// HomePosts returns a page of the viewer's home timeline: the posts on it that they hear,
// see social.Hears, except those left out of it. A page that has to look past many others
// takes them off the list. before is the cursor
// of the page, 0 for the first. A repost of what is on the timeline already, within the 40
// older entries, is left out.
func (l *Lists) HomePosts(ctx context.Context, v *social.Viewer, before int64, limit int) (Listing, error) {
	return l.Page(ctx, PageQuery{
		Viewer: v, Before: before, Limit: limit, Window: repostWindow, Least: social.Unlisted, Home: true,
		Read: func(ctx context.Context, before int64, limit int) (Page, error) {
			return l.timelines.Home(ctx, v.User.ID, before, limit)
		},
	})
}

// MemberPosts returns a page of what these users have posted and reposted, as a home timeline
// shows it; see HomePosts.
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

// SharedPosts returns the first page of the public timeline as a stranger sees it, and the
// authors whose posts it lacks: they see those themselves. See HomePosts.
func (l *Lists) SharedPosts(ctx context.Context, limit int) (list Listing, lacks []int64, err error) {
	stranger, err := l.viewers.Get(ctx, social.User{})
	if err != nil {
		return Listing{}, nil, err
	}
	var ids []int64
	read := func(ctx context.Context, before int64, limit int) (Page, error) {
		page, err := l.timelines.Everybody(ctx, before, limit)
		ids = append(ids, page.IDs...)
		return page, err
	}
	list, err = l.Page(ctx, PageQuery{Viewer: stranger, Limit: limit, Least: social.Shown, Read: read})
	if err != nil {
		return Listing{}, nil, err
	}
	all, err := l.views.Get(ctx, ids...)
	for _, view := range all {
		if view != nil && !view.Deleted && social.Visible(stranger, view.Post) < social.Shown && !slices.Contains(lacks, view.Author.ID) {
			lacks = append(lacks, view.Author.ID)
		}
	}
	return list, lacks, err
}

// ProfilePosts returns a page of a user's posts and reposts, however old. The viewer
// has asked for this user, so a mute does not hide them. See HomePosts.
func (l *Lists) ProfilePosts(ctx context.Context, v *social.Viewer, uid, before int64, limit int) (Listing, error) {
	return l.Page(ctx, PageQuery{
		Viewer: v.Asking(uid), Before: before, Limit: limit, Least: social.Unlisted,
		Read: func(ctx context.Context, before int64, limit int) (Page, error) {
			return l.timelines.Profile(ctx, uid, before, limit)
		},
	})
}

// latestLooks is among how many entries of a profile the latest post is looked for: the others
// may be reposts, or hidden.
const latestLooks = 4

// LatestPosts returns the latest post of each of these users that a viewer sees on public
// lists, nil for none. Two round trips at most.
func (l *Lists) LatestPosts(ctx context.Context, v *social.Viewer, uids []int64) ([]*View, error) {
	each, err := l.timelines.eachProfile(ctx, uids, 0, latestLooks)
	if err != nil {
		return nil, err
	}
	views, err := l.views.Get(ctx, slices.Concat(each...)...)
	if err != nil {
		return nil, err
	}
	latest := make([]*View, len(uids))
	for i, ids := range each {
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

// PostPage returns one post as a viewer sees it on its own page, where a mute does
// not hide it, or ErrNotFound. The stub of a deleted post is not found either; see
// posts.Threads for its place in a conversation.
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

// Items returns what a viewer sees of these entries of a list, in their order: for
// lists that have cursors of their own.
func (l *Lists) Items(ctx context.Context, v *social.Viewer, ids ...int64) ([]Item, error) {
	items, err := l.Select(ctx, v, ids, social.Unlisted)
	if err != nil {
		return nil, err
	}
	return items, l.Mark(ctx, v, items)
}

const (
	// repostWindow is within how many older entries of a home timeline a repost is
	// left out because its post is there already.
	repostWindow = 40
	// farEntries bounds what a page reads that reads far.
	farEntries = 4000
)

// PageQuery is a page of a list that a viewer wants to see.
type PageQuery struct {
	Viewer *social.Viewer
	Before int64 // the cursor; 0: the first page
	Limit  int
	// Window is within how many older entries a repost is left out if its post is among
	// them; 0: it is not.
	Window int
	Least  social.Visibility // what the viewer sees less well is left out
	Home   bool              // without those that the viewer has left out of the home timeline
	// Far has it read further where much is hidden from the viewer, so that no page is short or
	// empty because of that. What is older than the first farEntries is not found.
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

// selectFor returns those of the entries that belong on a page.
func (l *Lists) selectFor(ctx context.Context, q PageQuery, ids []int64) ([]Item, error) {
	items, err := l.Select(ctx, q.Viewer, ids, q.Least)
	if err != nil || !q.Home {
		return items, err
	}
	v, err := l.listener(ctx, q.Viewer, items)
	return slices.DeleteFunc(items, func(item Item) bool {
		return q.Viewer.LeavesOut(item.Entry.Author.ID) || !hears(v, item.Entry)
	}), err
}

func isRepost(item Item) bool { return item.Entry.RepostOf != 0 }

// Select returns the entries that a viewer sees with at least this Visibility.
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

// withoutRepeats leaves out the reposts whose post the viewer sees among the next
// entries of the list, itself or in an earlier repost.
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
	place := make(map[int64]int, len(ids)) // on the list, hidden entries included
	for i, id := range ids {
		place[id] = i
	}
	last := map[int64]int{} // the place of each post, or of its latest repost so far
	all := slices.Concat(items, older)
	kept := make([]Item, 0, len(items))
	for i := len(all) - 1; i >= 0; i-- { // from the oldest
		item := all[i]
		at := place[item.Entry.ID]
		seen, ok := last[item.Post.ID]
		last[item.Post.ID] = at
		if i < len(items) && !(isRepost(item) && ok && seen-at <= q.Window) {
			kept = append(kept, item)
		}
	}
	slices.Reverse(kept)
	return kept, nil
}

// Mark adds what the viewer has done with each post.
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
