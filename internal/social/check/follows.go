package check

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
)

// follows checks one direction of the follows of a user: that each stands in
// the other direction too, with the same time, and that both users exist.
func (c *checker) follows(ctx context.Context, prefix string, uid int64, ownerExists bool) error {
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
			people[i], _ = layout.ParseID(id) // 0 is nobody
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

func (c *checker) follow(ctx context.Context, f entry, ownerExists, exists bool, other, back string) error {
	p := Problem{Key: f.key, Repair: "end it"}
	_, isID := layout.ParseID(f.id)
	switch {
	case !isID:
		p.Detail = fmt.Sprintf("%.40q is not a user id", f.id)
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.client.Do(ctx, c.client.B().Zrem().Key(f.key).Member(f.id).Build()).AsBool()
		})
	case f.from == f.to:
		p.Detail = fmt.Sprintf("user %d is paired with themselves", f.from)
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
		p.Detail = fmt.Sprintf("user %s since %s, but %q in %s", f.id, f.score, back, other)
		p.Repair = fmt.Sprintf("write what %s says to %s", layout.FollowingKey(f.from), layout.FollowersKey(f.to))
		return c.found(ctx, p, func(ctx context.Context) (bool, error) { return c.store.Mirror(ctx, f.from, f.to) })
	}
	return nil
}

// endFollow ends a follow in both directions.
func (c *checker) endFollow(ctx context.Context, f entry) (bool, error) {
	b := c.client.B()
	ended := false
	for _, res := range c.client.DoMulti(ctx,
		b.Zrem().Key(layout.FollowingKey(f.from)).Member(layout.Itoa(f.to)).Build(),
		b.Zrem().Key(layout.FollowersKey(f.to)).Member(layout.Itoa(f.from)).Build(),
	) {
		gone, err := res.AsBool()
		if err != nil && !reply.IsWrongType(err) {
			return false, err
		}
		ended = ended || err == nil && gone
	}
	return ended, nil
}

// samplePosts is how many of the latest posts of each author are looked for on
// the timelines of followers.
const samplePosts = 3

// samples looks for the latest posts of each author on their own timeline, on
// everybody's, and on those of some of their followers. One that is in
// `fanouts` is on its way; `fanouts` is read after the profile.
func (c *checker) samples(ctx context.Context) error {
	if c.opt.Followers < 0 {
		return nil
	}
	return c.pass(ctx, layout.ProfilePrefix+"*", []string{layout.ProfilePrefix}, func(ctx context.Context, keys []string) error {
		for _, key := range keys {
			_, uid, _ := layout.ParseKey(key)
			if err := c.sample(ctx, uid); err != nil {
				return fmt.Errorf("key %s: %w", key, err)
			}
		}
		return nil
	})
}

func (c *checker) sample(ctx context.Context, author int64) error {
	b := c.client.B()
	res := c.client.DoMulti(ctx,
		b.Zrevrange().Key(layout.ProfileKey(author)).Start(0).Stop(samplePosts-1).Build(),
		b.Arbitrary("ZRANDMEMBER").Keys(layout.FollowersKey(author)).Args(strconv.Itoa(c.opt.Followers), "WITHSCORES").Build(),
	)
	posts, err := res[0].AsStrSlice()
	if err != nil && !reply.IsWrongType(err) {
		return err
	}
	followers, err := res[1].AsZScores()
	if err != nil && !reply.IsWrongType(err) {
		return err
	}
	var cmds rueidis.Commands
	for _, post := range posts {
		cmds = append(cmds,
			b.Hmget().Key(layout.PostPrefix+post).Field("user_id", "time").Build(),
			b.Zscore().Key(layout.FanOuts).Member(post).Build())
	}
	if len(cmds) == 0 {
		return nil
	}
	res = c.client.DoMulti(ctx, cmds...)
	for i, post := range posts {
		fields, err := reply.Fields(res[2*i])
		if err != nil {
			return err
		}
		unfinished, err := reply.TextOrEmpty(res[2*i+1])
		if err != nil {
			return err
		}
		at := layout.ParseTime(fields[1])
		// What an older program left out is not known to have been lost.
		if id, ok := layout.ParseID(post); !ok || id <= c.adopted || fields[0] != layout.Itoa(author) || unfinished != "" || at.IsZero() {
			continue
		}
		lists := []string{layout.HomeKey(author), layout.Timeline}
		for _, f := range followers {
			// Without a time of the follow it is not known what came later.
			if _, ok := layout.ParseID(f.Member); ok && f.Score > 0 && f.Score < float64(at.Unix()) {
				lists = append(lists, layout.HomePrefix+f.Member)
			}
		}
		if err := c.lookFor(ctx, post, lists); err != nil {
			return err
		}
	}
	return nil
}

// lookFor reports the lists that should have a post and do not. One repair, to
// fan the post out again, serves them all.
func (c *checker) lookFor(ctx context.Context, post string, lists []string) error {
	var cmds rueidis.Commands
	for _, list := range lists {
		cmds = append(cmds,
			c.client.B().Lpos().Key(list).Element(post).Build(),
			c.client.B().Llen().Key(list).Build(),
			c.client.B().Lindex().Key(list).Index(-1).Build())
	}
	id, _ := layout.ParseID(post)
	var problems []Problem
	res := c.client.DoMulti(ctx, cmds...)
	for i, list := range lists {
		err := res[3*i].Error()
		if err == nil || reply.IsWrongType(err) {
			continue // it is there, or ofTheirType reports the key
		}
		if !rueidis.IsRedisNil(err) {
			return err
		}
		length, err := res[3*i+1].AsInt64()
		if err != nil {
			return err
		}
		last, err := reply.TextOrEmpty(res[3*i+2])
		if err != nil {
			return err
		}
		if oldest, _ := layout.ParseID(last); length >= layout.TimelineCap && oldest > id {
			continue // let go already
		}
		problems = append(problems, Problem{Key: list, Detail: "lacks post " + post, Repair: "fan the post out again"})
	}
	if len(problems) == 0 {
		return nil
	}
	return c.foundAll(ctx, problems, func(ctx context.Context) (bool, error) {
		return true, c.fanOut.Repeat(ctx, id)
	})
}
