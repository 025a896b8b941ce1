package check

import (
	"context"
	_ "embed"
	"fmt"
	"iter"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
	"retwis/internal/social/layout"
	"retwis/maintain"
)

var (
	//go:embed drop_member.lua
	dropMemberSource string
	dropMemberScript = script.New(dropMemberSource).Retryable()

	//go:embed orphan_sets.lua
	orphanSetsSource string
	orphanSetsScript = script.New(orphanSetsSource).Retryable()
)

// reactionCheck checks the keys of a post: who likes it, who has reposted it, the
// replies to it, its earlier texts.
type reactionCheck struct {
	*checker
	mirrors *mirrorCheck
}

var reactionPrefixes = []string{layout.LikersPrefix, layout.RepostersPrefix, layout.RepliesPrefix, layout.StubsPrefix, layout.EditsPrefix}

// all checks them. Posts come first: a reply to a lost post brings back a stub.
func (c *reactionCheck) all(ctx context.Context) error {
	return c.pass(ctx, "*:{"+layout.PostPrefix+"*}", reactionPrefixes, func(ctx context.Context, keys []string) error {
		ids := make([]int64, len(keys))
		for i, key := range keys {
			_, ids[i], _ = layout.ParseKey(key)
		}
		posts, err := c.states(ctx, ids)
		if err != nil {
			return err
		}
		for i, key := range keys {
			if err := c.key(ctx, key, ids[i], posts[ids[i]]); err != nil {
				return fmt.Errorf("key %s: %w", key, err)
			}
		}
		return nil
	})
}

func (c *reactionCheck) key(ctx context.Context, key string, id int64, post state) error {
	prefix, _, _ := layout.ParseKey(key)
	if !post.exists {
		p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("post %d does not exist", id), Repair: "remove it"}
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return orphanSetsScript.Run(ctx, c.client, []string{layout.PostKey(id), key}, nil).AsBool()
		})
	}
	switch prefix {
	case layout.LikersPrefix:
		return c.likers(ctx, key, id)
	case layout.RepostersPrefix:
		return c.reposters(ctx, key, id)
	case layout.RepliesPrefix:
		return c.replies(ctx, key, id, "is not a reply to this post", func(s state) bool { return s.isPost() && s.parent == id })
	case layout.StubsPrefix:
		return c.replies(ctx, key, id, "is not a deleted reply to this post", func(s state) bool { return s.stub && s.parent == id })
	}
	return nil
}

// dropMember removes a member from a set of a post.
func (c *checker) dropMember(ctx context.Context, post int64, prefix, member, score string) (bool, error) {
	counter := map[string]string{layout.LikersPrefix: "likes", layout.RepostersPrefix: "reposts", layout.RepliesPrefix: "replies"}[prefix]
	key := prefix + "{" + layout.PostKey(post) + "}"
	return dropMemberScript.Run(ctx, c.client, []string{layout.PostKey(post), key}, []string{counter, member, score}).AsBool()
}

// people checks a set of users of a post; those who exist, and what their own set
// says, go to check.
func (c *reactionCheck) people(ctx context.Context, key string, id int64, own string, check func(uid int64, score, mirrored string) error) error {
	prefix, _, _ := layout.ParseKey(key)
	return c.sortedSet(ctx, key, func(members, scores []string) error {
		users := make([]int64, len(members))
		mirrored := make([]*string, len(members))
		b := c.batch()
		for i, member := range members {
			users[i], _ = layout.ParseID(member) // 0: no id
			mirrored[i] = b.score(own+member, layout.Itoa(id))
		}
		if err := b.run(ctx); err != nil {
			return err
		}
		exist, err := c.usersExist(ctx, users)
		if err != nil {
			return err
		}
		for i, member := range members {
			if exist[users[i]] {
				if err := check(users[i], scores[i], *mirrored[i]); err != nil {
					return err
				}
				continue
			}
			p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("user %.40q does not exist", member), Repair: "remove it"}
			err := c.found(ctx, p, func(ctx context.Context) (bool, error) {
				if exists, err := c.userExists(ctx, users[i]); err != nil || exists {
					return false, err
				}
				return c.dropMember(ctx, id, prefix, member, "")
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// likers checks that what a user likes is on the user's list of likes, since the
// same time.
func (c *reactionCheck) likers(ctx context.Context, key string, id int64) error {
	return c.people(ctx, key, id, layout.LikedPrefix, func(uid int64, score, mirrored string) error {
		return c.mirrors.compare(ctx, like(uid, id), score, mirrored)
	})
}

// reposters checks that each entry of a user is a repost of this post, and is on the
// user's list of reposts.
func (c *reactionCheck) reposters(ctx context.Context, key string, id int64) error {
	return c.people(ctx, key, id, layout.RepostedPrefix, func(uid int64, score, mirrored string) error {
		entry := integer(score)
		states, err := c.states(ctx, []int64{entry})
		if err != nil {
			return err
		}
		if s := states[entry]; !s.isPost() || s.repostOf != id || s.author != uid {
			p := Problem{
				Kind: maintain.Dangling, Key: key, Leftover: true, Repair: "end the repost",
				Detail: fmt.Sprintf("post %s is not the repost of user %d", score, uid),
			}
			return c.found(ctx, p, func(ctx context.Context) (bool, error) { return c.endRepost(ctx, id, uid, score) })
		}
		return c.mirrors.compare(ctx, repost(uid, id), score, mirrored)
	})
}

// endRepost ends the repost of a user whose entry is not there.
func (c *reactionCheck) endRepost(ctx context.Context, id, uid int64, score string) (bool, error) {
	if s, err := c.state(ctx, integer(score)); err != nil || s.isPost() && s.repostOf == id && s.author == uid {
		return false, err
	}
	dropped, err := c.dropMember(ctx, id, layout.RepostersPrefix, layout.Itoa(uid), score)
	if err != nil || !dropped {
		return false, err
	}
	_, err = c.mirrors.align(ctx, repost(uid, id))
	return true, err
}

// integer reads a score that is an id; 0 where it is not.
func integer(score string) int64 {
	id, _ := layout.ParseID(score)
	return id
}

// replies checks the replies to a post, or the deleted ones that have replies
// themselves. A stub that has no other ones any more leaves its conversation.
func (c *reactionCheck) replies(ctx context.Context, key string, id int64, not string, belongs func(s state) bool) error {
	prefix, _, _ := layout.ParseKey(key)
	return c.set(ctx, key, func(members []string) error {
		ids := make([]int64, len(members))
		for i, member := range members {
			ids[i], _ = layout.ParseID(member) // 0: no id
		}
		states, err := c.states(ctx, ids)
		if err != nil {
			return err
		}
		for i, member := range members {
			if belongs(states[ids[i]]) {
				continue
			}
			p := Problem{Kind: maintain.Dangling, Key: key, Leftover: true, Detail: fmt.Sprintf("%.40q %s", member, not), Repair: "remove it"}
			err := c.found(ctx, p, func(ctx context.Context) (bool, error) {
				if s, err := c.state(ctx, ids[i]); err != nil || belongs(s) {
					return false, err
				}
				dropped, err := c.dropMember(ctx, id, prefix, member, "")
				if err != nil || !dropped {
					return false, err
				}
				if s, err := c.state(ctx, ids[i]); err == nil && s.isPost() && s.parent == id {
					_, err = c.addReply(ctx, ids[i]) // the id was assigned at this moment
					return true, err
				}
				return true, c.fanOut.Place(ctx, id)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// set calls visit with each page of a set.
func (c *checker) set(ctx context.Context, key string, visit func(members []string) error) error {
	var pages iter.Seq2[[]string, error] = scan.Set(ctx, c.client, key, scanCount)
	for page, err := range pages {
		if rediserr.IsWrongType(err) {
			return nil // replaced meanwhile: the next check reports it
		}
		if err != nil {
			return err
		}
		if len(page) == 0 {
			continue
		}
		if err := visit(page); err != nil {
			return err
		}
		if err := c.run.Pace(ctx, len(page)); err != nil {
			return err
		}
	}
	return nil
}
