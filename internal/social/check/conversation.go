package check

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
	"retwis/maintain"
)

// Each script changes keys of one post, which share a slot, and is idempotent.
var (
	//go:embed recount.lua
	recountSource string
	recountScript = script.New(recountSource).Retryable()

	//go:embed strip.lua
	stripSource string
	stripScript = script.New(stripSource).Retryable()

	//go:embed lost_parent.lua
	lostParentSource string
	lostParentScript = script.New(lostParentSource).Retryable()

	//go:embed add_reply.lua
	addReplySource string
	addReplyScript = script.New(addReplySource).Retryable()
)

// nobody is the author of a stub that a repair writes for a lost post.
const nobody = "0"

// reply checks that the ancestors of a reply exist, possibly as stubs, that the reply is in the
// conversation of its parent, and that it is among the replies to its parent.
func (c *postCheck) reply(ctx context.Context, p *post) error {
	if p.parent == 0 {
		return nil
	}
	if err := c.ancestors(ctx, p); err != nil {
		return err
	}
	if err := c.rooted(ctx, p); err != nil {
		return err
	}
	if *p.isPending {
		return nil // the fan-out adds the reply
	}
	if *p.inReplies > 0 {
		return nil
	}
	problem := Problem{
		Kind: maintain.Missing, Key: p.key, Leftover: true, Repair: "add it there",
		Detail: fmt.Sprintf("not among the replies to post %d", p.parent),
	}
	return c.check.found(ctx, problem, func(ctx context.Context) (bool, error) { return c.addReply(ctx, p.id) })
}

// ancestors checks that the parent and the root of a reply exist.
func (c *postCheck) ancestors(ctx context.Context, p *post) error {
	exist, err := c.check.states(ctx, []int64{p.parent, p.root})
	if err != nil {
		return err
	}
	for _, id := range slices.Compact([]int64{p.parent, p.root}) {
		if id == 0 || exist[id].exists {
			continue
		}
		if err := c.lostAncestor(ctx, p, id); err != nil {
			return err
		}
	}
	return nil
}

// lostAncestor reports a reply to a post that does not exist.
func (c *postCheck) lostAncestor(ctx context.Context, p *post, id int64) error {
	root := ""
	if id != p.root {
		root = storage.Itoa(p.root)
	}
	problem := Problem{
		Kind: maintain.Dangling, Key: p.key, Repair: "write a stub in its place",
		Detail: fmt.Sprintf("is in the conversation of post %d, which does not exist", id),
	}
	return c.check.found(ctx, problem, func(ctx context.Context) (bool, error) {
		c.check.lastPost = max(c.check.lastPost, id)
		keys := []string{storage.PostKey(id), storage.RepliesKey(id), storage.LikersKey(id), storage.RepostersKey(id), storage.EditsKey(id)}
		return lostParentScript.Run(ctx, c.check.client, keys, []string{storage.Seconds(c.check.now()), root}).AsBool()
	})
}

// rooted checks that a reply is in the conversation of its parent.
func (c *postCheck) rooted(ctx context.Context, p *post) error {
	root := p.parentState.root
	if root == 0 {
		root = p.parent
	}
	if root == p.root || !p.parentState.exists {
		return nil
	}
	problem := Problem{
		Kind: maintain.Stale, Key: p.key, Repair: "move it to the conversation of its first ancestor",
		Detail: fmt.Sprintf("is in the conversation of post %d, but its parent is in that of post %d", p.root, root),
	}
	return c.check.found(ctx, problem, func(ctx context.Context) (bool, error) { return c.move(ctx, p) })
}

// move moves a reply to the conversation of its first ancestor. It adds the reply there before it
// changes the hash of the reply, so that the next check finds an interrupted repair.
func (c *postCheck) move(ctx context.Context, p *post) (bool, error) {
	root, err := c.firstAncestor(ctx, p.parent)
	if err != nil || root == 0 || root == p.root {
		return false, err
	}
	current, err := c.check.state(ctx, p.id)
	if err != nil || current.parent != p.parent || current.root != p.root {
		return false, err
	}
	id := storage.Itoa(p.id)
	if _, err := c.check.zadd(ctx, storage.ThreadKey(root), id, id); err != nil {
		return false, err
	}
	if err := c.check.client.Do(ctx, c.check.client.B().Hset().Key(p.key).FieldValue().FieldValue("root", storage.Itoa(root)).Build()).Error(); err != nil {
		return false, err
	}
	c.check.knownPosts.forget(p.id)
	if p.root > 0 {
		_, err = c.check.zrem(ctx, storage.ThreadKey(p.root), id)
	}
	p.root = root
	return true, err
}

// maxDepth limits how far up a conversation a repair looks for its root.
const maxDepth = 10_000

// firstAncestor returns the root of a post's conversation, or 0 if the root is unknown.
func (c *postCheck) firstAncestor(ctx context.Context, id int64) (int64, error) {
	for range maxDepth {
		s, err := c.check.state(ctx, id)
		switch {
		case err != nil || !s.exists:
			return 0, err
		case s.parent != 0:
			id = s.parent
		case s.root != 0: // the stub of a lost post
			return s.root, nil
		default:
			return id, nil
		}
	}
	return 0, nil
}

// addReply adds a reply to the replies of its parent. It then checks again, and removes the reply
// if the reply was deleted meanwhile.
func (c *postCheck) addReply(ctx context.Context, id int64) (bool, error) {
	current, err := c.check.state(ctx, id)
	if err != nil || !current.isPost() || current.parent == 0 {
		return false, err
	}
	added, err := addReplyScript.Run(ctx, c.check.client, []string{storage.PostKey(current.parent), storage.RepliesKey(current.parent)}, []string{storage.Itoa(id)}).AsBool()
	if err != nil || !added {
		return false, err
	}
	if current, err = c.check.state(ctx, id); err == nil && !current.isPost() {
		_, err = c.check.dropMember(ctx, storage.RepliesKey(current.parent), "replies", storage.Itoa(id), "")
	}
	if err != nil {
		return true, err
	}
	return true, c.check.fanOut.Deletions.Place(ctx, current.parent)
}

// repost checks that a repost has an original, and that the original records the repost.
func (c *postCheck) repost(ctx context.Context, p *post) error {
	problem := Problem{Kind: maintain.Dangling, Key: p.key, Repair: "delete the repost", Leftover: true}
	switch {
	case *p.isPending:
		return nil
	case !p.original.isPost():
		problem.Detail = fmt.Sprintf("repeats post %d, which does not exist or is deleted", p.repostOf)
	case p.original.repostOf != 0:
		problem.Detail = fmt.Sprintf("repeats post %d, which is a repost", p.repostOf)
	case !sameNumber(*p.claim, storage.Itoa(p.id)):
		problem.Detail = fmt.Sprintf("is not the repost of post %d by user %d", p.repostOf, p.author)
	default:
		return c.listed(ctx, p)
	}
	return c.check.found(ctx, problem, func(ctx context.Context) (bool, error) {
		original, err := c.check.state(ctx, p.repostOf)
		if err != nil {
			return false, err
		}
		// A repost has a task from before it is written until the original records it.
		b := c.check.batch()
		writing := isPending(b, c.check.client, p.id, p.author, p.time)
		if err := b.Run(ctx); err != nil || *writing {
			return false, err
		}
		claim, err := reply.TextOrEmpty(c.check.client.Do(ctx, c.check.client.B().Zscore().Key(storage.RepostersKey(p.repostOf)).Member(storage.Itoa(p.author)).Build()))
		if err != nil || original.isPost() && original.repostOf == 0 && sameNumber(claim, storage.Itoa(p.id)) {
			return false, err
		}
		return true, c.delete(ctx, p.id)
	})
}
