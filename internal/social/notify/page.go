package notify

import (
	"context"
	"slices"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
)

// Group is a set of notifications that a page shows as one entry: all likes of a post, all reposts
// of a post, the followers of a day, one reply, one mention or one decision.
type Group struct {
	Kind   Kind
	Time   time.Time      // of the newest notification
	Unread bool           // the newest notification is unread
	Actors []social.User  // latest first, at most 8
	Count  int            // number of different people: "ada and 12 others" has 13
	Post   *timeline.Item // the post that was liked or reposted, the reply or the mention; nil for followers

	// Only for a decision, where Actors has the user that the decision is about, and Post is nil if
	// the viewer does not see the post.
	Action string // as in the audit log
	Reason string // the moderator's message to the person
	Own    bool   // the decision is about the viewer
	IsPost bool   // the decision is about a post

	post   int64
	actors []int64
}

// Page is one page of notifications, newest first.
type Page struct {
	Groups []Group
	Newest string // the newest notification, for MarkRead; empty if there are none
	Next   string // the cursor of the next page, empty at the end
}

// maxBatches limits the number of batches of entries that are read for a page.
const maxBatches = 5

// Page returns a page of the viewer's notifications, in groups. It omits notifications by users and
// about posts that are hidden from the viewer. before is the cursor of the page, empty for the
// first page; a malformed cursor is *InvalidError.
//
// Groups do not span pages: likes of a post on several pages form a group on each page. A page can
// have fewer groups than requested even if another page follows. If kinds are given, the page has
// only notifications of these kinds. Three round trips if the posts are in memory.
func (n *Service) Page(ctx context.Context, v *social.Viewer, before string, limit int, kinds ...Kind) (Page, error) {
	var from ID
	if before != "" {
		var ok bool
		if from, ok = ParseID(before); !ok {
			return Page{}, social.Invalid("before", "This page address is not valid.")
		}
	}
	set, err := ParseSettings(n.DB.Read(ctx, n.store.SettingsCommand(v.User.ID)))
	if err != nil {
		return Page{}, err
	}
	g := grouping{viewer: v, kinds: kinds, limit: social.PageSize(limit), seen: set.Seen, places: map[groupKey]int{}}
	for range maxBatches {
		entries, next, err := n.store.Page(ctx, v.User.ID, from, notificationBatch)
		if err != nil {
			return Page{}, err
		}
		if g.add(entries) {
			from = g.last
			break
		}
		if from = next; next == (ID{}) {
			break
		}
	}
	var page Page
	if g.newest != (ID{}) {
		page.Newest = g.newest.String()
	}
	if from != (ID{}) {
		page.Next = from.String()
	}
	page.Groups, err = n.complete(ctx, v, g.groups)
	return page, err
}

// grouping groups entries.
type grouping struct {
	viewer *social.Viewer
	kinds  []Kind // empty for all kinds
	limit  int
	seen   ID
	newest ID // the first entry
	last   ID // the last entry that was added or skipped
	groups []Group
	places map[groupKey]int
}

type groupKey struct {
	kind    Kind
	subject int64 // the post, or the day of the followers
	id      ID    // only for a decision, which is a group of its own
}

// add adds entries, and reports whether the page is full.
func (g *grouping) add(entries []Entry) (full bool) {
	for _, e := range entries {
		if g.newest == (ID{}) {
			g.newest = e.ID
		}
		if !isVisible(g.viewer, e) || len(g.kinds) > 0 && !slices.Contains(g.kinds, e.Kind) {
			g.last = e.ID
			continue
		}
		key := groupKey{kind: e.Kind, subject: e.Post}
		switch e.Kind {
		case Follow:
			key.subject = e.ID.MS / (24 * time.Hour).Milliseconds()
		case Decided:
			key.id = e.ID
		}
		place, ok := g.places[key]
		if !ok {
			if len(g.groups) == g.limit {
				return true
			}
			place = len(g.groups)
			g.places[key] = place
			g.groups = append(g.groups, Group{
				Kind: e.Kind, Time: e.ID.Time(), Unread: g.seen.Less(e.ID), post: e.Post,
				Action: e.Action, Reason: e.Reason, Own: e.Actor == g.viewer.User.ID, IsPost: e.Post != 0,
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

// isVisible reports whether a viewer may see a notification. A decision is always visible, because
// the user it is about may be suspended by now.
func isVisible(v *social.Viewer, e Entry) bool {
	return e.Kind == Decided || v.Sees(e.Actor) >= social.Unlisted
}

// complete adds posts and users to groups, and drops the groups whose posts or users are missing.
func (n *Service) complete(ctx context.Context, v *social.Viewer, groups []Group) ([]Group, error) {
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
	items, err := n.Lists.Items(ctx, v, posts...)
	if err != nil {
		return nil, err
	}
	users, err := n.Users.ByID(ctx, people)
	if err != nil {
		return nil, err
	}
	shown := groups[:0]
	for _, g := range groups {
		if g.post != 0 {
			index := slices.IndexFunc(items, func(i timeline.Item) bool { return i.Entry.ID == g.post })
			if index >= 0 {
				g.Post = &items[index]
			} else if g.Kind != Decided {
				continue // deleted, or hidden from the viewer
			}
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
