package check

import (
	"context"
	"fmt"
	"slices"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
	"retwis/internal/social/text"
	"retwis/maintain"
)

// refusal returns the reason why a post does not belong in a sorted set of posts, or an empty
// string if it does. A deleted reply stays in its conversation.
func refusal(key string, s state, body string) string {
	prefix, _, _ := storage.ParseKey(key)
	switch {
	case s.by == "":
		return "does not exist"
	case s.stub && prefix != storage.ThreadPrefix:
		return "is deleted"
	case !slices.Contains(s.places(text.Tags(body)).Entries(), key):
		return "does not belong here"
	}
	return ""
}

// belongs reads whether a post belongs in a sorted set, without the cache.
func (c *postCheck) belongs(ctx context.Context, key string, id int64) (bool, error) {
	s, err := c.check.state(ctx, id)
	if err != nil {
		return false, err
	}
	body, err := reply.TextOrEmpty(c.check.client.Do(ctx, c.check.client.B().Hget().Key(storage.PostKey(id)).Field("body").Build()))
	return refusal(key, s, body) == "", err
}

// postSet checks a sorted set of posts.
func (c *postCheck) postSet(ctx context.Context, key string) error {
	_, _, isTag := storage.ParseTagKey(key)
	return c.check.sortedSet(ctx, key, func(members, scores []string) error {
		ids := make([]int64, len(members))
		for i, member := range members {
			ids[i], _ = storage.ParseID(member) // 0 if not an ID
		}
		bodies := make([]string, len(members))
		if isTag {
			var err error
			if bodies, err = reads.Field(ctx, c.check.client, ids, storage.PostKey, "body"); err != nil {
				return err
			}
		}
		states, err := c.check.states(ctx, ids)
		if err != nil {
			return err
		}
		for i, member := range members {
			if err := c.member(ctx, key, member, scores[i], refusal(key, states[ids[i]], bodies[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *postCheck) member(ctx context.Context, key, member, score, reason string) error {
	id, isID := storage.ParseID(member)
	p := Problem{Kind: maintain.Dangling, Key: key, Repair: "remove it"}
	switch {
	case !isID:
		p.Kind, p.Detail = maintain.Invalid, fmt.Sprintf("%.40q is not a post id", member)
		return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return c.check.zrem(ctx, key, member) })
	case reason != "":
		p.Detail = fmt.Sprintf("post %d %s", id, reason)
		p.Leftover = reason == "is deleted" // an interrupted deletion, which users do not see
		return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return c.takeOff(ctx, key, id) })
	case !sameNumber(score, member):
		p.Kind, p.Detail, p.Repair = maintain.Stale, fmt.Sprintf("post %d has the score %s", id, score), "set the score"
		return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.check.client.Do(ctx, c.check.client.B().Arbitrary("ZADD").Keys(key).Args("XX", "CH", member, member).Build()).AsBool()
		})
	}
	return nil
}

// putOn adds a post to a list. It then checks again, and removes the post if the post no longer
// belongs there, because of a concurrent deletion or edit.
func (c *postCheck) putOn(ctx context.Context, key string, id int64) (bool, error) {
	ok, err := c.belongs(ctx, key, id)
	if err != nil || !ok {
		return false, err
	}
	added, err := c.check.zadd(ctx, key, storage.Itoa(id), storage.Itoa(id))
	if err != nil || !added {
		return false, err
	}
	if ok, err = c.belongs(ctx, key, id); err == nil && !ok {
		_, err = c.check.zrem(ctx, key, storage.Itoa(id))
	}
	return true, err
}

// takeOff removes a post from a list. It then checks again, and adds the post again if the post
// belongs there by now.
func (c *postCheck) takeOff(ctx context.Context, key string, id int64) (bool, error) {
	ok, err := c.belongs(ctx, key, id)
	if err != nil || ok {
		return false, err
	}
	removed, err := c.check.zrem(ctx, key, storage.Itoa(id))
	if err != nil || !removed {
		return false, err
	}
	if ok, err = c.belongs(ctx, key, id); err == nil && ok {
		_, err = c.check.zadd(ctx, key, storage.Itoa(id), storage.Itoa(id))
	}
	return true, err
}
