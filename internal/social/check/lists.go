package check

import (
	"context"
	"fmt"
	"strconv"

	"retwis/internal/social/storage"
	"retwis/maintain"
)

// listCheck checks timelines.
type listCheck struct{ check *checker }

// public checks the public timeline.
func (c *listCheck) public(ctx context.Context) error {
	if c.check.foreign[storage.Timeline] {
		return nil
	}
	return c.timelines(ctx, []string{storage.Timeline})
}

// homes checks the home timelines of users who exist.
func (c *listCheck) homes(ctx context.Context, keys []string) error {
	var known []string
	check := c.check.ofUsers(func(_ context.Context, key string) error {
		known = append(known, key)
		return nil
	})
	if err := check(ctx, keys); err != nil {
		return err
	}
	c.check.result.Timelines += int64(len(keys) - len(known)) // timelines counts the known ones
	return c.timelines(ctx, known)
}

// timelines checks that timelines are sorted, within their limits and without duplicates, and that
// their posts exist.
func (c *listCheck) timelines(ctx context.Context, keys []string) error {
	b, cmd := c.check.batch(), c.check.client.B()
	lengths, lists := make([]*int64, len(keys)), make([]*[]string, len(keys))
	for i, key := range keys {
		lengths[i] = b.Number(cmd.Llen().Key(key).Build())
		lists[i] = b.Texts(cmd.Lrange().Key(key).Start(0).Stop(int64(c.check.lists.MaxLen())).Build())
	}
	if err := b.Run(ctx); err != nil {
		return err
	}
	var all []int64
	for _, list := range lists {
		for _, text := range *list {
			if id, ok := storage.ParseID(text); ok {
				all = append(all, id)
			}
		}
	}
	states, err := c.check.states(ctx, all)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if err := c.timeline(ctx, key, *lengths[i], *lists[i], states); err != nil {
			return err
		}
	}
	return nil
}

func (c *listCheck) timeline(ctx context.Context, key string, length int64, ids []string, states map[int64]state) error {
	c.check.result.Timelines++
	var problems []Problem
	var lost []string
	add := func(kind maintain.Kind, repair, format string, args ...any) {
		problems = append(problems, Problem{Kind: kind, Key: key, Repair: repair, Detail: fmt.Sprintf(format, args...)})
	}
	if length > int64(c.check.lists.MaxLen()) {
		add(maintain.Stale, "truncate it", "%d posts, more than %d", length, c.check.lists.MaxLen())
	}
	last, first := int64(0), true
	for i, text := range ids {
		id, ok := storage.ParseID(text)
		switch {
		case !ok && i == len(ids)-1 && c.isEnd(key, text):
			continue
		case !ok:
			add(maintain.Invalid, "remove it", "%.40q is not a post id", text)
			lost = append(lost, text)
			continue
		case !first && id == last:
			add(maintain.Stale, "remove the duplicate", "post %d is listed twice", id)
		case !first && id > last:
			add(maintain.Stale, "sort it", "post %d comes after post %d", id, last)
		}
		if reason, harmless := offList(key, states[id]); reason != "" {
			add(maintain.Dangling, "remove it", "post:%d %s", id, reason)
			problems[len(problems)-1].Leftover = harmless
			lost = append(lost, text)
		}
		last, first = id, false
	}
	if len(problems) == 0 {
		return nil
	}
	return c.check.foundAll(ctx, problems, func(ctx context.Context) (bool, error) { return c.repairList(ctx, key, lost) })
}

// isEnd reports whether an entry marks the end of a home timeline on a Cluster: 0, or a negative
// number while the timeline is being built.
func (c *listCheck) isEnd(key, text string) bool {
	if !c.check.cluster || key == storage.Timeline {
		return false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n <= 0 && storage.Itoa(n) == text
}

// offList returns the reason why a post does not belong on a timeline, or an empty string if it
// does. Every post is accepted on home timelines, whose readers skip deleted and missing posts.
// harmless is true for a deleted post, which is being removed from all lists.
func offList(key string, s state) (reason string, harmless bool) {
	switch {
	case key != storage.Timeline:
		return "", false
	case s.stub:
		return "is deleted", true
	case !s.readable:
		return "does not exist", false
	case key == storage.Timeline && s.parent != 0:
		return "is a reply", false
	case key == storage.Timeline && s.repostOf != 0:
		return "is a repost", false
	}
	return "", false
}

// repairList sorts a timeline and removes the posts in lost that still do not belong there. A post
// is written before it is added to a list, so a missing post was lost. repairList then checks
// again: if a counter that was reset assigned the ID to a new post meanwhile, it adds the post
// again.
func (c *listCheck) repairList(ctx context.Context, key string, lost []string) (bool, error) {
	var invalid []string
	var removed []int64
	for _, text := range lost {
		id, ok := storage.ParseID(text)
		if !ok {
			invalid = append(invalid, text)
			continue
		}
		belongs, err := c.onList(ctx, key, id)
		if err != nil {
			return false, err
		}
		if !belongs {
			invalid = append(invalid, storage.Itoa(id))
			removed = append(removed, id)
		}
	}
	changed, err := c.check.lists.Repair(ctx, key, invalid...)
	if err != nil {
		return changed, err
	}
	for _, id := range removed {
		belongs, err := c.onList(ctx, key, id)
		if err == nil && belongs {
			err = c.putBack(ctx, id, key)
		}
		if err != nil {
			return false, err
		}
	}
	return changed, nil
}

// putBack adds a post to a timeline again. On a Cluster it does not recreate a home timeline that
// has expired meanwhile.
func (c *listCheck) putBack(ctx context.Context, id int64, key string) error {
	lists := c.check.lists
	if c.check.cluster && key != storage.Timeline {
		lists = lists.Existing()
	}
	return lists.Put(ctx, id, key)
}

// onList reads whether a post belongs on a timeline, without the cache.
func (c *listCheck) onList(ctx context.Context, key string, id int64) (bool, error) {
	s, err := c.check.state(ctx, id)
	reason, _ := offList(key, s)
	return reason == "", err
}
