package check

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
	"retwis/maintain"
)

// ranges checks the ranges of ids that imports of a user have got: each is among those of all.
func (c *postCheck) ranges(ctx context.Context, key string) error {
	return c.check.sortedSet(ctx, key, func(members, _ []string) error {
		for _, member := range members {
			if err := c.idRange(ctx, key, member); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *postCheck) idRange(ctx context.Context, key, member string) error {
	first, _, ok := layout.ParseRange(member)
	if !ok {
		p := Problem{Kind: maintain.Invalid, Key: key, Detail: fmt.Sprintf("%.40q is no range of ids", member), Repair: "remove it"}
		return c.check.found(ctx, p, c.check.removes(key, member))
	}
	if c.check.foreign[layout.ImportedPosts] {
		return nil
	}
	err := c.check.client.Do(ctx, c.check.client.B().Zscore().Key(layout.ImportedPosts).Member(member).Build()).Error()
	if !rueidis.IsRedisNil(err) {
		return err
	}
	p := Problem{Kind: maintain.Missing, Key: layout.ImportedPosts, Detail: fmt.Sprintf("lacks %s of %s", member, key), Repair: "add it"}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
		return c.check.zadd(ctx, layout.ImportedPosts, layout.Itoa(first), member)
	})
}
