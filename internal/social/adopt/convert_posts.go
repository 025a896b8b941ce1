package adopt

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social/layout"
)

//go:embed adopt_post.lua
var adoptPostSource string

var adoptPostScript = script.New(adoptPostSource).Retryable()

// convertPosts converts the posts among the keys.
func (c *conversion) convertPosts(ctx context.Context, keys []string) error {
	for part := range slices.Chunk(keys, conversionPart) {
		if err := c.convertPostsPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (c *conversion) convertPostsPart(ctx context.Context, keys []string) error {
	b := c.d.client.B()
	var ids []int64
	var reads rueidis.Commands
	for _, name := range keys {
		if pid, ok := layout.ParseID(strings.TrimPrefix(name, layout.PostPrefix)); ok {
			ids = append(ids, pid)
			reads = append(reads, b.Getrange().Key(name).Start(0).End(max2009Post).Build())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	posts := make(map[int64]post2009, len(ids))
	values := make(map[int64]string, len(ids))
	var authors []int64
	for i, res := range c.d.client.DoMulti(ctx, reads...) {
		value, err := res.ToString()
		if rediserr.IsWrongType(err) {
			continue // a hash: converted already
		}
		if err != nil {
			return err
		}
		post, err := parse2009Post(value)
		if err != nil {
			c.skip(ctx, layout.PostKey(ids[i]), "%v", err)
			continue
		}
		posts[ids[i]], values[ids[i]] = post, value
		authors = append(authors, post.author)
	}
	known, err := c.known(ctx, c.users, layout.UserPrefix, "username", authors)
	if err != nil {
		return err
	}
	var keep rueidis.Commands
	var convert []script.Call
	for pid, post := range posts {
		if !known[post.author] {
			c.skip(ctx, layout.PostKey(pid), "there is no user %d", post.author)
			continue
		}
		keep = append(keep, b.Set().Key(layout.Key(prefixLegacyPost, pid)).Value(values[pid]).Nx().Build())
		convert = append(convert, script.Call{
			Keys: []string{layout.PostKey(pid)},
			Args: []string{values[pid], "user_id", layout.Itoa(post.author), "time", layout.Itoa(post.time), "body", post.body},
		})
	}
	if len(keep) == 0 {
		return nil
	}
	if err := reply.FirstError(c.d.client.DoMulti(ctx, keep...)); err != nil {
		return err
	}
	c.converted.posts.Add(int64(len(convert)))
	return reply.FirstError(adoptPostScript.RunMany(ctx, c.d.client, convert))
}
