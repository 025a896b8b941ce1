package social

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// Problem is a place where two keys that must agree do not.
type Problem struct {
	Key    string // the key in which it was found
	Detail string
	// Leftover problems were left by a write that a crash cut short. They are
	// seen by nobody, or mended by the next write of the same kind.
	Leftover bool
}

func (p Problem) String() string {
	if p.Leftover {
		return p.Key + ": " + p.Detail + " (a leftover, harmless)"
	}
	return p.Key + ": " + p.Detail
}

// CheckResult is what a check looked at and what it found.
type CheckResult struct {
	Users, Sessions, Follows, Posts, Timelines int64
	Problems, Leftovers                        int64
}

// Check walks the whole database in short steps and tells report of each
// problem. It sees a database at rest as it is; writes that go on meanwhile
// can make it report what is right a moment later. It keeps nothing in memory
// but one step.
func (s *Service) Check(ctx context.Context, report func(Problem)) (CheckResult, error) {
	c := &checker{s: s, report: report}
	for _, step := range []func(context.Context) error{
		c.names, c.sessions, c.fanOuts, c.everybody,
	} {
		if err := step(ctx); err != nil {
			return c.result, fmt.Errorf("social: check: %w", err)
		}
	}
	err := s.scanKeys(ctx, "*", func(keys []string, _ int64) error {
		for _, key := range keys {
			if err := c.key(ctx, key); err != nil {
				return fmt.Errorf("key %s: %w", key, err)
			}
		}
		return nil
	})
	if err != nil {
		return c.result, fmt.Errorf("social: check: %w", err)
	}
	return c.result, nil
}

type checker struct {
	s      *Service
	report func(Problem)
	result CheckResult
	users  counter
	posts  counter
}

// counter is a counter of ids, read once.
type counter struct {
	read bool
	last int64
}

func (c *checker) problem(key, format string, args ...any) {
	c.result.Problems++
	c.report(Problem{Key: key, Detail: fmt.Sprintf(format, args...)})
}

func (c *checker) leftover(key, format string, args ...any) {
	c.result.Leftovers++
	c.report(Problem{Key: key, Detail: fmt.Sprintf(format, args...), Leftover: true})
}

// key checks one key by what its name says it is.
func (c *checker) key(ctx context.Context, key string) error {
	for prefix, check := range map[string]func(context.Context, string, int64) error{
		prefixUser:      c.user,
		prefixPost:      c.post,
		prefixPosts:     c.home,
		prefixProfile:   c.profile,
		prefixFollowing: c.following,
		prefixFollowers: c.followers,
	} {
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		id, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || itoa(id) != rest {
			continue // not a key of ours
		}
		return check(ctx, key, id)
	}
	return nil
}

// names checks that each username leads to a user of that name.
func (c *checker) names(ctx context.Context) error {
	return c.hash(ctx, keyUsers, func(names, ids []string) error {
		cmds := make(rueidis.Commands, len(ids))
		for i, id := range ids {
			cmds[i] = c.s.client.B().Hget().Key(prefixUser + id).Field("username").Build()
		}
		for i, res := range c.s.client.DoMulti(ctx, cmds...) {
			name, err := text(res)
			if err != nil {
				return err
			}
			if name == "" {
				c.problem(keyUsers, "%q belongs to user %s, who does not exist", names[i], ids[i])
			} else if fold(name) != fold(names[i]) {
				c.problem(keyUsers, "%q belongs to user %s, whose name is %q", names[i], ids[i], name)
			}
		}
		return nil
	})
}

// sessions checks that each session is known to its user.
func (c *checker) sessions(ctx context.Context) error {
	return c.hash(ctx, keyAuths, func(tokens, ids []string) error {
		cmds := make(rueidis.Commands, len(ids))
		for i, id := range ids {
			cmds[i] = c.s.client.B().Hget().Key(prefixUser + id).Field("auth").Build()
		}
		for i, res := range c.s.client.DoMulti(ctx, cmds...) {
			auth, err := text(res)
			if err != nil {
				return err
			}
			c.result.Sessions++
			if !hasToken(auth, tokens[i]) {
				c.leftover(keyAuths, "a session of user %s that the user does not know: it opens nothing", ids[i])
			}
		}
		return nil
	})
}

// fanOuts reports posts that are not everywhere yet.
func (c *checker) fanOuts(ctx context.Context) error {
	posts, err := c.s.client.Do(ctx, c.s.client.B().Zrange().Key(keyFanOuts).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return err
	}
	for _, post := range posts {
		c.leftover(keyFanOuts, "post %s is not on every timeline yet: it will be", post)
	}
	return nil
}

// user checks what the hash of a user says of itself elsewhere.
func (c *checker) user(ctx context.Context, key string, uid int64) error {
	c.result.Users++
	if err := c.count(ctx, &c.users, keyNextUserID, key, uid); err != nil {
		return err
	}
	rec, _, err := c.s.credentials(ctx, uid)
	if err != nil {
		return err
	}
	if rec.Name == "" {
		c.problem(key, "has no username")
		return nil
	}
	b := c.s.client.B()
	res := c.s.client.DoMulti(ctx,
		b.Hmget().Key(keyUsers).Field(fold(rec.Name), rec.Name).Build(),
		b.Zscore().Key(keyUsersByTime).Member(rec.Name).Build(),
	)
	owners, err := res[0].ToArray()
	if err != nil {
		return err
	}
	owned := false
	for _, owner := range owners {
		id, err := owner.AsInt64()
		owned = owned || err == nil && id == uid
	}
	if !owned {
		c.leftover(key, "nobody finds this user: %q is not theirs", rec.Name)
		return nil
	}
	if since, err := text(res[1]); err != nil {
		return err
	} else if since == "" {
		c.leftover(key, "not among the users by time")
	}
	for _, token := range strings.Split(rec.auth, ",") {
		if token == "" {
			continue
		}
		owner, err := text(c.s.client.Do(ctx, b.Hget().Key(keyAuths).Field(token).Build()))
		if err != nil {
			return err
		}
		if owner != itoa(uid) {
			c.problem(key, "knows a session that `auths` gives to %q", owner)
		}
	}
	return nil
}

// post checks that a post stands on the profile of who wrote it.
func (c *checker) post(ctx context.Context, key string, pid int64) error {
	c.result.Posts++
	if err := c.count(ctx, &c.posts, keyNextPostID, key, pid); err != nil {
		return err
	}
	post, ok, err := parsePost(pid, c.s.client.Do(ctx, c.s.client.B().Hmget().Key(key).Field("user_id", "time", "body").Build()))
	if err != nil {
		return err
	}
	if !ok {
		c.problem(key, "is not a post that anybody wrote")
		return nil
	}
	score, err := text(c.s.client.Do(ctx, c.s.client.B().Zscore().Key(profileKey(post.Author.ID)).Member(itoa(pid)).Build()))
	if err != nil {
		return err
	}
	if score == "" {
		c.leftover(key, "not on the profile of user %d", post.Author.ID)
	}
	return nil
}

// count reports an id that the counter has not reached: it would be given out
// again.
func (c *checker) count(ctx context.Context, n *counter, name, key string, id int64) error {
	if !n.read {
		last, err := text(c.s.client.Do(ctx, c.s.client.B().Get().Key(name).Build()))
		if err != nil {
			return err
		}
		n.last, _ = strconv.ParseInt(last, 10, 64)
		n.read = true
	}
	if id > n.last {
		c.leftover(key, "`%s` is %d: behind this id", name, n.last)
	}
	return nil
}

// hash calls visit with each page of a hash.
func (c *checker) hash(ctx context.Context, key string, visit func(fields, values []string) error) error {
	return c.pages(ctx, func(cursor uint64) rueidis.Completed {
		return c.s.client.B().Hscan().Key(key).Cursor(cursor).Count(scanCount).Build()
	}, visit)
}

// pages calls visit with the pairs of each page of a scan.
func (c *checker) pages(ctx context.Context, scan func(cursor uint64) rueidis.Completed, visit func(names, values []string) error) error {
	var cursor uint64
	for {
		entry, err := c.s.client.Do(ctx, scan(cursor)).AsScanEntry()
		if err != nil {
			return err
		}
		var names, values []string
		for i := 0; i+1 < len(entry.Elements); i += 2 {
			names = append(names, entry.Elements[i])
			values = append(values, entry.Elements[i+1])
		}
		if len(names) > 0 {
			if err := visit(names, values); err != nil {
				return err
			}
		}
		if cursor = entry.Cursor; cursor == 0 {
			return nil
		}
	}
}
