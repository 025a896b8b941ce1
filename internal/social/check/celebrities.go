package check

import (
	"context"
	"fmt"

	"retwis/internal/social/storage"
	"retwis/maintain"
)

// celebrities checks that the authors whose posts are merged into home timelines exist, and that
// each score is a valid post ID.
func (c *setCheck) celebrities(ctx context.Context) error {
	if c.check.foreign[storage.CelebritiesKey] {
		return nil
	}
	return c.check.sortedSet(ctx, storage.CelebritiesKey, func(members, scores []string) error {
		for i, member := range members {
			uid, _ := storage.ParseID(member)
			exists, err := c.check.userExists(ctx, uid)
			if err != nil {
				return err
			}
			p := Problem{Kind: maintain.Dangling, Key: storage.CelebritiesKey, Repair: "remove the entry"}
			repair := c.check.removal(storage.CelebritiesKey, member)
			_, err = storage.ParseScore(scores[i])
			switch {
			case !c.check.cluster:
				p.Kind, p.Detail = maintain.Stale, fmt.Sprintf("has user %.20s, but posts are merged only on a Cluster", member)
			case !exists:
				p.Detail = fmt.Sprintf("user %.20s does not exist", member)
			case err != nil:
				// Score 1 merges all posts. Posts that are also on the timelines are shown once.
				p.Kind, p.Detail, p.Repair = maintain.Invalid, fmt.Sprintf("user %s has the score %.20q, which is not a post id", member, scores[i]), "merge all posts"
				repair = func(ctx context.Context) (bool, error) { return c.check.zadd(ctx, storage.CelebritiesKey, "1", member) }
			default:
				continue
			}
			if err := c.check.found(ctx, p, repair); err != nil {
				return err
			}
		}
		return nil
	})
}

// active checks that the accounts in the ranking by activity exist. The ranking is rebuilt every
// few minutes, so an entry without an account is a leftover.
func (c *setCheck) active(ctx context.Context) error {
	if c.check.foreign[storage.Active] {
		return nil
	}
	return c.check.sortedSet(ctx, storage.Active, func(members, _ []string) error {
		for _, member := range members {
			uid, _ := storage.ParseID(member)
			exists, err := c.check.userExists(ctx, uid)
			if err != nil {
				return err
			}
			if exists {
				continue
			}
			p := Problem{
				Kind: maintain.Dangling, Key: storage.Active, Leftover: true, Repair: "remove the entry",
				Detail: fmt.Sprintf("user %.20s does not exist", member),
			}
			if err := c.check.found(ctx, p, c.check.removal(storage.Active, member)); err != nil {
				return err
			}
		}
		return nil
	})
}
