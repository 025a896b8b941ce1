package check

import (
	"context"
	"fmt"
	"slices"

	"retwis/internal/redis/scan"
	"retwis/internal/social/layout"
	"retwis/maintain"
)

// A repair passes over all keys once for each phase: what one has repaired, the next can
// rely on. A check that changes nothing does everything in one pass.
const (
	owners  = iota // the type of each key, users, and whether posts have an author
	sources        // posts, their lists, and the sets that have the last word on a fact
	copies         // what follows from these: the mirrors of sets of posts, timelines
	phases
)

// rule is what is checked of the keys with one prefix.
type rule struct {
	prefix string
	phase  int
	check  func(ctx context.Context, keys []string) error // nil: only their type
}

// allRules returns the rules of all keys that end in an id or a tag.
func (c *checker) allRules() []rule {
	users := &userCheck{c, &moderationCheck{c}}
	posts := &postCheck{c}
	lists, notices := &listCheck{c}, &noticeCheck{c}
	rules := []rule{
		{layout.UserPrefix, owners, users.some},
		{layout.DecisionsPrefix, owners, nil},
		{layout.BucketPrefix, owners, nil},
		{layout.PostPrefix, sources, posts.some},
		{layout.EditsPrefix, sources, c.ofPosts(nothing)},
		{layout.RepliesPrefix, sources, c.ofPosts(posts.replies)},
		{layout.StubsPrefix, sources, c.ofPosts(posts.stubs)},
		{layout.ProfilePrefix, sources, each(posts.postSet)},
		{layout.ProfileRepliesPrefix, sources, each(posts.postSet)},
		{layout.ArchivePrefix, sources, each(posts.postSet)},
		{layout.ImportedPrefix, sources, c.ofUsers((&keyCheck{c}).ranges)},
		{layout.ThreadPrefix, sources, each(posts.postSet)},
		{layout.TagPrefix, sources, each(posts.postSet)},
		{layout.SessionsPrefix, sources, (&sessionCheck{check: c}).entries},
		{layout.LoginsPrefix, sources, (&sessionCheck{check: c}).entries},
		{layout.LoginPlacesPrefix, sources, c.ofUsers(nothing)},
		{layout.ImportPrefix, sources, c.ofUsers((&keyCheck{c}).imported)},
		{layout.ImportEntriesPrefix, sources, c.ofUsers(nothing)},
		{layout.NotificationsPrefix, sources, c.ofUsers(notices.inbox)},
		{layout.TrendPrefix, sources, (&keyCheck{c}).expire},
		{layout.TrendHourPrefix, sources, (&keyCheck{c}).expire},
		{layout.ListsPrefix, sources, (&libraryCheck{c}).some},
		{layout.HomePrefix, copies, lists.homes},
	}
	if c.repair { // others can repeat posts without an author, or reply to them
		rules = append(rules, rule{layout.PostPrefix, owners, posts.orphans})
	}
	if c.opt.Followers >= 0 {
		rules = append(rules, rule{layout.ProfilePrefix, copies, each((&sampleCheck{check: c}).sample)})
	}
	return append(rules, (&setCheck{c}).rules()...)
}

// pass scans all keys and checks those of a phase.
func (c *checker) pass(phase int) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if !c.repair && phase > owners {
			return nil
		}
		for page, err := range scan.Keys(ctx, c.client, scan.Pattern{Count: scanCount, Timeout: scanTimeout}) {
			if err != nil {
				return err
			}
			visits, err := c.visits(ctx, phase, page.Keys)
			if err != nil {
				return err
			}
			if err := c.visitAll(ctx, visits); err != nil {
				return err
			}
			if err := c.run.Step(ctx, page.Seen); err != nil {
				return err
			}
		}
		return nil
	}
}

// How many keys are checked with the same commands: more by a repair, which makes one visit
// after the other.
const (
	keysAtOnce   = 25
	keysOfRepair = 100
)

// visits divides a page of keys among the rules for them.
func (c *checker) visits(ctx context.Context, phase int, keys []string) (visits []func(context.Context) error, err error) {
	keys = slices.DeleteFunc(keys, func(key string) bool {
		prefix := prefixOf(key)
		return !c.inPart(key) || !slices.ContainsFunc(c.rules, func(r rule) bool { return r.prefix == prefix })
	})
	if phase == owners {
		if keys, err = c.ofTheirType(ctx, keys); err != nil {
			return nil, err
		}
	}
	most := keysAtOnce
	if c.repair {
		most = keysOfRepair
	}
	of := map[string][]string{}
	for _, key := range keys {
		of[prefixOf(key)] = append(of[prefixOf(key)], key)
	}
	for _, r := range c.rules {
		if r.check == nil || c.repair && r.phase != phase {
			continue
		}
		for some := range slices.Chunk(of[r.prefix], most) {
			visits = append(visits, func(ctx context.Context) error { return r.check(ctx, some) })
		}
	}
	return visits, nil
}

// prefixOf returns the prefix of a key that ends in an id, a tag or an hour; empty for
// another key.
func prefixOf(key string) string {
	if prefix, _, ok := layout.ParseKey(key); ok {
		return prefix
	}
	if prefix, _, ok := layout.ParseTagKey(key); ok {
		return prefix
	}
	prefix, _ := layout.ParseTrendKey(key)
	return prefix
}

// each checks one key after the other.
func each(check func(ctx context.Context, key string) error) func(ctx context.Context, keys []string) error {
	return func(ctx context.Context, keys []string) error {
		for _, key := range keys {
			if err := check(ctx, key); err != nil {
				return fmt.Errorf("key %s: %w", key, err)
			}
		}
		return nil
	}
}

func nothing(context.Context, string) error { return nil }

// ofUsers checks keys of users who exist, and reports the others.
func (c *checker) ofUsers(check func(ctx context.Context, key string) error) func(ctx context.Context, keys []string) error {
	return func(ctx context.Context, keys []string) error {
		users, err := c.usersExist(ctx, idsOf(keys))
		if err != nil {
			return err
		}
		return each(func(ctx context.Context, key string) error {
			_, uid, _ := layout.ParseKey(key)
			if users[uid] {
				return check(ctx, key)
			}
			p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("user %d does not exist", uid), Repair: "remove it"}
			return c.found(ctx, p, c.withoutUser(uid, func(ctx context.Context) (bool, error) {
				return c.client.Do(ctx, c.client.B().Unlink().Key(key).Build()).AsBool()
			}))
		})(ctx, keys)
	}
}

// ofPosts checks keys of posts that exist, and reports the others.
func (c *checker) ofPosts(check func(ctx context.Context, key string) error) func(ctx context.Context, keys []string) error {
	return func(ctx context.Context, keys []string) error {
		posts, err := c.states(ctx, idsOf(keys))
		if err != nil {
			return err
		}
		return each(func(ctx context.Context, key string) error {
			_, id, _ := layout.ParseKey(key)
			if posts[id].exists {
				return check(ctx, key)
			}
			p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("post %d does not exist", id), Repair: "remove it"}
			return c.found(ctx, p, func(ctx context.Context) (bool, error) {
				return orphanSetsScript.Run(ctx, c.client, []string{layout.PostKey(id), key}, nil).AsBool()
			})
		})(ctx, keys)
	}
}

func idsOf(keys []string) []int64 {
	ids := make([]int64, len(keys))
	for i, key := range keys {
		_, ids[i], _ = layout.ParseKey(key)
	}
	return ids
}
