package check

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
)

// userFields reads fields of users. A missing user has empty fields.
func (c *checker) userFields(ctx context.Context, ids []string, fields ...string) ([][]string, error) {
	return reads.Fields(ctx, c.client, ids, func(id string) string { return storage.UserPrefix + id }, fields...)
}

// usersExist reports which users exist, that is, have a username. It caches the users that exist.
func (c *checker) usersExist(ctx context.Context, ids []int64) (map[int64]bool, error) {
	exist, uncached := c.knownUsers.lookup(ids)
	found, err := reads.Many(ctx, c.client, uncached, c.userCommand, rueidis.RedisResult.AsBool)
	if err != nil {
		return nil, err
	}
	for i, id := range uncached {
		if exist[id] = found[i]; found[i] {
			c.knownUsers.add(id, true)
		}
	}
	return exist, nil
}

// userCommand returns the command that reads whether a user exists.
func (c *checker) userCommand(id int64) rueidis.Completed {
	return c.client.B().Hexists().Key(storage.UserKey(id)).Field("username").Build()
}

// userExists checks one user without the cache, for a repair.
func (c *checker) userExists(ctx context.Context, id int64) (bool, error) {
	return reply.OrEmpty(c.client.Do(ctx, c.userCommand(id)).AsBool())
}

// withoutUser returns a repair that does nothing if the user exists when the repair runs.
func (c *checker) withoutUser(id int64, repair fix) fix {
	return func(ctx context.Context) (bool, error) {
		if exists, err := c.userExists(ctx, id); err != nil || exists {
			return false, err
		}
		return repair(ctx)
	}
}

// state determines on which lists a post belongs. The zero value is the state of a post that does
// not exist.
type state struct {
	author, parent, root, repostOf int64

	exists   bool // the post has a hash, possibly as a stub
	readable bool // the post exists and its author exists
	stub     bool // the post is deleted
	imported bool // the post was imported from another site
	by, time string
}

// places returns the lists to which the post belongs, given its tags.
func (s state) places(tags []string) storage.Places {
	return storage.Places{Author: s.author, Parent: s.parent, Root: s.root, RepostOf: s.repostOf, Imported: s.imported, Tags: tags}
}

// stateFields are the fields of a post that make up its state.
var stateFields = []string{"user_id", "parent", "root", "repost_of", "deleted", "time", "source"}

func parseState(fields []string) state {
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(fields[i], 10, 64) // like readers of posts, treat a damaged field as missing
		return max(n, 0)
	}
	s := state{parent: number(1), root: number(2), repostOf: number(3), stub: fields[4] != "", by: fields[0], time: fields[5], imported: fields[6] != ""}
	s.author, _ = storage.ParseID(fields[0]) // 0 if not an ID
	s.exists = fields[0] != ""
	return s
}

// isPost reports whether a post is neither missing nor deleted.
func (s state) isPost() bool { return s.readable && !s.stub }

// states returns the states of posts. It caches the states of readable posts that are not deleted.
func (c *checker) states(ctx context.Context, ids []int64) (map[int64]state, error) {
	found, uncached := c.knownPosts.lookup(ids)
	posts, err := reads.Fields(ctx, c.client, uncached, storage.PostKey, stateFields...)
	if err != nil {
		return nil, err
	}
	read := make([]state, len(uncached))
	authors := make([]int64, len(uncached))
	for i, fields := range posts {
		read[i] = parseState(fields)
		authors[i] = read[i].author
	}
	users, err := c.usersExist(ctx, authors)
	if err != nil {
		return nil, err
	}
	for i, id := range uncached {
		read[i].readable = users[authors[i]]
		found[id] = read[i]
		if read[i].isPost() {
			c.knownPosts.add(id, read[i])
		}
	}
	return found, nil
}

// state reads one post without the cache, for a repair.
func (c *checker) state(ctx context.Context, id int64) (state, error) {
	c.knownPosts.forget(id)
	found, err := c.states(ctx, []int64{id})
	return found[id], err
}

// zadd sets the score of a member of a sorted set, and reports whether that changed anything.
func (c *checker) zadd(ctx context.Context, key, score, member string) (bool, error) {
	return c.client.Do(ctx, c.client.B().Arbitrary("ZADD").Keys(key).Args("CH", score, member).Build()).AsBool()
}

// zrem removes a member of a sorted set, and reports whether that changed anything.
func (c *checker) zrem(ctx context.Context, key, member string) (bool, error) {
	return c.client.Do(ctx, c.client.B().Zrem().Key(key).Member(member).Build()).AsBool()
}

// removal returns the repair that removes a member of a sorted set.
func (c *checker) removal(key, member string) fix {
	return func(ctx context.Context) (bool, error) { return c.zrem(ctx, key, member) }
}
