package check

import (
	"context"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
)

// usersExist returns which of these users exist, that is, have a username.
func (c *checker) usersExist(ctx context.Context, ids []int64) (map[int64]bool, error) {
	exist, ask, cmds := c.knownUsers.lookup(ids, func(id int64) rueidis.Completed {
		return c.client.B().Hexists().Key(layout.UserKey(id)).Field("username").Build()
	})
	if len(cmds) == 0 {
		return exist, nil
	}
	for i, res := range c.client.DoMulti(ctx, cmds...) {
		ok, err := res.AsBool()
		if err != nil && !reply.IsWrongType(err) {
			return nil, err
		}
		if exist[ask[i]] = err == nil && ok; exist[ask[i]] {
			c.knownUsers.add(ask[i])
		}
	}
	return exist, nil
}

// userExists checks one user without the cache, for a repair.
func (c *checker) userExists(ctx context.Context, id int64) (bool, error) {
	ok, err := c.client.Do(ctx, c.client.B().Hexists().Key(layout.UserKey(id)).Field("username").Build()).AsBool()
	if reply.IsWrongType(err) {
		return false, nil
	}
	return ok, err
}

// postsExist returns which of these posts can be read: their authors exist too.
func (c *checker) postsExist(ctx context.Context, ids []int64) (map[int64]bool, error) {
	exist, ask, cmds := c.knownPosts.lookup(ids, func(id int64) rueidis.Completed {
		return c.client.B().Hget().Key(layout.PostKey(id)).Field("user_id").Build()
	})
	if len(cmds) == 0 {
		return exist, nil
	}
	authors := make([]int64, len(ask))
	for i, res := range c.client.DoMulti(ctx, cmds...) {
		text, err := reply.TextOrEmpty(res)
		if err != nil {
			return nil, err
		}
		authors[i], _ = layout.ParseID(text) // 0: no id
	}
	users, err := c.usersExist(ctx, authors)
	if err != nil {
		return nil, err
	}
	for i, id := range ask {
		if exist[id] = users[authors[i]]; exist[id] {
			c.knownPosts.add(id)
		}
	}
	return exist, nil
}
