package adopt

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"

	"retwis/internal/script"
	"retwis/internal/social"
	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
)

//go:embed adopt_post.lua
var adoptPostSource string

var adoptPostScript = script.New(adoptPostSource).Retryable()

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

// passes is how often run scans all keys.
const passes = 3

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

// convertUsers converts the users whose names are among the keys.
func (c *conversion) convertUsers(ctx context.Context, keys []string) error {
	var ids []int64
	var reads rueidis.Commands
	b := c.d.client.B()
	for _, name := range keys {
		uid, field, ok := parse2009(name)
		c.lastUser = max(c.lastUser, uid) // no new user can have the id of one that is skipped
		switch {
		case !ok && hasField(name, "username"):
			c.skip(ctx, name, "not a user id")
		case ok && field == "username":
			ids = append(ids, uid)
			reads = append(reads,
				b.Getrange().Key(name).Start(0).End(layout.MaxLookup).Build(),
				b.Getrange().Key(key2009(uid, "password")).Start(0).End(social.MaxTypedPassword).Build())
		case ok && field == "password":
			exists, err := c.d.client.Do(ctx, b.Exists().Key(key2009(uid, "username")).Build()).AsBool()
			if err != nil {
				return err
			}
			if !exists {
				c.skip(ctx, name, "user %d has no username", uid)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	res := c.d.client.DoMulti(ctx, reads...)
	return atOnce(len(ids), func(i int) error {
		name, err := reply.TextOrEmpty(res[2*i])
		if err != nil {
			return err
		}
		password, err := reply.TextOrEmpty(res[2*i+1])
		if err != nil {
			return err
		}
		return c.convertUser(ctx, ids[i], name, password)
	})
}

// workers is how many users are converted at once, so that they share round
// trips.
const workers = 32

// atOnce calls do for 0 to n-1, for several at once, and returns the first
// error.
func atOnce(n int, do func(i int) error) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, min(n, workers))
	for w := range errs {
		wg.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[w] = do(i)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func hasField(name, field string) bool {
	return strings.HasPrefix(name, prefix2009UID) && strings.HasSuffix(name, ":"+field)
}

// convertUser claims the name first and then writes the user's hash: a user whose
// name is taken leaves nothing behind.
func (c *conversion) convertUser(ctx context.Context, uid int64, name, password string) error {
	key := key2009(uid, "username")
	if reason := unusable(name); reason != "" {
		c.skip(ctx, key, "%.40q %s", name, reason)
		return nil
	}
	owner, err := c.owner2009(ctx, uid, name)
	if err != nil {
		return err
	}
	b := c.d.client.B()
	if owner == uid {
		res := c.d.client.DoMulti(ctx,
			b.Hsetnx().Key(layout.Users).Field(name).Value(layout.Itoa(uid)).Build(),
			b.Hget().Key(layout.Users).Field(name).Build(),
		)
		if owner, err = res[1].AsInt64(); err != nil {
			return errors.Join(res[0].Error(), err)
		}
	}
	if owner != uid {
		c.skip(ctx, key, "%q is the name of user %d", name, owner)
		return nil
	}
	if social.CheckName(name) != nil {
		c.warn(ctx, "a username that a new user could not have; it is kept as it is", "user", uid, "username", name)
	}
	writes := rueidis.Commands{
		b.Hsetnx().Key(layout.UserKey(uid)).Field("username").Value(name).Build(),
		b.Zadd().Key(layout.UsersByTime).Nx().ScoreMember().ScoreMember(registered2009(uid), name).Build(),
	}
	if password == "" || len(password) > social.MaxTypedPassword {
		c.warn(ctx, "a user without a password that can be typed; nobody can log in as them", "user", uid, "username", name)
	} else {
		writes = append(writes, b.Hsetnx().Key(layout.UserKey(uid)).Field("password").Value(password).Build())
	}
	c.converted.users.Add(1)
	return reply.FirstError(c.d.client.DoMulti(ctx, writes...))
}

// unusable returns why a name cannot be looked up or shown, empty if it can.
func unusable(name string) string {
	switch {
	case name == "":
		return "is no username"
	case len(name) > layout.MaxLookup:
		return fmt.Sprintf("is longer than %d bytes", layout.MaxLookup)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "is not text"
	}
	return ""
}

// owner2009 returns the user to whom the old program mapped the name: uid, unless
// the name leads to another user of exactly this name.
func (c *conversion) owner2009(ctx context.Context, uid int64, name string) (int64, error) {
	b := c.d.client.B()
	for _, res := range c.d.client.DoMulti(ctx,
		b.Getrange().Key(prefix2009Name+name+":uid").Start(0).End(maxDigits).Build(),
		b.Getrange().Key(prefix2009Name+name+":id").Start(0).End(maxDigits).Build(),
	) {
		value, err := reply.TextOrEmpty(res)
		if err != nil {
			return 0, err
		}
		other, ok := layout.ParseID(value)
		if !ok || other == uid {
			if ok {
				return uid, nil
			}
			continue
		}
		theirs, err := reply.TextOrEmpty(c.d.client.Do(ctx, b.Getrange().Key(key2009(other, "username")).Start(0).End(layout.MaxLookup).Build()))
		if err != nil {
			return 0, err
		}
		if theirs == name {
			return other, nil
		}
	}
	return uid, nil
}

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
		if reply.IsWrongType(err) {
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
		if err != nil && !reply.IsWrongType(err) {
			return nil, err
		}
		if known[ask[i]] = exists; exists {
			cache.Set(ask[i], true)
		}
	}
	return known, nil
}
