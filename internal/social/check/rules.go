package check

import (
	"context"
	"fmt"
	"slices"

	"retwis/internal/redis/scan"
	"retwis/internal/social/storage"
	"retwis/maintain"
)

// A repair scans all keys once for each phase, so that each phase can rely on the repairs of the
// previous one. A check that changes nothing does everything in one scan.
const (
	owners  = iota // the type of each key, users, and whether posts have an author
	sources        // posts, their lists, and the authoritative sets
	copies         // derived data: the mirrors of sets, and timelines
	phases
)

// rule is the check for the keys with one prefix.
type rule struct {
	prefix string
	phase  int
	check  func(ctx context.Context, keys []string) error // nil if only the type is checked
}

// allRules returns the rules of all keys that end in an ID or a tag.
func (c *checker) allRules() []rule {
	users := &userCheck{c, &moderationCheck{c}}
	posts := &postCheck{c}
	lists, notices := &listCheck{c}, &noticeCheck{c}
	rules := []rule{
		{storage.UserPrefix, owners, users.users},
		{storage.DecisionsPrefix, owners, nil},
		{storage.BucketPrefix, owners, nil},
		{storage.PostPrefix, sources, posts.posts},
		{storage.EditsPrefix, sources, c.ofPosts(nothing)},
		{storage.RepliesPrefix, sources, c.ofPosts(posts.replies)},
		{storage.StubsPrefix, sources, c.ofPosts(posts.stubs)},
		{storage.ProfilePrefix, sources, each(posts.postSet)},
		{storage.ProfileRepliesPrefix, sources, each(posts.postSet)},
		{storage.ArchivePrefix, sources, each(posts.postSet)},
		{storage.ImportedPrefix, sources, c.ofUsers((&keyCheck{c}).ranges)},
		{storage.ThreadPrefix, sources, each(posts.postSet)},
		{storage.TagPrefix, sources, each(posts.postSet)},
		{storage.SessionsPrefix, sources, (&sessionCheck{check: c}).entries},
		{storage.LoginsPrefix, sources, (&sessionCheck{check: c}).entries},
		{storage.LoginPlacesPrefix, sources, c.ofUsers(nothing)},
		{storage.ImportPrefix, sources, c.ofUsers((&keyCheck{c}).imported)},
		{storage.ImportEntriesPrefix, sources, c.ofUsers(nothing)},
		{storage.NotificationsPrefix, sources, c.ofUsers(notices.inbox)},
		{storage.TrendPrefix, sources, (&keyCheck{c}).expire},
		{storage.TrendHourPrefix, sources, (&keyCheck{c}).expire},
		{storage.TrendLinkPrefix, sources, (&keyCheck{c}).expire},
		{storage.ListsPrefix, sources, (&libraryCheck{c}).lists},
		{storage.HomePrefix, copies, lists.homes},
	}
	if c.repair { // posts without an author are repaired before their replies and reposts
		rules = append(rules, rule{storage.PostPrefix, owners, posts.orphans})
	}
	if c.opt.Followers >= 0 {
		rules = append(rules, rule{storage.ProfilePrefix, copies, each((&sampleCheck{check: c}).sample)})
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

// The number of keys per visit. A repair checks more keys per visit, because its visits run one
// after the other.
const (
	keysPerVisit       = 25
	keysPerRepairVisit = 100
)

// visits divides a page of keys among the rules for them.
func (c *checker) visits(ctx context.Context, phase int, keys []string) (visits []func(context.Context) error, err error) {
	keys = slices.DeleteFunc(keys, func(key string) bool {
		prefix := prefixOf(key)
		return !c.inPart(key) || !slices.ContainsFunc(c.rules, func(r rule) bool { return r.prefix == prefix })
	})
	if phase == owners {
		if keys, err = c.wellTyped(ctx, keys); err != nil {
			return nil, err
		}
	}
	limit := keysPerVisit
	if c.repair {
		limit = keysPerRepairVisit
	}
	byPrefix := map[string][]string{}
	for _, key := range keys {
		byPrefix[prefixOf(key)] = append(byPrefix[prefixOf(key)], key)
	}
	for _, r := range c.rules {
		if r.check == nil || c.repair && r.phase != phase {
			continue
		}
		for chunk := range slices.Chunk(byPrefix[r.prefix], limit) {
			visits = append(visits, func(ctx context.Context) error { return r.check(ctx, chunk) })
		}
	}
	return visits, nil
}

// prefixOf returns the prefix of a key that ends in an ID, a tag or an hour, or an empty string for
// any other key.
func prefixOf(key string) string {
	if prefix, _, ok := storage.ParseKey(key); ok {
		return prefix
	}
	if prefix, _, ok := storage.ParseTagKey(key); ok {
		return prefix
	}
	prefix, _ := storage.ParseTrendKey(key)
	return prefix
}

// each returns a check that calls check for one key after the other.
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

// nothing accepts every key.
func nothing(context.Context, string) error { return nil }

// ofUsers returns a check that calls check for the keys of users who exist, and reports the others.
func (c *checker) ofUsers(check func(ctx context.Context, key string) error) func(ctx context.Context, keys []string) error {
	return func(ctx context.Context, keys []string) error {
		users, err := c.usersExist(ctx, idsOf(keys))
		if err != nil {
			return err
		}
		return each(func(ctx context.Context, key string) error {
			_, uid, _ := storage.ParseKey(key)
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

// ofPosts returns a check that calls check for the keys of posts that exist, and reports the
// others.
func (c *checker) ofPosts(check func(ctx context.Context, key string) error) func(ctx context.Context, keys []string) error {
	return func(ctx context.Context, keys []string) error {
		posts, err := c.states(ctx, idsOf(keys))
		if err != nil {
			return err
		}
		return each(func(ctx context.Context, key string) error {
			_, id, _ := storage.ParseKey(key)
			if posts[id].exists {
				return check(ctx, key)
			}
			p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("post %d does not exist", id), Repair: "remove it"}
			return c.found(ctx, p, func(ctx context.Context) (bool, error) {
				return orphanSetsScript.Run(ctx, c.client, []string{storage.PostKey(id), key}, nil).AsBool()
			})
		})(ctx, keys)
	}
}

// idsOf returns the IDs in which the keys end.
func idsOf(keys []string) []int64 {
	ids := make([]int64, len(keys))
	for i, key := range keys {
		_, ids[i], _ = storage.ParseKey(key)
	}
	return ids
}
