package check

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
	"retwis/maintain"
)

// listCheck checks the keys that list users and posts.
type listCheck struct {
	*checker
	posts   *postCheck
	follows *followCheck
}

// listsAtOnce is how many timelines are read at a time.
const listsAtOnce = 20

// public checks the public timeline.
func (c *listCheck) public(ctx context.Context) error {
	if c.foreign[layout.Timeline] {
		return nil
	}
	return c.timelines(ctx, []string{layout.Timeline})
}

// all checks follows first, because they bring posts to timelines, then timelines
// and profiles.
func (c *listCheck) all(ctx context.Context) error {
	if err := c.listsOf(ctx, "follow*:*", layout.FollowingPrefix, layout.FollowersPrefix); err != nil {
		return err
	}
	return c.listsOf(ctx, "p[or]*:*", layout.HomePrefix, layout.ProfilePrefix)
}

func (c *listCheck) listsOf(ctx context.Context, match string, prefixes ...string) error {
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
				err = c.posts.profile(ctx, key, uid)
			case prefix == layout.FollowingPrefix, prefix == layout.FollowersPrefix:
				err = c.follows.all(ctx, prefix, uid, users[owners[i]])
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

// lostHome reports a home timeline without a user.
func (c *listCheck) lostHome(ctx context.Context, key string, uid int64) error {
	c.result.Timelines++
	p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("user %d does not exist", uid), Repair: "remove it"}
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		if exists, err := c.userExists(ctx, uid); err != nil || exists {
			return false, err
		}
		return c.client.Do(ctx, c.client.B().Unlink().Key(key).Build()).AsBool()
	})
}

// timelines checks that timelines are in order, within their bounds and without
// duplicates, and that their posts exist.
func (c *listCheck) timelines(ctx context.Context, keys []string) error {
	var cmds rueidis.Commands
	for _, key := range keys {
		cmds = append(cmds,
			c.client.B().Llen().Key(key).Build(),
			c.client.B().Lrange().Key(key).Start(0).Stop(int64(c.checker.lists.MaxLen())).Build(),
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

func (c *listCheck) timeline(ctx context.Context, key string, length int64, ids []string, exist map[int64]bool) error {
	c.result.Timelines++
	var problems []Problem
	var lost []string
	add := func(kind maintain.Kind, repair, format string, args ...any) {
		problems = append(problems, Problem{Kind: kind, Key: key, Repair: repair, Detail: fmt.Sprintf(format, args...)})
	}
	if length > int64(c.checker.lists.MaxLen()) {
		add(maintain.Stale, "cut it off", "%d posts, more than %d", length, c.checker.lists.MaxLen())
	}
	last, first := int64(0), true
	for _, text := range ids {
		id, ok := layout.ParseID(text)
		switch {
		case !ok:
			add(maintain.Invalid, "remove it", "%.40q is not the id of a post", text)
			lost = append(lost, text)
			continue
		case !first && id == last:
			add(maintain.Stale, "remove one", "post %d is listed twice", id)
		case !first && id > last:
			add(maintain.Stale, "sort it", "post %d comes after post %d", id, last)
		}
		if !exist[id] {
			add(maintain.Dangling, "remove it", "post:%d does not exist", id)
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
// before it is put on a list, so a missing one was lost. repairList checks again
// at the end: should the id have been assigned a second time at this moment, by a
// counter that had fallen back, the post is added again.
func (c *listCheck) repairList(ctx context.Context, key string, lost []string) (bool, error) {
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
	changed, err := c.checker.lists.Repair(ctx, key, still...)
	if err != nil || len(ids) == 0 {
		return changed, err
	}
	again, err := c.postsExist(ctx, ids)
	if err != nil {
		return false, err
	}
	for id, ok := range again {
		if ok && !exist[id] {
			if err := c.checker.lists.Put(ctx, id, key); err != nil {
				return false, err
			}
		}
	}
	return changed, nil
}
