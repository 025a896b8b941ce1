package check

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/internal/social/posts"
	"retwis/internal/social/storage"

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

// dropMember removes a member from a set of a post, and updates the counter of the set.
func (c *checker) dropMember(ctx context.Context, key, counter, member, score string) (bool, error) {
	_, post, _ := storage.ParseKey(key)
	return dropMemberScript.Run(ctx, c.client, []string{storage.PostKey(post), key}, []string{counter, member, score}).AsBool()
}

// replies checks the replies to a post.
func (c *postCheck) replies(ctx context.Context, key string) error {
	return c.children(ctx, key, "is not a reply to this post", state.isPost)
}

// stubs checks the deleted replies to a post that still have replies.
func (c *postCheck) stubs(ctx context.Context, key string) error {
	return c.children(ctx, key, "is not a deleted reply to this post", func(s state) bool { return s.stub })
}

// children checks that the members of a set are replies to a post. A repair removes the post from
// its conversation if the post is a stub without replies.
func (c *postCheck) children(ctx context.Context, key, detail string, isValid func(state) bool) error {
	prefix, id, _ := storage.ParseKey(key)
	counter := ""
	if prefix == storage.RepliesPrefix {
		counter = "replies"
	}
	return c.check.set(ctx, key, func(members []string) error {
		ids := make([]int64, len(members))
		for i, member := range members {
			ids[i], _ = storage.ParseID(member) // 0 if not an ID
		}
		states, err := c.check.states(ctx, ids)
		if err != nil {
			return err
		}
		for i, member := range members {
			if s := states[ids[i]]; isValid(s) && s.parent == id {
				continue
			}
			p := Problem{Kind: maintain.Dangling, Key: key, Leftover: true, Detail: fmt.Sprintf("%.40q %s", member, detail), Repair: "remove it"}
			err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
				if s, err := c.check.state(ctx, ids[i]); err != nil || isValid(s) && s.parent == id {
					return false, err
				}
				dropped, err := c.check.dropMember(ctx, key, counter, member, "")
				if err != nil || !dropped {
					return false, err
				}
				if s, err := c.check.state(ctx, ids[i]); err == nil && s.isPost() && s.parent == id {
					_, err = c.addReply(ctx, ids[i]) // the ID was assigned meanwhile
					return true, err
				}
				return true, c.check.fanOut.Deletions.Place(ctx, id)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// reposts checks that the score of each user who has reposted a post is the ID of a repost of the
// post by the user.
func (c *setCheck) reposts(ctx context.Context, page []entry) (good []entry, err error) {
	ids := make([]int64, len(page))
	for i, e := range page {
		ids[i], _ = storage.ParseID(e.score) // 0 if not an ID
	}
	states, err := c.check.states(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, e := range page {
		isValid := func(s state) bool {
			return s.isPost() && storage.Itoa(s.repostOf) == e.owner && s.author == e.id
		}
		if isValid(states[ids[i]]) {
			good = append(good, e)
			continue
		}
		p := Problem{
			Kind: maintain.Dangling, Key: e.key, Leftover: true, Repair: "end the repost",
			Detail: fmt.Sprintf("post %s is not the repost of user %d", e.score, e.id),
		}
		err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
			if s, err := c.check.state(ctx, ids[i]); err != nil || isValid(s) {
				return false, err
			}
			dropped, err := c.check.dropMember(ctx, e.key, "reposts", e.member, e.score)
			if err != nil || !dropped {
				return false, err
			}
			_, post, _ := storage.ParseKey(e.key)
			return true, posts.MirrorRepost(ctx, c.check.client, e.id, post)
		})
		if err != nil {
			return nil, err
		}
	}
	return good, nil
}

// copyRepost updates the user's list of reposts from the post's set of reposters.
func copyRepost(ctx context.Context, client rueidis.Client, source, other storage.SetEntry) error {
	user, _ := storage.ParseID(source.Member)
	post, _ := storage.ParseID(other.Member)
	return posts.MirrorRepost(ctx, client, user, post)
}
