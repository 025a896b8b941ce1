package social

import (
	"context"
	"errors"
	"slices"
	"time"

	"retwis/internal/social/fanout"
	"retwis/internal/social/layout"
	"retwis/internal/social/notify"
	"retwis/internal/social/reaction"
)

// reactions are the methods of a Service for likes and bookmarks, and for the lists of
// who has done what with a post.
type reactions struct {
	lists   *listings
	users   *users
	fanOut  *fanout.Engine
	inboxes *notifications
	store   reaction.Store
	now     func() time.Time
}

func newReactions(opt postOptions) *reactions {
	return &reactions{
		users: opt.Users, fanOut: opt.FanOut, lists: opt.Lists, inboxes: opt.Notices, store: reaction.New(opt.Users.db.client), now: opt.Now,
	}
}

// Like makes a user like a post; the like of a repost is one of the post that it
// repeats. Repeating it changes nothing. It returns ErrNotFound for a post that does
// not exist, is deleted, or is hidden from the user. One round trip where the post is
// in memory, about ten on a Cluster.
func (r *reactions) Like(ctx context.Context, user User, id int64) error {
	post, err := r.target(ctx, user, id)
	if err != nil {
		return err
	}
	isNew := false
	err = r.change(ctx, post, user, func() (err error) {
		isNew, err = r.store.Like(ctx, post.ID, user.ID, r.now())
		return err
	})
	if errors.Is(err, reaction.ErrNoPost) {
		err = ErrNotFound
	}
	r.lists.views.touch(post.ID)
	if err != nil {
		return err
	}
	if isNew {
		r.inboxes.Notify(ctx, post.Author.ID, notify.Like, user, post.ID)
	}
	return nil
}

// Unlike takes back a like, also one of a post that the user must not see any more.
// Repeating it changes nothing. One round trip where the post is in memory, four on a
// Cluster.
func (r *reactions) Unlike(ctx context.Context, user User, id int64) error {
	post, err := r.original(ctx, id)
	if err != nil {
		return err
	}
	var at time.Time
	err = r.change(ctx, post, user, func() (err error) {
		at, err = r.store.Unlike(ctx, post.ID, user.ID)
		return err
	})
	r.lists.views.touch(post.ID)
	if err != nil {
		return err
	}
	if !at.IsZero() {
		r.inboxes.Unnotify(ctx, post.Author.ID, notify.Like, user, post.ID, at)
	}
	return nil
}

// change changes a like. On a single server that is one script; on a Cluster it is a
// task, which another process finishes if this one dies.
func (r *reactions) change(ctx context.Context, post Post, user User, change func() error) error {
	if !r.users.db.cluster {
		return change()
	}
	return r.fanOut.Like(ctx, post.ID, user.ID, change)
}

// Bookmark adds a post to a user's bookmarks, which nobody else sees; see Like. One
// round trip where the post is in memory.
func (r *reactions) Bookmark(ctx context.Context, user User, id int64) error {
	post, err := r.visible(ctx, user, id)
	if err != nil {
		return err
	}
	return r.store.Bookmark(ctx, post.ID, user.ID, r.now())
}

// Unbookmark removes a post from a user's bookmarks; see Unlike. One round trip where
// the post is in memory.
func (r *reactions) Unbookmark(ctx context.Context, user User, id int64) error {
	post, err := r.original(ctx, id)
	if err != nil {
		return err
	}
	return r.store.Unbookmark(ctx, post.ID, user.ID)
}

// target returns the post that a user likes, which is not a repost, or ErrNotFound
// where the user must not see it. It can have been deleted lately; the script decides.
func (r *reactions) target(ctx context.Context, user User, id int64) (Post, error) {
	view := r.lists.views.remembered(id)
	if view == nil || view.RepostOf != 0 || view.Deleted {
		return r.visible(ctx, user, id)
	}
	v, err := r.lists.viewers.actor(ctx, user)
	if err == nil && Visible(v.acting(), view.Post) == Hidden {
		err = ErrNotFound
	}
	return view.Post, err
}

// visible returns the post that a user acts on, as target does, but not a deleted one.
func (r *reactions) visible(ctx context.Context, user User, id int64) (Post, error) {
	v, err := r.lists.viewers.actor(ctx, user)
	if err != nil {
		return Post{}, err
	}
	items, err := r.lists.items(ctx, v.acting(), []int64{id}, Muted)
	if err != nil {
		return Post{}, err
	}
	if len(items) == 0 {
		return Post{}, ErrNotFound
	}
	return items[0].Post.Post, nil
}

// original returns a post, or the one that it repeats, even if it is hidden. Where there
// is none it has only an id.
func (r *reactions) original(ctx context.Context, id int64) (Post, error) {
	post := Post{ID: id}
	for range 2 { // a repost of a repost is damage
		views, err := r.lists.views.Views(ctx, id)
		if err != nil {
			return Post{}, err
		}
		if views[0] == nil {
			return Post{ID: id}, nil
		}
		if post = views[0].Post; post.RepostOf == 0 {
			break
		}
		id = post.RepostOf
	}
	return post, nil
}

// Likers returns a page of the users who like a post, the latest first, or ErrNotFound
// for a post that the viewer must not see; see Followers.
func (r *reactions) Likers(ctx context.Context, v *Viewer, id int64, cursor string, limit int) (People, error) {
	return r.people(ctx, v, id, layout.LikersKey, cursor, limit)
}

// Reposters returns a page of the users who have reposted a post; see Likers.
func (r *reactions) Reposters(ctx context.Context, v *Viewer, id int64, cursor string, limit int) (People, error) {
	return r.people(ctx, v, id, layout.RepostersKey, cursor, limit)
}

func (r *reactions) people(ctx context.Context, v *Viewer, id int64, key func(int64) string, cursor string, limit int) (People, error) {
	items, err := r.lists.items(ctx, v, []int64{id}, Muted)
	if err != nil {
		return People{}, err
	}
	if len(items) == 0 {
		return People{}, ErrNotFound
	}
	return r.users.people(ctx, key(items[0].Post.ID), cursor, limit, seenBy(v))
}

// MarkedPosts is one page of the posts that a user has marked, the latest mark first,
// and the cursor of the next page, empty at the end; see Listing.
type MarkedPosts struct {
	Items []Item
	Next  string
}

// LikedPosts returns a page of the posts that a user likes. The viewer has asked for
// this user, so a mute does not hide the user's own posts. cursor is empty for the
// first page; *InvalidError reports one that is malformed. One round trip where the
// posts are in memory.
func (r *reactions) LikedPosts(ctx context.Context, v *Viewer, uid int64, cursor string, limit int) (MarkedPosts, error) {
	if v.Sees(uid) == Hidden {
		return MarkedPosts{}, nil
	}
	return r.marked(ctx, v.asking(uid), layout.LikedKey(uid), cursor, limit)
}

// BookmarkedPosts returns a page of the viewer's bookmarks; see LikedPosts.
func (r *reactions) BookmarkedPosts(ctx context.Context, v *Viewer, cursor string, limit int) (MarkedPosts, error) {
	if v.User.ID == 0 {
		return MarkedPosts{}, nil
	}
	return r.marked(ctx, v, layout.BookmarksKey(v.User.ID), cursor, limit)
}

func (r *reactions) marked(ctx context.Context, v *Viewer, set, cursor string, limit int) (MarkedPosts, error) {
	items := make(map[int64]Item)
	members, next, err := r.users.members(ctx, set, cursor, limit, func(page []member) ([]member, error) {
		ids := make([]int64, len(page))
		for i, m := range page {
			ids[i] = m.id
		}
		found, err := r.lists.items(ctx, v, ids, Unlisted)
		for _, item := range found {
			items[item.Entry.ID] = item
		}
		return slices.DeleteFunc(page, func(m member) bool { return items[m.id].Entry == nil }), err
	})
	if err != nil {
		return MarkedPosts{}, err
	}
	marked := MarkedPosts{Next: next}
	for _, m := range members {
		marked.Items = append(marked.Items, items[m.id])
	}
	return marked, r.lists.mark(ctx, v, marked.Items)
}
