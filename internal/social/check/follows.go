package check

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
	"retwis/maintain"
)

// followCheck checks both directions of follows.
type followCheck struct{ *checker }

// all checks one direction of the follows of a user: that each exists in the
// other direction too, with the same time, and that both users exist.
func (c *followCheck) all(ctx context.Context, prefix string, uid int64, ownerExists bool) error {
	key, other := layout.Key(prefix, uid), layout.FollowersPrefix
	if prefix == layout.FollowersPrefix {
		other = layout.FollowingPrefix
	}
	return c.sortedSet(ctx, key, func(ids, scores []string) error {
		if prefix == layout.FollowingPrefix {
			c.result.Follows += int64(len(ids))
		}
		cmds := make(rueidis.Commands, len(ids))
		people := make([]int64, len(ids))
		for i, id := range ids {
			people[i], _ = layout.ParseID(id) // 0: no id
			cmds[i] = c.client.B().Zscore().Key(other + id).Member(layout.Itoa(uid)).Build()
		}
		exist, err := c.usersExist(ctx, people)
		if err != nil {
			return err
		}
		for i, res := range c.client.DoMulti(ctx, cmds...) {
			back, err := reply.TextOrEmpty(res)
			if err != nil {
				return err
			}
			f := entry{key: key, id: ids[i], score: scores[i], from: uid, to: people[i]}
			if prefix == layout.FollowersPrefix {
				f.from, f.to = f.to, f.from
			}
			if err := c.follow(ctx, f, ownerExists, exist[people[i]], other+ids[i], back); err != nil {
				return err
			}
		}
		return nil
	})
}

// entry is one entry of key, of the user with this id.
type entry struct {
	key, id, score string
	from, to       int64
}

func (c *followCheck) follow(ctx context.Context, f entry, ownerExists, exists bool, other, back string) error {
	p := Problem{Kind: maintain.Dangling, Key: f.key, Repair: "end the follow"}
	_, isID := layout.ParseID(f.id)
	switch {
	case !isID:
		p.Kind, p.Detail = maintain.Invalid, fmt.Sprintf("%.40q is not a user id", f.id)
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.client.Do(ctx, c.client.B().Zrem().Key(f.key).Member(f.id).Build()).AsBool()
		})
	case f.from == f.to:
		p.Kind, p.Detail = maintain.Invalid, fmt.Sprintf("user %d follows themselves", f.from)
		return c.found(ctx, p, func(ctx context.Context) (bool, error) { return c.endFollow(ctx, f) })
	case !ownerExists || !exists:
		p.Detail = "the user does not exist"
		if ownerExists {
			p.Detail = layout.UserPrefix + f.id + " does not exist"
		}
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			for _, uid := range []int64{f.from, f.to} {
				if exists, err := c.userExists(ctx, uid); err != nil {
					return false, err
				} else if !exists {
					return c.endFollow(ctx, f)
				}
			}
			return false, nil
		})
	case !sameNumber(back, f.score):
		p.Kind, p.Detail = maintain.Stale, fmt.Sprintf("user %s since %s, but %q in %s", f.id, f.score, back, other)
		p.Repair = fmt.Sprintf("write what %s says to %s", layout.FollowingKey(f.from), layout.FollowersKey(f.to))
		return c.found(ctx, p, func(ctx context.Context) (bool, error) { return c.checker.follows.Mirror(ctx, f.from, f.to) })
	}
	return nil
}

// endFollow ends a follow in both directions.
func (c *followCheck) endFollow(ctx context.Context, f entry) (bool, error) {
	b := c.client.B()
	ended := false
	for _, res := range c.client.DoMulti(ctx,
		b.Zrem().Key(layout.FollowingKey(f.from)).Member(layout.Itoa(f.to)).Build(),
		b.Zrem().Key(layout.FollowersKey(f.to)).Member(layout.Itoa(f.from)).Build(),
	) {
		gone, err := res.AsBool()
		if err != nil && !rediserr.IsWrongType(err) {
			return false, err
		}
		ended = ended || err == nil && gone
	}
	return ended, nil
}
