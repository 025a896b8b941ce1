package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"
	"retwis/internal/watched"
)

// MaxUnread is the largest number that Unread returns. It stands for any larger number.
const MaxUnread = 100

const (
	// maxMentions limits the number of mentioned users that a post notifies.
	maxMentions = 10
	// unreadScan is the number of newest entries that are examined to count the unread ones. It
	// exceeds MaxUnread because some entries may be by users who are hidden by now.
	unreadScan = MaxUnread + 28
	// notificationBatch is the number of entries in one read for a page.
	notificationBatch = 100
	// maxActors is the maximum number of named users of a group.
	maxActors = 8
	// notifyTimeout limits the time that an action waits for its notification.
	notifyTimeout = 2 * time.Second
)

// Service writes, counts and groups notifications of actions of other users.
//
// The notifications of a post are part of its fan-out: a repeated fan-out writes missing
// notifications. The notification of a like or a follow is written after the like or follow, and a
// crash in between loses the notification.
type Service struct {
	timeline.Parts
	store  Store
	unread *watched.Map[[]Entry] // decoded unseen notifications by user; the slices are read-only
}

// NewService returns the Service of a database.
func NewService(parts timeline.Parts) (*Service, error) {
	n := &Service{Parts: parts, store: New(parts.DB.Client)}
	var err error
	n.unread, err = storage.NewMap(n.DB, watched.Options[[]Entry]{
		Keys: []string{storage.NotificationsPrefix, storage.UserPrefix}, Most: timeline.CachedViewers, Fenced: true,
		// A post with hundreds of likes per second notifies its author hundreds of times.
		Lag: watched.Lag,
	})
	return n, err
}

// Notify writes a notification for a user, unless the user is the actor, does not see the actor, or
// has turned this kind off. since is zero, or the server's time since which the action may already
// have notified the user. Errors are only logged, because the action has happened. One round trip
// if the recipient is in memory.
func (n *Service) Notify(ctx context.Context, to int64, kind Kind, actor, post int64, since time.Time) {
	n.notifyMany(ctx, []int64{to}, kind, actor, post, since)
}

// NotifyMentions notifies the users with the given names of a post that mentions them. It skips the
// users in except, whom the post notifies in other ways. since is as for Notify.
func (n *Service) NotifyMentions(ctx context.Context, actor, post int64, names []string, since time.Time, except ...int64) {
	ctx, cancel := detached(ctx)
	defer cancel()
	to, err := n.named(ctx, names)
	if err != nil {
		n.Log.WarnContext(ctx, "cannot notify a mentioned user", "post", post, "error", err)
		return
	}
	to = slices.DeleteFunc(to, func(uid int64) bool { return slices.Contains(except, uid) })
	n.notifyMany(ctx, to, Mention, actor, post, since)
}

// UnnotifyMentions removes the notifications of a post for the users with the given names, after an
// edit has removed the mentions. at is the time of the post. Errors are only logged.
func (n *Service) UnnotifyMentions(ctx context.Context, actor, post int64, names []string, at time.Time) {
	ctx, cancel := detached(ctx)
	defer cancel()
	to, err := n.named(ctx, names)
	if err != nil {
		n.Log.WarnContext(ctx, "cannot remove a notification", "post", post, "error", err)
		return
	}
	for _, uid := range to {
		n.Unnotify(ctx, uid, Mention, actor, post, at)
	}
}

// named returns the IDs of the users with the given names, without duplicates.
func (n *Service) named(ctx context.Context, names []string) (uids []int64, err error) {
	for _, name := range names[:min(len(names), maxMentions)] {
		user, err := n.Users.UserByName(ctx, name)
		switch {
		case errors.Is(err, social.ErrNotFound):
		case err != nil:
			return nil, err
		case !slices.Contains(uids, user.ID):
			uids = append(uids, user.ID)
		}
	}
	return uids, nil
}

// detached returns the context for writing a notification. The context does not end with the
// request, and allows reads from memory, which is recent enough.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(social.WithoutFresh(context.WithoutCancel(ctx)), notifyTimeout)
}

func (n *Service) notifyMany(ctx context.Context, to []int64, kind Kind, actor, post int64, since time.Time) {
	ctx, cancel := detached(ctx)
	defer cancel()
	wanted := make([]int64, 0, len(to))
	for _, uid := range to {
		ok, err := n.wants(ctx, uid, kind, actor)
		if err != nil {
			n.Log.WarnContext(ctx, "cannot write a notification", "kind", kind.String(), "user", uid, "error", err)
		} else if ok {
			wanted = append(wanted, uid)
		}
	}
	if err := n.store.Add(ctx, Entry{Kind: kind, Actor: actor, Post: post}, since, wanted...); err != nil {
		n.Log.WarnContext(ctx, "cannot write a notification", "kind", kind.String(), "post", post, "error", err)
	}
}

// wants reports whether a user gets notifications of the given kind by an actor.
func (n *Service) wants(ctx context.Context, uid int64, kind Kind, actor int64) (bool, error) {
	if uid == actor || uid == 0 {
		return false, nil
	}
	rec, err := n.Users.Record(ctx, uid)
	if errors.Is(err, social.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	v, err := n.Viewers.Actor(ctx, rec.User)
	if err != nil || v.Sees(actor) < social.Unlisted {
		return false, err
	}
	off, err := n.NotifyOff(ctx, uid)
	return !slices.Contains(off, kind), err
}

// Unnotify removes the notification of an action that the actor has undone. at is the time of the
// action. Errors are only logged. One round trip.
func (n *Service) Unnotify(ctx context.Context, to int64, kind Kind, actor, post int64, at time.Time) {
	if to == actor || to == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
	defer cancel()
	if err := n.store.Remove(ctx, to, Entry{Kind: kind, Actor: actor, Post: post}, at); err != nil {
		n.Log.WarnContext(ctx, "cannot remove a notification", "kind", kind.String(), "user", to, "error", err)
	}
}

// NotifyOff returns the kinds of notifications that a user has turned off. At most one round trip.
func (n *Service) NotifyOff(ctx context.Context, uid int64) ([]Kind, error) {
	set, err := ParseSettings(n.DB.Read(ctx, n.store.SettingsCommand(uid)))
	return set.Off, err
}

// SetNotifyOff sets the kinds of notifications that a user turns off. One round trip.
func (n *Service) SetNotifyOff(ctx context.Context, user social.User, off []Kind) error {
	return n.store.SetOff(ctx, user.ID, off)
}

// MarkRead records that a user has seen all notifications up to upTo (see Page.Newest), or all
// existing ones if upTo is empty. The recorded ID never decreases. A malformed ID is *InvalidError.
// Two round trips.
func (n *Service) MarkRead(ctx context.Context, user social.User, upTo string) error {
	id := ID{MS: 1<<53 - 1}
	if upTo != "" {
		var ok bool
		if id, ok = ParseID(upTo); !ok {
			return social.Invalid("upto", "This page address is not valid.")
		}
	}
	if err := n.store.MarkRead(ctx, user.ID, id); err != nil {
		return err
	}
	n.unread.Force(user.ID)
	return nil
}

// Unread returns the number of visible notifications that the viewer has not seen, at most
// MaxUnread. The answer comes from memory and is at most a second old. It takes three round trips
// for a viewer who is not in memory.
func (n *Service) Unread(ctx context.Context, v *social.Viewer) (int, error) {
	if v.User.ID == 0 {
		return 0, nil
	}
	entries, err := n.unread.Get(ctx, v.User.ID, watched.Ask[[]Entry]{Load: watched.Each(n.readUnread)})
	if err != nil {
		return 0, err
	}
	return n.countUnread(ctx, v, entries)
}

// countUnread counts the entries by users and about posts that the viewer sees. Equal entries count
// once, because the page shows them once.
func (n *Service) countUnread(ctx context.Context, v *social.Viewer, entries []Entry) (int, error) {
	unread := 0
	var ids []int64
	perPost := map[int64]int{} // the number of entries about each post
	counted := map[Entry]bool{}
	for _, e := range entries {
		if e.Kind != Decided {
			e.ID = ID{}
		}
		switch {
		case counted[e]:
			continue
		case !isVisible(v, e):
		case e.Post == 0, e.Kind == Decided:
			unread++
		default:
			if perPost[e.Post] == 0 {
				ids = append(ids, e.Post)
			}
			perPost[e.Post]++
		}
		counted[e] = true
	}
	if len(ids) > 0 {
		items, err := n.Lists.Select(ctx, v, ids, social.Unlisted)
		if err != nil {
			return 0, err
		}
		for _, item := range items {
			unread += perPost[item.Entry.ID]
		}
	}
	return min(unread, MaxUnread), nil
}

// UnreadNow is like Unread, but reads through another client of the database and bypasses all
// caches except those of posts. Three round trips.
func (n *Service) UnreadNow(ctx context.Context, client rueidis.Client, v *social.Viewer) (int, error) {
	set, err := ParseSettings(client.Do(ctx, rueidis.Completed(n.store.SettingsCommand(v.User.ID))))
	if err != nil {
		return 0, err
	}
	entries, err := ParseNewest(client.Do(ctx, rueidis.Completed(n.store.NewestCommand(v.User.ID, unreadScan))), set.Seen)
	if err != nil {
		return 0, err
	}
	return n.countUnread(ctx, v, entries)
}

// readUnread reads the entries that a user has not seen.
func (n *Service) readUnread(ctx context.Context, r *watched.Read[[]Entry]) ([]Entry, error) {
	set, err := ParseSettings(n.DB.Read(ctx, n.store.SettingsCommand(r.ID)))
	if err != nil {
		return nil, err
	}
	return ParseNewest(n.DB.Read(ctx, n.store.NewestCommand(r.ID, unreadScan)), set.Seen)
}
