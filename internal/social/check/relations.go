package check

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/social/layout"
	"retwis/internal/social/notify"
	"retwis/maintain"
)

// relationCheck checks the keys of a user besides the follows: what they like, have
// reposted and saved, the people they have muted and blocked, their tags and their
// notifications.
type relationCheck struct {
	*checker
	mirrors *mirrorCheck
	follows *followCheck
	posts   *postCheck
}

var relationPrefixes = []string{
	layout.LikedPrefix, layout.RepostedPrefix, layout.BookmarksPrefix,
	layout.MutedPrefix, layout.BlockedPrefix, layout.BlockersPrefix,
	layout.FollowingTagsPrefix, layout.InboxPrefix, layout.NotificationsPrefix,
	layout.ProfileRepliesPrefix, layout.ThreadPrefix, layout.LoginPlacesPrefix,
}

// all checks them, and the conversations.
func (c *relationCheck) all(ctx context.Context) error {
	return c.pass(ctx, "*:*", relationPrefixes, func(ctx context.Context, keys []string) error {
		owners := make([]int64, len(keys))
		for i, key := range keys {
			_, owners[i], _ = layout.ParseKey(key)
		}
		users, err := c.usersExist(ctx, owners)
		if err != nil {
			return err
		}
		for i, key := range keys {
			if err := c.key(ctx, key, owners[i], users[owners[i]]); err != nil {
				return fmt.Errorf("key %s: %w", key, err)
			}
		}
		return nil
	})
}

func (c *relationCheck) key(ctx context.Context, key string, owner int64, exists bool) error {
	prefix, _, _ := layout.ParseKey(key)
	switch {
	case prefix == layout.ThreadPrefix, prefix == layout.ProfileRepliesPrefix:
		return c.posts.postSet(ctx, key)
	case !exists:
		return c.lostUser(ctx, key, owner)
	}
	switch prefix {
	case layout.LikedPrefix:
		return c.marks(ctx, key, owner, like)
	case layout.RepostedPrefix:
		return c.marks(ctx, key, owner, repost)
	case layout.BookmarksPrefix:
		return c.marks(ctx, key, owner, nil)
	case layout.MutedPrefix:
		return c.people(ctx, key, owner, nil)
	case layout.BlockedPrefix:
		return c.people(ctx, key, owner, func(other int64) pair { return block(owner, other) })
	case layout.BlockersPrefix:
		return c.people(ctx, key, owner, func(other int64) pair { return block(other, owner) })
	case layout.FollowingTagsPrefix:
		return c.tags(ctx, key, owner)
	case layout.InboxPrefix:
		return c.inbox(ctx, key)
	case layout.NotificationsPrefix:
		return c.notificationStream(ctx, key)
	}
	return nil
}

// lostUser reports a key of a user who does not exist.
func (c *checker) lostUser(ctx context.Context, key string, uid int64) error {
	p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("user %d does not exist", uid), Repair: "remove it"}
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		if exists, err := c.userExists(ctx, uid); err != nil || exists {
			return false, err
		}
		return c.client.Do(ctx, c.client.B().Unlink().Key(key).Build()).AsBool()
	})
}

// marks checks a user's list of posts by time. of gives the relation that it mirrors;
// nil for bookmarks, which nothing mirrors: they may be of posts that are deleted.
func (c *relationCheck) marks(ctx context.Context, key string, uid int64, of func(uid, post int64) pair) error {
	return c.sortedSet(ctx, key, func(members, scores []string) error {
		authoritative := make([]*string, len(members))
		b := c.batch()
		for i, member := range members {
			authoritative[i] = new(string)
			if id, ok := layout.ParseID(member); ok && of != nil {
				p := of(uid, id)
				authoritative[i] = b.score(p.key, p.member)
			}
		}
		if err := b.run(ctx); err != nil {
			return err
		}
		for i, member := range members {
			id, ok := layout.ParseID(member)
			var err error
			switch {
			case !ok:
				p := Problem{Kind: maintain.Invalid, Key: key, Detail: fmt.Sprintf("%.40q is not the id of a post", member), Repair: "remove it"}
				err = c.found(ctx, p, func(ctx context.Context) (bool, error) { return c.zrem(ctx, key, member) })
			case of != nil:
				err = c.mirrors.compare(ctx, of(uid, id), *authoritative[i], scores[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// people checks a user's list of other users. of gives the two places of a block; nil
// for a mute.
func (c *relationCheck) people(ctx context.Context, key string, uid int64, of func(other int64) pair) error {
	return c.sortedSet(ctx, key, func(members, scores []string) error {
		others := make([]int64, len(members))
		ours, theirs := make([]*string, len(members)), make([]*string, len(members))
		between := make([][2]*string, len(members))
		b := c.batch()
		for i, member := range members {
			others[i], _ = layout.ParseID(member) // 0: no id
			if of == nil {
				continue
			}
			p := of(others[i])
			ours[i], theirs[i] = b.score(p.key, p.member), b.score(p.other, p.mirror)
			between[i] = [2]*string{
				b.score(layout.FollowingKey(uid), member),
				b.score(layout.FollowingKey(others[i]), layout.Itoa(uid)),
			}
		}
		if err := b.run(ctx); err != nil {
			return err
		}
		exist, err := c.usersExist(ctx, others)
		if err != nil {
			return err
		}
		for i, member := range members {
			other := others[i]
			if !exist[other] || other == uid {
				if err := c.nobody(ctx, key, member, other, uid); err != nil {
					return err
				}
				continue
			}
			if of == nil {
				continue
			}
			p := of(other)
			if err := c.mirrors.compare(ctx, p, *ours[i], *theirs[i]); err != nil {
				return err
			}
			if key != p.key || !c.inForce(*ours[i]) {
				continue
			}
			for n, since := range between[i] {
				follow := entry{from: uid, to: other, score: *since}
				if n == 1 {
					follow.from, follow.to = other, uid
				}
				if err := c.blockedFollow(ctx, p, follow); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// inForce reports whether a block with this score has not ended.
func (c *checker) inForce(score string) bool {
	until, err := strconv.ParseFloat(score, 64)
	return err == nil && until > float64(c.now().Unix())
}

// nobody reports a mute or a block of a user who does not exist, or of oneself.
func (c *relationCheck) nobody(ctx context.Context, key, member string, other, uid int64) error {
	p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("user %.40q does not exist", member), Repair: "remove it"}
	if other == uid {
		p.Kind, p.Detail = maintain.Invalid, "has the user themselves"
	}
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		if exists, err := c.userExists(ctx, other); err != nil || exists && other != uid {
			return false, err
		}
		return c.zrem(ctx, key, member)
	})
}

// blockedFollow reports a follow between two people, one of them blocked by the other.
// The repair checks the block again afterwards: had it just been ended, and the follow
// begun again, the follow is restored.
func (c *relationCheck) blockedFollow(ctx context.Context, b pair, f entry) error {
	if f.score == "" {
		return nil
	}
	p := Problem{
		Kind: maintain.Stale, Key: layout.FollowingKey(f.from), Leftover: true, Repair: "end the follow",
		Detail: fmt.Sprintf("user %d follows user %d, although %s", f.from, f.to, b.what),
	}
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		score, err := c.scoreOf(ctx, b.key, b.member)
		if err != nil || !c.inForce(score) {
			return false, err
		}
		ended, err := c.follows.endFollow(ctx, f)
		if err != nil || !ended {
			return false, err
		}
		if score, err = c.scoreOf(ctx, b.key, b.member); err != nil || c.inForce(score) {
			return true, err
		}
		if _, err := c.zadd(ctx, layout.FollowingKey(f.from), f.score, layout.Itoa(f.to)); err != nil {
			return true, err
		}
		_, err = c.checker.follows.Mirror(ctx, f.from, f.to)
		return true, err
	})
}

// inbox checks that each notification can be read.
func (c *relationCheck) inbox(ctx context.Context, key string) error {
	list, err := c.client.Do(ctx, c.client.B().Lrange().Key(key).Start(0).Stop(-1).Build()).AsStrSlice()
	if rediserr.IsWrongType(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, text := range list {
		if notify.IsValid(text) {
			continue
		}
		err := c.notNotification(ctx, key, text, c.client.B().Lrem().Key(key).Count(0).Element(text).Build())
		if err != nil {
			return err
		}
	}
	return c.run.Pace(ctx, len(list))
}

// notificationStream is inbox for the stream of an earlier version.
func (c *relationCheck) notificationStream(ctx context.Context, key string) error {
	after := "-"
	for {
		page, err := c.client.Do(ctx, c.client.B().Xrange().Key(key).Start(after).End("+").Count(scanCount).Build()).AsXRange()
		if rediserr.IsWrongType(err) || err == nil && len(page) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		for _, n := range page {
			text := notify.FromStream(n)
			if notify.IsValid(text) {
				continue
			}
			if err := c.notNotification(ctx, key, text, c.client.B().Xdel().Key(key).Id(n.ID).Build()); err != nil {
				return err
			}
		}
		after = "(" + page[len(page)-1].ID
		if err := c.run.Pace(ctx, len(page)); err != nil {
			return err
		}
	}
}

// notNotification reports an entry that cannot be read.
func (c *relationCheck) notNotification(ctx context.Context, key, text string, remove rueidis.Completed) error {
	p := Problem{Kind: maintain.Invalid, Key: key, Detail: fmt.Sprintf("not a notification: %.60q", text), Repair: "remove it"}
	return c.found(ctx, p, func(ctx context.Context) (bool, error) { return c.client.Do(ctx, remove).AsBool() })
}
