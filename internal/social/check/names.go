package check

import (
	"context"

	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
)

// latest reads, on a Cluster, the time since which `users_by_time` is complete. It also checks the
// buckets of names, before the names in them are checked.
func (c *userCheck) latest(ctx context.Context) error {
	if !c.check.cluster {
		return nil
	}
	latest, err := reply.OrEmpty(c.check.client.Do(ctx, c.check.client.B().Zrange().Key(storage.UsersByTime).Min("0").Max("0").Withscores().Build()).AsZScores())
	if err != nil {
		return err
	}
	if len(latest) > 0 {
		c.check.sinceLatest = storage.ParseTime(storage.Itoa(int64(latest[0].Score)))
	}
	return c.buckets(ctx)
}

// bucketBatch is the number of buckets checked in one step.
const bucketBatch = 512

// buckets checks the types of the buckets of names.
func (c *userCheck) buckets(ctx context.Context) error {
	for from := 0; from < storage.Buckets; from += bucketBatch {
		keys := make([]string, bucketBatch)
		for i := range keys {
			keys[i] = storage.BucketKey(from + i)
		}
		if _, err := c.check.wellTyped(ctx, keys); err != nil {
			return err
		}
	}
	return nil
}

// allNames calls visit with each page of usernames and user IDs, and the key that holds them.
func (c *userCheck) allNames(ctx context.Context, visit func(key string, names, ids []string) error) error {
	for page, err := range c.check.names.All(ctx, scanCount) {
		single := func(yield func([]string, error) bool) { yield(page.Names, err) }
		if err := c.check.pairs(ctx, single, func(names, ids []string) error { return visit(page.Key, names, ids) }); err != nil {
			return err
		}
	}
	return nil
}
