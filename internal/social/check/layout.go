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
func (c *checker) isMoved(ctx context.Context) (bool, error) {
	if c.client.Mode() != rueidis.ClientModeCluster {
		return false, nil
	}
	text, err := reply.TextOrEmpty(c.client.Do(ctx, c.client.B().Get().Key(layout.Users).Build()))
	return text == layout.UsersMoved, err
}

// layoutOf finds out which layout the database has, and reports what an interrupted
// change of it has left.
func (c *checker) layoutOf(ctx context.Context) error {
	state, err := c.names.State(ctx)
	if err != nil {
		return err
	}
	if state.Left {
		p := Problem{
			Kind: maintain.Stale, Key: layout.MovedUsers, Leftover: true, Repair: "finish it",
			Detail: "a change of the layout was interrupted",
		}
		err := c.found(ctx, p, func(ctx context.Context) (bool, error) { return true, c.names.Move(ctx, nil) })
		if err != nil {
			return err
		}
	}
	c.spread, err = c.names.Spread(ctx)
	if err != nil || !c.spread {
		return err
	}
	latest, err := c.client.Do(ctx, c.client.B().Zrange().Key(layout.UsersByTime).Min("0").Max("0").Withscores().Build()).AsZScores()
	if err == nil && len(latest) > 0 {
		c.sinceLatest = layout.ParseTime(layout.Itoa(int64(latest[0].Score)))
	}
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	return c.buckets(ctx)
}

// bucketsAtOnce is how many buckets are looked at in one step.
const bucketsAtOnce = 512

// buckets checks the types of the buckets of names, before the names.
func (c *checker) buckets(ctx context.Context) error {
	for from := 0; from < layout.Buckets; from += bucketsAtOnce {
		keys := make([]string, bucketsAtOnce)
		for i := range keys {
			keys[i] = layout.BucketKey(from + i)
		}
		if _, err := c.ofTheirType(ctx, keys); err != nil {
			return err
		}
	}
	return nil
}

// allNames calls visit with each page of the names of all users, and their keys.
func (c *checker) allNames(ctx context.Context, visit func(key string, names, ids []string) error) error {
	for page, err := range c.names.All(ctx, scanCount) {
		if rediserr.IsWrongType(err) {
			return nil // replaced meanwhile: the next check reports it
		}
		if err != nil {
			return err
		}
		if err := c.pair(ctx, page.Names, func(names, ids []string) error { return visit(page.Key, names, ids) }); err != nil {
			return err
		}
	}
	return nil
}
