package social

import (
	"context"
	"slices"
	"time"

	"retwis/internal/social/notify"
)

// NotificationGroup is what a page of notifications shows as one: all likes of a
// post, all reposts of a post, the followers of a day, one reply or one mention.
type NotificationGroup struct {
	Kind   notify.Kind
	Time   time.Time // of the newest
	Unread bool      // the newest is
	Actors []User    // the latest first, at most 8
	Count  int       // of different people: "ada and 12 others" has 13
	Post   *Item     // the post that was liked or reposted, the reply or the mention; nil for followers

	post   int64
	actors []int64
}

// NotificationPage is one page of notifications, the newest first.
type NotificationPage struct {
	Groups []NotificationGroup
	Newest string // the newest notification, for MarkRead; empty where there are none
	Next   string // the cursor of the next page, empty at the end
}

// maxNotificationLooks bounds how many batches of entries a page reads.
const maxNotificationLooks = 5

// Notifications returns a page of the viewer's notifications, in groups, without
// those by people and of posts that the viewer does not see. before is the cursor of
// the page, empty for the first; *InvalidError reports one that is malformed.
//
// A page groups what it shows: likes of a post that go on for longer than a page are
// a group on each. It can have fewer groups than asked for although another page
// follows. Three round trips where the posts are in memory.
func (n *notifications) Notifications(ctx context.Context, v *Viewer, before string, limit int) (NotificationPage, error) {
	var from notify.ID
	if before != "" {
		var ok bool
		if from, ok = notify.ParseID(before); !ok {
			return NotificationPage{}, &InvalidError{"before", "This page address is not valid."}
		}
	}
	set, err := notify.ParseSettings(n.db.read(ctx, n.store.SettingsCommand(v.User.ID)))
	if err != nil {
		return NotificationPage{}, err
	}
	g := grouping{viewer: v, limit: PageSize(limit), seen: set.Seen, places: map[groupKey]int{}}
	for range maxNotificationLooks {
		entries, next, err := n.store.Page(ctx, v.User.ID, from, notificationBatch)
		if err != nil {
			return NotificationPage{}, err
		}
		if g.add(entries) {
			from = g.last
			break
		}
		if from = next; next == (notify.ID{}) {
			break
		}
	}
	var page NotificationPage
	if g.newest != (notify.ID{}) {
		page.Newest = g.newest.String()
	}
	if from != (notify.ID{}) {
		page.Next = from.String()
	}
	page.Groups, err = n.complete(ctx, v, g.groups)
	return page, err
}

// grouping makes groups of entries.
type grouping struct {
	viewer *Viewer
	limit  int
	seen   notify.ID
	newest notify.ID // the first entry
	last   notify.ID // the last entry that was added
	groups []NotificationGroup
	places map[groupKey]int
}

type groupKey struct {
	kind notify.Kind
	of   int64 // the post, or the day of followers
}

// add adds entries, and reports whether the page is full.
func (g *grouping) add(entries []notify.Entry) (full bool) {
	for _, e := range entries {
		if g.newest == (notify.ID{}) {
			g.newest = e.ID
		}
		if g.viewer.Sees(e.Actor) < Unlisted {
			g.last = e.ID
			continue
		}
		key := groupKey{e.Kind, e.Post}
		if e.Kind == notify.Follow {
			key.of = e.ID.MS / (24 * time.Hour).Milliseconds()
		}
		place, ok := g.places[key]
		if !ok {
			if len(g.groups) == g.limit {
				return true
			}
			place = len(g.groups)
			g.places[key] = place
			g.groups = append(g.groups, NotificationGroup{
				Kind: e.Kind, Time: e.ID.Time(), Unread: g.seen.Less(e.ID), post: e.Post,
			})
		}
		group := &g.groups[place]
		if !slices.Contains(group.actors, e.Actor) {
			group.actors = append(group.actors, e.Actor)
		}
		g.last = e.ID
	}
	return false
}

// complete adds the posts and the people, and drops the groups without.
func (n *notifications) complete(ctx context.Context, v *Viewer, groups []NotificationGroup) ([]NotificationGroup, error) {
	var posts, people []int64
	for _, g := range groups {
		if g.post != 0 && !slices.Contains(posts, g.post) {
			posts = append(posts, g.post)
		}
		for _, uid := range g.actors[:min(len(g.actors), maxActors)] {
			if !slices.Contains(people, uid) {
				people = append(people, uid)
			}
		}
	}
	items, err := n.list.Items(ctx, v, posts...)
	if err != nil {
		return nil, err
	}
	users, err := n.users.byID(ctx, people)
	if err != nil {
		return nil, err
	}
	shown := groups[:0]
	for _, g := range groups {
		if g.post != 0 {
			at := slices.IndexFunc(items, func(i Item) bool { return i.Entry.ID == g.post })
			if at < 0 {
				continue // deleted, or hidden from the viewer
			}
			g.Post = &items[at]
		}
		g.Count = len(g.actors)
		for _, uid := range g.actors[:min(len(g.actors), maxActors)] {
			if user, ok := users[uid]; ok {
				g.Actors = append(g.Actors, user)
			}
		}
		if len(g.Actors) > 0 {
			shown = append(shown, g)
		}
	}
	return shown, nil
}
