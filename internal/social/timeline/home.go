package timeline

import (
	"context"
	"slices"

	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/internal/social/text"
)

// looksBeforeCleaning is the number of additional reads for a page of a home timeline after which
// the skipped posts are removed from the list.
const looksBeforeCleaning = 2

// belongsOnHome is social.BelongsOnHome for a post.
func belongsOnHome(v *social.Viewer, p *View) bool {
	post := social.HomePost{Author: p.Author.ID, Reply: p.Parent != 0, To: p.To}
	if len(v.Tags) > 0 && !social.BelongsOnHome(v, post) {
		post.Tags = text.Tags(p.Body)
	}
	return social.BelongsOnHome(v, post)
}

// listener returns v with all follows that decide whether the posts of items belong on the viewer's
// home timeline. One round trip for a viewer who follows more people than are kept in memory,
// otherwise none.
func (l *Lists) listener(ctx context.Context, v *social.Viewer, items []Item) (*social.Viewer, error) {
	if !v.FollowsMore {
		return v, nil
	}
	people := make([]int64, 0, 2*len(items))
	for _, item := range items {
		for _, uid := range []int64{item.Entry.Author.ID, item.Entry.To} {
			if uid != 0 && !v.Following.Has(uid) {
				people = append(people, uid)
			}
		}
	}
	slices.Sort(people)
	if people = slices.Compact(people); len(people) == 0 {
		return v, nil
	}
	members := make([]string, len(people))
	for i, uid := range people {
		members[i] = storage.Itoa(uid)
	}
	client := l.timelines.db.Client
	since, err := client.Do(ctx, client.B().Zmscore().Key(storage.FollowingKey(v.User.ID)).Member(members...).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	extended := *v
	extended.Following = slices.Clone(v.Following)
	for i, score := range since {
		if !score.IsNil() {
			extended.Following = append(extended.Following, people[i])
		}
	}
	slices.Sort(extended.Following)
	return &extended, nil
}

// cleanHome removes the posts in ids from the viewer's home timeline that are deleted or no longer
// belong there, according to the current state of the database. It then checks again, and adds the
// posts again that belong there meanwhile because of a follow.
func (l *Lists) cleanHome(ctx context.Context, v *social.Viewer, ids []int64) error {
	removed, err := l.unheard(ctx, v, ids)
	if err != nil || len(removed) == 0 {
		return err
	}
	ctx = social.WithFresh(ctx)
	if removed, err = l.unheardNow(ctx, v.User, removed); err != nil || len(removed) == 0 {
		return err
	}
	if err := l.timelines.removeFromHome(ctx, v.User.ID, removed); err != nil {
		return err
	}
	stillUnheard, err := l.unheardNow(ctx, v.User, removed)
	if err != nil {
		return err
	}
	restored := slices.DeleteFunc(removed, func(id int64) bool { return slices.Contains(stillUnheard, id) })
	return l.timelines.addToHome(ctx, v.User.ID, restored)
}

// unheardNow is like unheard, for the current state of the viewer.
func (l *Lists) unheardNow(ctx context.Context, user social.User, ids []int64) ([]int64, error) {
	v, err := l.viewers.Get(ctx, user)
	if err != nil {
		return nil, err
	}
	return l.unheard(ctx, v, ids)
}

// unheard returns the posts in ids that do not belong on the viewer's home timeline.
func (l *Lists) unheard(ctx context.Context, v *social.Viewer, ids []int64) ([]int64, error) {
	views, err := l.views.Get(ctx, ids...)
	if err != nil {
		return nil, err
	}
	items := make([]Item, 0, len(views))
	for _, view := range views {
		if view != nil {
			items = append(items, Item{Entry: view})
		}
	}
	if v, err = l.listener(ctx, v, items); err != nil {
		return nil, err
	}
	unheard := make([]int64, 0, len(ids))
	for i, view := range views {
		if view == nil || view.Deleted || !belongsOnHome(v, view) {
			unheard = append(unheard, ids[i])
		}
	}
	return unheard, nil
}

// removeFromHome removes posts from a home timeline.
func (t *Timelines) removeFromHome(ctx context.Context, uid int64, posts []int64) error {
	ids := make([]string, len(posts))
	for i, post := range posts {
		ids[i] = storage.Itoa(post)
	}
	_, err := t.lists.Repair(ctx, storage.HomeKey(uid), ids...)
	return err
}

// addToHome adds posts to a home timeline, on a Cluster only if the timeline exists.
func (t *Timelines) addToHome(ctx context.Context, uid int64, posts []int64) error {
	lists := t.lists
	if t.homes != nil {
		lists = lists.Existing()
	}
	return lists.PutMany(ctx, storage.HomeKey(uid), posts...)
}
