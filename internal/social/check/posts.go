package check

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
	"retwis/maintain"
)

// postCheck checks posts, and the profiles that list them.
type postCheck struct{ *checker }

// all checks that each post has an author and is on their profile.
func (c *postCheck) all(ctx context.Context) error {
	return c.pass(ctx, layout.PostPrefix+"*", []string{layout.PostPrefix}, func(ctx context.Context, keys []string) error {
		cmds := make(rueidis.Commands, len(keys))
		for i, key := range keys {
			cmds[i] = c.client.B().Hmget().Key(key).Field("user_id", "body").Build()
		}
		all := make([][]string, len(keys))
		authors := make([]int64, len(keys))
		for i, res := range c.client.DoMulti(ctx, cmds...) {
			if reply.IsWrongType(res.Error()) {
				continue // reported with the types
			}
			fields, err := reply.Fields(res)
			if err != nil {
				return err
			}
			all[i] = fields
			authors[i], _ = layout.ParseID(fields[0])
		}
		users, err := c.usersExist(ctx, authors)
		if err != nil {
			return err
		}
		scores := make(rueidis.Commands, len(keys))
		for i := range keys {
			_, pid, _ := layout.ParseKey(keys[i])
			scores[i] = c.client.B().Zscore().Key(layout.ProfileKey(authors[i])).Member(layout.Itoa(pid)).Build()
		}
		for i, res := range c.client.DoMulti(ctx, scores...) {
			score, err := reply.TextOrEmpty(res)
			if err != nil {
				return err
			}
			if all[i] == nil {
				continue
			}
			if err := c.post(ctx, keys[i], all[i], authors[i], users[authors[i]], score); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *postCheck) post(ctx context.Context, key string, fields []string, author int64, exists bool, score string) error {
	_, pid, _ := layout.ParseKey(key)
	c.result.Posts++
	c.lastPost = max(c.lastPost, pid)
	switch {
	case !exists:
		p := Problem{Kind: maintain.Invalid, Key: key, Detail: "is not a post of any user"}
		if author > 0 {
			p.Kind, p.Detail = maintain.Dangling, fmt.Sprintf("is by user %d, who does not exist", author)
		}
		var repair fix
		if fields[0] != "" || fields[1] != "" {
			p.Repair = "rename it to " + setAsideKey(key, 1)
			repair = func(ctx context.Context) (bool, error) {
				if exists, err := c.userExists(ctx, author); err != nil || exists {
					return false, err
				}
				return c.setAside(ctx, key, "hash", "user_id", fields[0])
			}
		}
		return c.found(ctx, p, repair)
	case score == "":
		p := Problem{Kind: maintain.Missing, Key: key, Leftover: true, Detail: fmt.Sprintf("not on the profile of user %d", author), Repair: "put it there"}
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.client.Do(ctx, c.client.B().Zadd().Key(layout.ProfileKey(author)).ScoreMember().
				ScoreMember(float64(pid), layout.Itoa(pid)).Build()).AsBool()
		})
	}
	c.knownPosts.add(pid)
	return nil
}

// profile checks that the posts of a profile are by its owner.
func (c *postCheck) profile(ctx context.Context, key string, uid int64) error {
	return c.sortedSet(ctx, key, func(ids, scores []string) error {
		cmds := make(rueidis.Commands, len(ids))
		for i, id := range ids {
			cmds[i] = c.client.B().Hget().Key(layout.PostPrefix + id).Field("user_id").Build()
		}
		for i, res := range c.client.DoMulti(ctx, cmds...) {
			author, err := reply.TextOrEmpty(res)
			if err != nil {
				return err
			}
			if err := c.profileEntry(ctx, key, uid, ids[i], scores[i], author); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *postCheck) profileEntry(ctx context.Context, key string, uid int64, id, score, author string) error {
	_, isID := layout.ParseID(id)
	p := Problem{Kind: maintain.Invalid, Key: key, Repair: "remove it"}
	switch {
	case !isID:
		p.Detail = fmt.Sprintf("%.40q is not the id of a post", id)
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.client.Do(ctx, c.client.B().Zrem().Key(key).Member(id).Build()).AsBool()
		})
	case author == "":
		p.Kind, p.Detail = maintain.Dangling, fmt.Sprintf("post %s does not exist", id)
	case author != layout.Itoa(uid):
		p.Kind, p.Detail = maintain.Dangling, fmt.Sprintf("post %s is by user %q", id, author)
	case !sameNumber(score, id):
		p.Kind, p.Detail, p.Repair = maintain.Stale, fmt.Sprintf("post %s has the score %s", id, score), "set the score"
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.client.Do(ctx, c.client.B().Arbitrary("ZADD").Keys(key).Args("XX", "CH", id, id).Build()).AsBool()
		})
	default:
		return nil
	}
	// Like repairList, it checks before and after.
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		theirs, err := c.isBy(ctx, id, uid)
		if err != nil || theirs {
			return false, err
		}
		removed, err := c.client.Do(ctx, c.client.B().Zrem().Key(key).Member(id).Build()).AsBool()
		if err != nil || !removed {
			return false, err
		}
		if theirs, err = c.isBy(ctx, id, uid); err == nil && theirs {
			err = c.client.Do(ctx, c.client.B().Arbitrary("ZADD").Keys(key).Args(id, id).Build()).Error()
		}
		return true, err
	})
}

func (c *postCheck) isBy(ctx context.Context, post string, uid int64) (bool, error) {
	author, err := reply.TextOrEmpty(c.client.Do(ctx, c.client.B().Hget().Key(layout.PostPrefix+post).Field("user_id").Build()))
	return author == layout.Itoa(uid), err
}

// sameNumber compares two scores, which commands format differently.
func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}
