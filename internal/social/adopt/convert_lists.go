package adopt

import (
	"cmp"
	"context"
	_ "embed"
	"maps"
	"slices"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
)

var (
	//go:embed adopt_list.lua
	adoptListSource string
	adoptListScript = script.New(adoptListSource).Retryable()

	//go:embed adopt_follows.lua
	adoptFollowsSource string
	adoptFollowsScript = script.New(adoptFollowsSource).Retryable()
)

// convertLists converts the home timelines and follows among the keys.
func (c *conversion) convertLists(ctx context.Context, keys []string) error {
	return storage.AtOnce(len(keys), func(i int) error {
		name := keys[i]
		uid, field, ok := parse2009(name)
		if !ok || field != "posts" && field != "followers" && field != "following" {
			return nil
		}
		known, err := c.known(ctx, c.users, layout.UserPrefix, "username", []int64{uid})
		switch {
		case err != nil:
			return err
		case !known[uid]:
			c.skip(ctx, name, "there is no user %d", uid)
			return nil
		case field == "posts":
			return c.convertList(ctx, name, layout.HomeKey(uid))
		}
		return c.convertFollows(ctx, name, uid, field)
	})
}

// convertList converts a timeline: its first 1,000 posts that exist, newest
// first.
func (c *conversion) convertList(ctx context.Context, from, to string) error {
	b := c.d.client.B()
	written, err := c.d.client.Do(ctx, b.Exists().Key(to).Build()).AsBool()
	if err != nil || written {
		return err
	}
	posts := make(map[int64]bool, layout.TimelineCap)
	for start := int64(0); len(posts) < layout.TimelineCap; start += conversionPart {
		values, err := c.d.client.Do(ctx, b.Lrange().Key(from).Start(start).Stop(start+conversionPart-1).Build()).AsStrSlice()
		if rediserr.IsWrongType(err) {
			c.skip(ctx, from, "not a list")
			return nil
		}
		if err != nil {
			return err
		}
		if len(values) == 0 {
			break
		}
		ids := c.parseIDs(ctx, from, values)
		known, err := c.known(ctx, c.posts, layout.PostPrefix, "user_id", ids)
		if err != nil {
			return err
		}
		for _, pid := range ids {
			if !known[pid] {
				c.skip(ctx, from, "there is no post %d", pid)
			} else if len(posts) < layout.TimelineCap {
				posts[pid] = true
			}
		}
	}
	if len(posts) == 0 {
		return nil
	}
	ids := make([]string, 0, len(posts))
	for _, pid := range slices.SortedFunc(maps.Keys(posts), func(a, b int64) int { return cmp.Compare(b, a) }) {
		ids = append(ids, layout.Itoa(pid))
	}
	c.converted.lists.Add(1)
	return adoptListScript.Run(ctx, c.d.client, []string{to}, ids).Error()
}

// convertFollows converts one direction of the follows of a user. A follow with
// one direction only was interrupted, and is completed.
func (c *conversion) convertFollows(ctx context.Context, from string, uid int64, field string) error {
	for members, err := range scan.Set(ctx, c.d.client, from, conversionPart) {
		if rediserr.IsWrongType(err) {
			c.skip(ctx, from, "not a set")
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.convertFollowsPart(ctx, from, uid, field, members); err != nil {
			return err
		}
	}
	return nil
}

func (c *conversion) convertFollowsPart(ctx context.Context, from string, uid int64, field string, members []string) error {
	ids := c.parseIDs(ctx, from, members)
	known, err := c.known(ctx, c.users, layout.UserPrefix, "username", ids)
	if err != nil {
		return err
	}
	own, their, mirror := layout.FollowersKey, layout.FollowingKey, "following"
	if field == "following" {
		own, their, mirror = layout.FollowingKey, layout.FollowersKey, "followers"
	}
	var people []string
	var asks rueidis.Commands
	for _, id := range ids {
		switch {
		case id == uid:
			c.skip(ctx, from, "user %d is paired with themselves", uid)
		case !known[id]:
			c.skip(ctx, from, "there is no user %d", id)
		default:
			people = append(people, layout.Itoa(id))
			asks = append(asks, c.d.client.B().Sismember().Key(key2009(id, mirror)).Member(layout.Itoa(uid)).Build())
		}
	}
	if len(people) == 0 {
		return nil
	}
	writes := []follows2009{{own(uid), people}}
	for i, res := range c.d.client.DoMulti(ctx, asks...) {
		both, err := res.AsBool()
		if err != nil && !rediserr.IsWrongType(err) {
			return err
		}
		if !both {
			id, _ := layout.ParseID(people[i])
			c.warn(ctx, "a follow with one direction only is completed", "key", from, "other", id)
			writes = append(writes, follows2009{their(id), []string{layout.Itoa(uid)}})
		}
	}
	if field == "following" {
		c.converted.follows.Add(int64(len(people)))
	}
	return c.addFollows(ctx, writes)
}

// follows2009 are user ids to be added to a set of follows.
type follows2009 struct {
	key    string
	people []string
}

// addFollows writes follows, unless another process has finished the conversion.
// On a Cluster it checks that in a step before the write: a process that is paused
// between the two, while another finishes and serves, can restore follows that were
// ended meanwhile.
func (c *conversion) addFollows(ctx context.Context, writes []follows2009) error {
	guard := []string{layout.LayoutVersion}
	if c.d.cluster {
		guard = nil
		version, err := reply.Text(c.d.client.Do(ctx, c.d.client.B().Get().Key(layout.LayoutVersion).Build()))
		if err != nil {
			return err
		}
		if version == layout.Version {
			return errOver
		}
	}
	for _, w := range writes {
		keys, args := append([]string{w.key}, guard...), append([]string{layout.Version}, w.people...)
		written, err := adoptFollowsScript.Run(ctx, c.d.client, keys, args).AsBool()
		if err != nil {
			return err
		}
		if !written {
			return errOver
		}
	}
	return nil
}
