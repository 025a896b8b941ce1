package check

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
)

// listsAtOnce is how many timelines are read at a time.
const listsAtOnce = 20

// postsExist returns which of these posts can be read: those of users who
// exist.
func (c *checker) postsExist(ctx context.Context, ids []int64) (map[int64]bool, error) {
	exist := make(map[int64]bool, len(ids))
	var ask []int64
	var cmds rueidis.Commands
	for _, id := range ids {
		if _, twice := exist[id]; twice {
			continue
		}
		exist[id] = c.knownPosts.has(id)
		if !exist[id] {
			ask = append(ask, id)
			cmds = append(cmds, c.client.B().Hget().Key(layout.PostKey(id)).Field("user_id").Build())
		}
	}
	if len(cmds) == 0 {
		return exist, nil
	}
	authors := make([]int64, len(ask))
	for i, res := range c.client.DoMulti(ctx, cmds...) {
		text, err := reply.TextOrEmpty(res)
		if err != nil {
			return nil, err
		}
		authors[i], _ = layout.ParseID(text) // 0 is nobody
	}
	users, err := c.usersExist(ctx, authors)
	if err != nil {
		return nil, err
	}
	for i, id := range ask {
		if exist[id] = users[authors[i]]; exist[id] {
			c.knownPosts.add(id)
		}
	}
	return exist, nil
}

// posts checks that each post is by somebody and stands on their profile.
func (c *checker) posts(ctx context.Context) error {
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

func (c *checker) post(ctx context.Context, key string, fields []string, author int64, exists bool, score string) error {
	_, pid, _ := layout.ParseKey(key)
	c.result.Posts++
	c.lastPost = max(c.lastPost, pid)
	switch {
	case !exists:
		p := Problem{Key: key, Detail: "is not a post that anybody wrote"}
		if author > 0 {
			p.Detail = fmt.Sprintf("is by user %d, who does not exist", author)
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
		p := Problem{Key: key, Leftover: true, Detail: fmt.Sprintf("not on the profile of user %d", author), Repair: "put it there"}
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.client.Do(ctx, c.client.B().Zadd().Key(layout.ProfileKey(author)).ScoreMember().
				ScoreMember(float64(pid), layout.Itoa(pid)).Build()).AsBool()
		})
	}
	c.knownPosts.add(pid)
	return nil
}

// everybody checks the timeline that everybody shares.
func (c *checker) everybody(ctx context.Context) error {
	if c.foreign[layout.Timeline] {
		return nil
	}
	return c.timelines(ctx, []string{layout.Timeline})
}

// lists checks what names users and posts: follows first, as they bring posts to
// timelines, then timelines and profiles.
func (c *checker) lists(ctx context.Context) error {
	if err := c.listsOf(ctx, "follow*:*", layout.FollowingPrefix, layout.FollowersPrefix); err != nil {
		return err
	}
	return c.listsOf(ctx, "p[or]*:*", layout.HomePrefix, layout.ProfilePrefix)
}

func (c *checker) listsOf(ctx context.Context, match string, prefixes ...string) error {
	return c.pass(ctx, match, prefixes, func(ctx context.Context, keys []string) error {
		var homes []string
		var owners []int64
		for _, key := range keys {
			_, uid, _ := layout.ParseKey(key)
			owners = append(owners, uid)
		}
		users, err := c.usersExist(ctx, owners)
		if err != nil {
			return err
		}
		for i, key := range keys {
			prefix, uid, _ := layout.ParseKey(key)
			var err error
			switch {
			case prefix == layout.HomePrefix && !users[owners[i]]:
				err = c.lostHome(ctx, key, uid)
			case prefix == layout.HomePrefix:
				homes = append(homes, key)
			case prefix == layout.ProfilePrefix:
				err = c.profile(ctx, key, uid)
			case prefix == layout.FollowingPrefix, prefix == layout.FollowersPrefix:
				err = c.follows(ctx, prefix, uid, users[owners[i]])
			}
			if err != nil {
				return fmt.Errorf("key %s: %w", key, err)
			}
		}
		for some := range slices.Chunk(homes, listsAtOnce) {
			if err := c.timelines(ctx, some); err != nil {
				return err
			}
		}
		return nil
	})
}

// lostHome reports the home timeline of nobody.
func (c *checker) lostHome(ctx context.Context, key string, uid int64) error {
	c.result.Timelines++
	p := Problem{Key: key, Detail: fmt.Sprintf("user %d does not exist", uid), Repair: "remove it"}
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		if exists, err := c.userExists(ctx, uid); err != nil || exists {
			return false, err
		}
		return c.client.Do(ctx, c.client.B().Unlink().Key(key).Build()).AsBool()
	})
}

// timelines checks that timelines are in order, within their bounds, without a
// post twice, and that their posts exist.
func (c *checker) timelines(ctx context.Context, keys []string) error {
	var cmds rueidis.Commands
	for _, key := range keys {
		cmds = append(cmds,
			c.client.B().Llen().Key(key).Build(),
			c.client.B().Lrange().Key(key).Start(0).Stop(int64(c.timelineLists.MaxLen())).Build(),
		)
	}
	res := c.client.DoMulti(ctx, cmds...)
	lists := make([][]string, len(keys))
	var all []int64
	for i := range keys {
		ids, err := res[2*i+1].AsStrSlice()
		if err != nil && !reply.IsWrongType(err) {
			return err
		}
		lists[i] = ids
		for _, text := range ids {
			if id, ok := layout.ParseID(text); ok {
				all = append(all, id)
			}
		}
	}
	exist, err := c.postsExist(ctx, all)
	if err != nil {
		return err
	}
	for i, key := range keys {
		length, err := res[2*i].AsInt64()
		if err != nil && !reply.IsWrongType(err) {
			return err
		}
		if err := c.timeline(ctx, key, length, lists[i], exist); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) timeline(ctx context.Context, key string, length int64, ids []string, exist map[int64]bool) error {
	c.result.Timelines++
	var problems []Problem
	var lost []string
	add := func(repair, format string, args ...any) {
		problems = append(problems, Problem{Key: key, Repair: repair, Detail: fmt.Sprintf(format, args...)})
	}
	if length > int64(c.timelineLists.MaxLen()) {
		add("cut it off", "%d posts, more than %d", length, c.timelineLists.MaxLen())
	}
	last, first := int64(0), true
	for _, text := range ids {
		id, ok := layout.ParseID(text)
		switch {
		case !ok:
			add("remove it", "%.40q is not the id of a post", text)
			lost = append(lost, text)
			continue
		case !first && id == last:
			add("remove one", "post %d stands there twice", id)
		case !first && id > last:
			add("sort it", "post %d stands behind post %d", id, last)
		}
		if !exist[id] {
			add("remove it", "post:%d does not exist", id)
			lost = append(lost, text)
		}
		last, first = id, false
	}
	if len(problems) == 0 {
		return nil
	}
	return c.foundAll(ctx, problems, func(ctx context.Context) (bool, error) { return c.repairList(ctx, key, lost) })
}

// repairList puts a timeline in order, without these posts. A post is written
// before any list names it, so that what is named and not there was lost. It
// looks again in the end: should the id have been given out a second time in
// this moment, by a counter that had fallen back, the post comes back.
func (c *checker) repairList(ctx context.Context, key string, lost []string) (bool, error) {
	var still []string
	var ids []int64
	for _, text := range lost {
		id, ok := layout.ParseID(text)
		if !ok {
			still = append(still, text)
		} else {
			ids = append(ids, id)
		}
	}
	exist, err := c.postsExist(ctx, ids)
	if err != nil {
		return false, err
	}
	for id, ok := range exist {
		if !ok {
			still = append(still, layout.Itoa(id))
		}
	}
	changed, err := c.timelineLists.Repair(ctx, key, still...)
	if err != nil || len(ids) == 0 {
		return changed, err
	}
	again, err := c.postsExist(ctx, ids)
	if err != nil {
		return false, err
	}
	for id, ok := range again {
		if ok && !exist[id] {
			if err := c.timelineLists.Put(ctx, id, key); err != nil {
				return false, err
			}
		}
	}
	return changed, nil
}

// profile checks that the posts of a profile are its owner's.
func (c *checker) profile(ctx context.Context, key string, uid int64) error {
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

func (c *checker) profileEntry(ctx context.Context, key string, uid int64, id, score, author string) error {
	_, isID := layout.ParseID(id)
	p := Problem{Key: key, Repair: "remove it"}
	switch {
	case !isID:
		p.Detail = fmt.Sprintf("%.40q is not the id of a post", id)
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.client.Do(ctx, c.client.B().Zrem().Key(key).Member(id).Build()).AsBool()
		})
	case author == "":
		p.Detail = fmt.Sprintf("post %s does not exist", id)
	case author != layout.Itoa(uid):
		p.Detail = fmt.Sprintf("post %s is by user %q", id, author)
	case !sameNumber(score, id):
		p.Detail, p.Repair = fmt.Sprintf("post %s has the score %s", id, score), "set the score"
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.client.Do(ctx, c.client.B().Arbitrary("ZADD").Keys(key).Args("XX", "CH", id, id).Build()).AsBool()
		})
	default:
		return nil
	}
	// As repairList: looks before and after.
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

func (c *checker) isBy(ctx context.Context, post string, uid int64) (bool, error) {
	author, err := reply.TextOrEmpty(c.client.Do(ctx, c.client.B().Hget().Key(layout.PostPrefix+post).Field("user_id").Build()))
	return author == layout.Itoa(uid), err
}

// sameNumber compares two scores, which commands write in different ways.
func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}
