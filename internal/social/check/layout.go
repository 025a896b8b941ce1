package check

import (
	"context"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
	"retwis/maintain"
)

// isMoved reports whether the names of a Cluster are in buckets, and `users` shows that
// to processes of an earlier version.
func (c *keyCheck) isMoved(ctx context.Context) (bool, error) {
	if c.check.client.Mode() != rueidis.ClientModeCluster {
		return false, nil
	}
	text, err := reply.TextOrEmpty(c.check.client.Do(ctx, c.check.client.B().Get().Key(layout.Users).Build()))
	return text == layout.UsersMoved, err
}

// layoutOf finds out which layout the database has, and reports what an interrupted
// change of it has left.
func (c *userCheck) layoutOf(ctx context.Context) error {
	state, err := c.check.names.State(ctx)
	if err != nil {
		return err
	}
	if state.Left {
		p := Problem{
			Kind: maintain.Stale, Key: layout.MovedUsers, Leftover: true, Repair: "finish it",
			Detail: "a change of the layout was interrupted",
		}
		err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return true, c.check.names.Move(ctx, nil) })
		if err != nil {
			return err
		}
	}
	c.check.spread, err = c.check.names.Spread(ctx)
	if err != nil || !c.check.spread {
		return err
	}
	latest, err := c.check.client.Do(ctx, c.check.client.B().Zrange().Key(layout.UsersByTime).Min("0").Max("0").Withscores().Build()).AsZScores()
	if err == nil && len(latest) > 0 {
		c.check.sinceLatest = layout.ParseTime(layout.Itoa(int64(latest[0].Score)))
	}
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	return c.buckets(ctx)
}

// bucketsAtOnce is how many buckets are looked at in one step.
const bucketsAtOnce = 512

// buckets checks the types of the buckets of names, before the names.
func (c *userCheck) buckets(ctx context.Context) error {
	for from := 0; from < layout.Buckets; from += bucketsAtOnce {
		keys := make([]string, bucketsAtOnce)
		for i := range keys {
			keys[i] = layout.BucketKey(from + i)
		}
		if _, err := c.check.ofTheirType(ctx, keys); err != nil {
			return err
		}
	}
	return nil
}

// allNames calls visit with each page of the names of all users, and their keys.
func (c *userCheck) allNames(ctx context.Context, visit func(key string, names, ids []string) error) error {
	for page, err := range c.check.names.All(ctx, scanCount) {
		one := func(yield func([]string, error) bool) { yield(page.Names, err) }
		if err := c.check.pairs(ctx, one, func(names, ids []string) error { return visit(page.Key, names, ids) }); err != nil || rediserr.IsWrongType(err) {
			return err
		}
	}
	return nil
}
