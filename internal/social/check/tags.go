package check

import (
	"context"
	"fmt"

	"retwis/internal/social/layout"
	"retwis/maintain"
)

// tags checks the tags that a user follows.
func (c *relationCheck) tags(ctx context.Context, key string, uid int64) error {
	return c.sortedSet(ctx, key, func(tags, scores []string) error {
		mirrored := make([]*string, len(tags))
		b := c.batch()
		for i, tag := range tags {
			mirrored[i] = b.score(layout.TagFollowersKey(tag), layout.Itoa(uid))
		}
		if err := b.run(ctx); err != nil {
			return err
		}
		for i, tag := range tags {
			if err := c.mirrors.compare(ctx, tagFollow(uid, tag), scores[i], *mirrored[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// tagCheck checks the keys that end in a tag.
type tagCheck struct {
	*checker
	mirrors *mirrorCheck
	posts   *postCheck
}

var tagPrefixes = []string{layout.TagPrefix, layout.TagFollowersPrefix}

func (c *tagCheck) all(ctx context.Context) error {
	return c.pass(ctx, "tag*:*", tagPrefixes, func(ctx context.Context, keys []string) error {
		for _, key := range keys {
			if err := c.key(ctx, key); err != nil {
				return fmt.Errorf("key %s: %w", key, err)
			}
		}
		return nil
	})
}

func (c *tagCheck) key(ctx context.Context, key string) error {
	if prefix, tag, _ := layout.ParseTagKey(key); prefix == layout.TagFollowersPrefix {
		return c.followers(ctx, key, tag)
	}
	return c.posts.postSet(ctx, key)
}

// followers checks those who follow a tag against their own lists.
func (c *tagCheck) followers(ctx context.Context, key, tag string) error {
	return c.sortedSet(ctx, key, func(people, scores []string) error {
		authoritative := make([]*string, len(people))
		b := c.batch()
		for i, uid := range people {
			authoritative[i] = b.score(layout.FollowingTagsPrefix+uid, tag)
		}
		if err := b.run(ctx); err != nil {
			return err
		}
		for i, member := range people {
			uid, ok := layout.ParseID(member)
			if !ok {
				p := Problem{Kind: maintain.Invalid, Key: key, Detail: fmt.Sprintf("%.40q is not a user id", member), Repair: "remove it"}
				if err := c.found(ctx, p, func(ctx context.Context) (bool, error) { return c.zrem(ctx, key, member) }); err != nil {
					return err
				}
				continue
			}
			if err := c.mirrors.compare(ctx, tagFollow(uid, tag), *authoritative[i], scores[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
