package social

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"
)

// everybody checks the timeline that everybody shares.
func (c *checker) everybody(ctx context.Context) error {
	return c.timeline(ctx, keyTimeline)
}

// home checks a home timeline.
func (c *checker) home(ctx context.Context, key string, _ int64) error {
	return c.timeline(ctx, key)
}

// timeline checks that a timeline is in order, within its bounds, without a
// post twice, and that its posts exist.
func (c *checker) timeline(ctx context.Context, key string) error {
	c.result.Timelines++
	ids, err := c.s.client.Do(ctx, c.s.client.B().Lrange().Key(key).Start(0).Stop(-1).Build()).AsIntSlice()
	if err != nil {
		return err
	}
	if len(ids) > TimelineCap+100 {
		c.problem(key, "%d posts, more than %d", len(ids), TimelineCap+100)
	}
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			c.problem(key, "post %d stands there twice", ids[i])
		} else if ids[i] > ids[i-1] {
			c.problem(key, "post %d stands behind post %d", ids[i], ids[i-1])
		}
	}
	return c.exist(ctx, key, prefixPost, ids)
}

// profile checks that the posts of a profile are its owner's.
func (c *checker) profile(ctx context.Context, key string, uid int64) error {
	return c.sortedSet(ctx, key, func(ids, scores []string) error {
		cmds := make(rueidis.Commands, len(ids))
		for i, id := range ids {
			cmds[i] = c.s.client.B().Hget().Key(prefixPost + id).Field("user_id").Build()
		}
		for i, res := range c.s.client.DoMulti(ctx, cmds...) {
			author, err := text(res)
			if err != nil {
				return err
			}
			if author != itoa(uid) {
				c.problem(key, "post %s is by user %q", ids[i], author)
			}
			if scores[i] != ids[i] {
				c.problem(key, "post %s has the score %s", ids[i], scores[i])
			}
		}
		return nil
	})
}

// following checks each follow from the side of the follower.
func (c *checker) following(ctx context.Context, key string, uid int64) error {
	return c.mirrored(ctx, key, uid, followersKey, func(n int) { c.result.Follows += int64(n) })
}

// followers checks each follow from the side of the followed.
func (c *checker) followers(ctx context.Context, key string, uid int64) error {
	return c.mirrored(ctx, key, uid, followingKey, func(int) {})
}

// mirrored checks that each follow stands in the other direction too, with the
// same time.
func (c *checker) mirrored(ctx context.Context, key string, uid int64, other func(int64) string, count func(int)) error {
	return c.sortedSet(ctx, key, func(ids, scores []string) error {
		count(len(ids))
		cmds := make(rueidis.Commands, len(ids))
		people := make([]int64, len(ids))
		for i, id := range ids {
			n, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				c.problem(key, "%q is not a user id", id)
			}
			people[i] = n
			if n == uid {
				c.problem(key, "user %d is paired with themselves", uid)
			}
			cmds[i] = c.s.client.B().Zscore().Key(other(n)).Member(itoa(uid)).Build()
		}
		for i, res := range c.s.client.DoMulti(ctx, cmds...) {
			score, err := text(res)
			if err != nil {
				return err
			}
			if !sameNumber(score, scores[i]) {
				c.problem(key, "user %s since %s, but %q in %s", ids[i], scores[i], score, other(people[i]))
			}
		}
		return c.exist(ctx, key, prefixUser, people)
	})
}

// exist checks that there is a hash for each id.
func (c *checker) exist(ctx context.Context, key, prefix string, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	cmds := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		cmds[i] = c.s.client.B().Exists().Key(prefix + itoa(id)).Build()
	}
	for i, res := range c.s.client.DoMulti(ctx, cmds...) {
		exists, err := res.AsBool()
		if err != nil {
			return err
		}
		if !exists {
			c.problem(key, "%s%d does not exist", prefix, ids[i])
		}
	}
	return nil
}

func (c *checker) sortedSet(ctx context.Context, key string, visit func(members, scores []string) error) error {
	return c.pages(ctx, func(cursor uint64) rueidis.Completed {
		return c.s.client.B().Zscan().Key(key).Cursor(cursor).Count(scanCount).Build()
	}, visit)
}

// sameNumber compares two scores, which commands write in different ways.
func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}
