package adopt

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
)

// conversion converts a database of 2009 to the layout of 2014, which Adopt then
// completes: users first, then their posts, then the lists that refer to both.
// Each pass drops dangling references.
//
// Every write either adds what is missing or is a script on one key that checks
// first, so the conversion can be repeated from its start after a crash, and two
// processes can do it at once, also on a Cluster. The old keys stay, except for
// the posts, whose keys the new layout needs: the string of a post is copied to
// legacy:post:<pid> before the post becomes a hash.
type conversion struct {
	d     Database
	seen  func(keys int64)
	users *otter.Cache[int64, bool] // ids of some that exist
	posts *otter.Cache[int64, bool]

	lastUser, lastPost int64 // what the old counters say, and the largest id of a user
	converted          struct{ users, posts, lists, follows atomic.Int64 }
	skipped, warned    atomic.Int64
}

// errOver: another process has finished the conversion.
var errOver = errors.New("social: the conversion is over")

const (
	// conversionPart is how many posts or follows one step reads and writes.
	conversionPart = 200
	// maxWarnings is how many damaged entries are logged one by one.
	maxWarnings = 100
)

func newConversion(d Database, seen func(int64)) (*conversion, error) {
	c := &conversion{d: d, seen: seen}
	for _, cache := range []**otter.Cache[int64, bool]{&c.users, &c.posts} {
		var err error
		if *cache, err = otter.New(&otter.Options[int64, bool]{MaximumSize: maxKnown}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// maxKnown bounds how many users and posts that exist are remembered.
const maxKnown = 200_000

// skip reports an entry that cannot be converted.
func (c *conversion) skip(ctx context.Context, key, format string, args ...any) {
	c.skipped.Add(1)
	c.warn(ctx, "skipped an entry of the database of 2009", "key", key, "reason", fmt.Sprintf(format, args...))
}

// warn logs a warning, up to maxWarnings times.
func (c *conversion) warn(ctx context.Context, message string, args ...any) {
	if c.warned.Add(1) <= maxWarnings {
		c.d.log.WarnContext(ctx, message, args...)
	}
}

func (c *conversion) counter(ctx context.Context, key string) (int64, error) {
	now, err := reply.TextOrEmpty(c.d.client.Do(ctx, c.d.client.B().Getrange().Key(key).Start(0).End(maxDigits).Build()))
	if now == "" || err != nil {
		return 0, err
	}
	last, ok := layout.ParseID(now)
	if !ok && now != "0" {
		c.skip(ctx, key, "%q is not a counter", now)
	}
	return last, nil
}

// maxDigits is longer than any id.
const maxDigits = 24

// parseIDs reads ids and drops everything else.
func (c *conversion) parseIDs(ctx context.Context, from string, values []string) []int64 {
	ids := make([]int64, 0, len(values))
	for _, value := range values {
		if id, ok := layout.ParseID(value); ok {
			ids = append(ids, id)
		} else {
			c.skip(ctx, from, "%.40q is not an id", value)
		}
	}
	return ids
}

// known returns which of these users or posts exist, and caches them.
func (c *conversion) known(ctx context.Context, cache *otter.Cache[int64, bool], prefix, field string, ids []int64) (map[int64]bool, error) {
	known := make(map[int64]bool, len(ids))
	var ask []int64
	var cmds rueidis.Commands
	for _, id := range ids {
		if _, done := known[id]; done {
			continue
		}
		_, known[id] = cache.GetIfPresent(id)
		if !known[id] {
			ask = append(ask, id)
			cmds = append(cmds, c.d.client.B().Hexists().Key(layout.Key(prefix, id)).Field(field).Build())
		}
	}
	if len(ask) == 0 {
		return known, nil
	}
	for i, res := range c.d.client.DoMulti(ctx, cmds...) {
		exists, err := res.AsBool()
		if err != nil && !rediserr.IsWrongType(err) {
			return nil, err
		}
		if known[ask[i]] = exists; exists {
			cache.Set(ask[i], true)
		}
	}
	return known, nil
}
