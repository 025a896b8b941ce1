package check

import (
	"context"
	"fmt"

	"retwis/internal/social/layout"
	"retwis/maintain"
)

// celebrities checks that the authors whose posts are merged with home timelines exist,
// each with an id that a post can have.
func (c *checker) celebrities(ctx context.Context) error {
	if c.foreign[layout.Celebrities] {
		return nil
	}
	return c.sortedSet(ctx, layout.Celebrities, func(members, scores []string) error {
		for i, member := range members {
			p := Problem{Kind: maintain.Dangling, Key: layout.Celebrities, Repair: "remove the entry"}
			uid, ok := layout.ParseID(member)
			exists := false
			if ok {
				var err error
				if exists, err = c.userExists(ctx, uid); err != nil {
					return err
				}
			}
			fix := func(ctx context.Context) (bool, error) { return c.zrem(ctx, layout.Celebrities, member) }
			_, err := layout.ParseScore(scores[i])
			switch {
			case !c.cluster:
				p.Kind, p.Detail = maintain.Stale, fmt.Sprintf("has user %.20s, and only a Cluster merges posts", member)
			case !exists:
				p.Detail = fmt.Sprintf("user %.20s does not exist", member)
			case err != nil:
				// All posts are merged then: those that are on the timelines too are
				// shown once.
				p.Kind, p.Detail, p.Repair = maintain.Invalid, fmt.Sprintf("user %s has %.20q, not the id of a post", member, scores[i]), "merge all posts"
				fix = func(ctx context.Context) (bool, error) { return c.zadd(ctx, layout.Celebrities, "1", member) }
			default:
				continue
			}
			if err := c.found(ctx, p, fix); err != nil {
				return err
			}
		}
		return nil
	})
}
