package adopt

import (
	"context"
	_ "embed"
	"errors"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
)

func (c *conversion) run(ctx context.Context) error {
	for _, pass := range []struct {
		match string
		page  func(context.Context, []string) error
	}{
		{prefix2009UID + "*", c.convertUsers},
		{layout.PostPrefix + "*", c.convertPosts},
		{prefix2009UID + "*", c.convertLists},
	} {
		err := c.d.keys(ctx, pass.match, func(keys []string, seen int64) error {
			c.seen(seen)
			return pass.page(ctx, keys)
		})
		if err != nil {
			return err
		}
	}
	if err := c.convertList(ctx, key2009Timeline, layout.Timeline); err != nil {
		return err
	}
	users, err := c.counter(ctx, key2009NextUserID)
	c.lastUser = max(c.lastUser, users)
	posts, err2 := c.counter(ctx, key2009NextPostID)
	c.lastPost = posts
	return errors.Join(err, err2)
}

// isLayout2009 reports whether the database is one of 2009 that has to be
// converted, and records that before anything else is written.
func (d Database) isLayout2009(ctx context.Context) (bool, error) {
	b := d.client.B()
	// In this order: the conversion writes its state first.
	var found [3]bool
	users, err := d.client.Do(ctx, b.Exists().Key(layout.Users).Build()).AsBool()
	if err != nil {
		return false, err
	}
	state, err := reply.Text(d.client.Do(ctx, b.Get().Key(layout.LegacyState).Build()))
	if err != nil || state != "" {
		return err == nil, err
	}
	for i, key := range []string{key2009NextUserID, key2009NextPostID, key2009Timeline} {
		if found[i], err = d.client.Do(ctx, b.Exists().Key(key).Build()).AsBool(); err != nil {
			return false, err
		}
	}
	if found == [3]bool{} {
		return false, nil
	}
	if users {
		return false, ErrTwoSites
	}
	return true, d.beginConversion(ctx)
}

func (d Database) beginConversion(ctx context.Context) error {
	err := d.client.Do(ctx, d.client.B().Set().Key(layout.LegacyState).Value(stateConverting).Nx().Build()).Error()
	if rueidis.IsRedisNil(err) {
		return nil // another process has begun it
	}
	return err
}

// passes is how often run scans all keys.
const passes = 3

// finish records that everything is converted.
func (c *conversion) finish(ctx context.Context) error {
	err := c.d.client.Do(ctx, c.d.client.B().Set().Key(layout.LegacyState).Value(stateConverted).Build()).Error()
	if err != nil {
		return err
	}
	c.d.log.InfoContext(ctx, "converted the database of 2009; its old keys are kept until retwis check --remove-legacy",
		"users", c.converted.users.Load(), "posts", c.converted.posts.Load(), "timelines", c.converted.lists.Load(),
		"follows", c.converted.follows.Load(), "skipped", c.skipped.Load())
	return nil
}
