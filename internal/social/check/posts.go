package check

import (
	"context"
	"fmt"
	"slices"

	"retwis/internal/redis/reads"
	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/internal/social/text"
	"retwis/maintain"
)

// postCheck checks posts, the lists to which they belong, and their counters.
type postCheck struct{ check *checker }

// orphans checks that the authors of posts exist.
func (c *postCheck) orphans(ctx context.Context, keys []string) error {
	posts, err := c.parse(ctx, keys)
	if err != nil {
		return err
	}
	for _, p := range posts {
		if p.isLost() {
			if err := c.lost(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// post is a post and the data that must agree with it.
type post struct {
	state
	key    string
	id     int64
	body   string
	media  social.Media
	counts [3]string // the counter fields, in the order of counters

	isPending             *bool     // the post is being fanned out
	cards                 [3]*int64 // the sizes of the counted sets
	listedOn              []string  // the sorted sets to which the post belongs; none for a deleted post
	scores                []*string // the scores of the post in listedOn
	edits, stubs          *int64
	inReplies, inStubs    *int64 // 1 if the post is in this set of its parent
	inThread, claim       *string
	parentState, original state
}

// hasReplies reports whether a deleted post has replies, or stubs with replies.
func (p *post) hasReplies() bool { return *p.cards[2] > 0 || *p.stubs > 0 }

// counters are the counters of a post, in the order in which they are read.
var counters = [...]string{"likes", "reposts", "replies"}

// isLost reports whether the author of a post does not exist. A stub that replaces a lost post is
// not lost, although its author is unknown.
func (p *post) isLost() bool { return !p.readable && (!p.stub || p.by != nobody) }

// parse reads posts.
func (c *postCheck) parse(ctx context.Context, keys []string) ([]*post, error) {
	b := c.check.batch()
	fields := make([]*[]string, len(keys))
	for i, key := range keys {
		all := append(slices.Clone(stateFields), "body", counters[0], counters[1], counters[2], "media")
		fields[i] = b.Fields(c.check.client.B().Hmget().Key(key).Field(all...).Build())
	}
	if err := b.Run(ctx); err != nil {
		return nil, err
	}
	posts := make([]*post, 0, len(keys))
	authors := make([]int64, 0, len(keys))
	for i, key := range keys {
		f := *fields[i]
		if f == nil {
			continue // reported by the check of types
		}
		p := &post{state: parseState(f), key: key, body: f[7], counts: [3]string(f[8:11]), media: social.Media(f[11])}
		_, p.id, _ = storage.ParseKey(key)
		posts, authors = append(posts, p), append(authors, p.author)
	}
	users, err := c.check.usersExist(ctx, authors)
	for _, p := range posts {
		p.readable = users[p.author]
	}
	return posts, err
}

func (c *postCheck) posts(ctx context.Context, keys []string) error {
	posts, err := c.parse(ctx, keys)
	if err != nil {
		return err
	}
	var others []int64
	for _, p := range posts {
		for _, id := range []int64{p.parent, p.repostOf} {
			if id > 0 {
				others = append(others, id)
			}
		}
	}
	states, err := c.check.states(ctx, others)
	if err != nil {
		return err
	}
	b := c.check.batch()
	for _, p := range posts {
		p.parentState, p.original = states[p.parent], states[p.repostOf]
		c.read(b, p)
	}
	if err := b.Run(ctx); err != nil {
		return err
	}
	for _, p := range posts {
		if err := c.post(ctx, p); err != nil {
			return fmt.Errorf("key %s: %w", p.key, err)
		}
	}
	return nil
}

// read adds reads of the data that must agree with a post to b.
func (c *postCheck) read(b *reads.Batch, p *post) {
	cmd, id := c.check.client.B(), storage.Itoa(p.id)
	p.isPending = isPending(b, c.check.client, p.id, p.author, p.time)
	p.cards = [3]*int64{
		b.Number(cmd.Zcard().Key(storage.LikersKey(p.id)).Build()),
		b.Number(cmd.Zcard().Key(storage.RepostersKey(p.id)).Build()),
		b.Number(cmd.Scard().Key(storage.RepliesKey(p.id)).Build()),
	}
	switch {
	case p.stub:
		p.edits = b.Number(cmd.Exists().Key(storage.EditsKey(p.id)).Build())
		p.stubs = b.Number(cmd.Scard().Key(storage.StubsKey(p.id)).Build())
		p.inStubs = b.Number(cmd.Sismember().Key(storage.StubsKey(p.parent)).Member(id).Build())
		p.inThread = b.Score(storage.ThreadKey(p.root), id)
	case p.repostOf > 0:
		p.claim = b.Score(storage.RepostersKey(p.repostOf), storage.Itoa(p.author))
	case p.parent > 0:
		p.inReplies = b.Number(cmd.Sismember().Key(storage.RepliesKey(p.parent)).Member(id).Build())
	}
	if !p.stub {
		p.listedOn = p.places(text.Tags(p.body)).Entries()
	}
	for _, key := range p.listedOn {
		p.scores = append(p.scores, b.Score(key, id))
	}
}

// post checks that the author of a post exists, that the counters of the post are right, that the
// post is on its lists, and that only a stub is left of a deleted post.
func (c *postCheck) post(ctx context.Context, p *post) error {
	c.check.lastPost = max(c.check.lastPost, p.id)
	if p.isLost() {
		c.check.result.Posts++
		if c.check.repair {
			return nil // orphans has reported the post
		}
		return c.lost(ctx, p)
	}
	steps := []func(context.Context, *post) error{c.counted, c.listed, c.reply, c.pictures}
	switch {
	case p.stub:
		steps = []func(context.Context, *post) error{c.deleted, c.counted}
	case p.repostOf > 0:
		c.check.result.Posts++
		steps = []func(context.Context, *post) error{c.repost, c.counted}
	default:
		c.check.result.Posts++
	}
	for _, step := range steps {
		if err := step(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// lost reports a post whose author does not exist. It ignores a post that no longer exists, because
// such a post belonged to an account that is being removed.
func (c *postCheck) lost(ctx context.Context, post *post) error {
	exists, err := c.check.client.Do(ctx, c.check.client.B().Exists().Key(post.key).Build()).AsBool()
	if err != nil || !exists {
		return err
	}
	p := Problem{Kind: maintain.Invalid, Key: post.key, Detail: "is not a post of any user"}
	if post.author > 0 {
		p.Kind, p.Detail = maintain.Dangling, fmt.Sprintf("is by user %d, who does not exist", post.author)
	}
	var repair fix
	if post.by != "" || post.body != "" {
		p.Repair = "rename it to " + setAsideKey(post.key, 1)
		repair = func(ctx context.Context) (bool, error) {
			if exists, err := c.check.userExists(ctx, post.author); err != nil || exists {
				return false, err
			}
			return c.check.setAside(ctx, post.key, "hash", "user_id", post.by)
		}
	}
	return c.check.found(ctx, p, repair)
}

// listed checks that a post is on each list where it belongs, unless the post is still being fanned
// out. A post can be missing because the process that wrote it died.
func (c *postCheck) listed(ctx context.Context, p *post) error {
	for i, key := range p.listedOn {
		if *p.scores[i] != "" || *p.isPending {
			continue
		}
		problem := Problem{Kind: maintain.Missing, Key: p.key, Leftover: true, Detail: "is not in " + key, Repair: "add it there"}
		err := c.check.found(ctx, problem, func(ctx context.Context) (bool, error) { return c.putOn(ctx, key, p.id) })
		if err != nil {
			return err
		}
	}
	return nil
}

// counted checks the counters of a post. The scripts that change the sets of a post set its
// counters.
func (c *postCheck) counted(ctx context.Context, p *post) error {
	for i, field := range counters {
		stored := p.counts[i]
		if stored == storage.Itoa(*p.cards[i]) || stored == "" && *p.cards[i] == 0 {
			continue
		}
		problem := Problem{Kind: maintain.Stale, Key: p.key, Detail: fmt.Sprintf("counts %.20q %s, but has %d", stored, field, *p.cards[i]), Repair: "recount them"}
		err := c.check.found(ctx, problem, func(ctx context.Context) (bool, error) { return c.recount(ctx, p.id) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *postCheck) recount(ctx context.Context, id int64) (bool, error) {
	return recountScript.Run(ctx, c.check.client, []string{storage.PostKey(id), storage.LikersKey(id), storage.RepostersKey(id), storage.RepliesKey(id)}, nil).AsBool()
}

// deleted checks that only the stub of a deleted post is left, and that the stub is in its
// conversation as long as it has replies. Other lists that contain the post are reported by their
// own checks.
func (c *postCheck) deleted(ctx context.Context, p *post) error {
	hasPictures := p.media != "" && c.check.app.Internals().Pictures.Files != nil
	if p.body != "" || hasPictures || *p.cards[0] > 0 || *p.cards[1] > 0 || *p.edits > 0 {
		problem := Problem{
			Kind: maintain.Stale, Key: p.key, Leftover: p.body == "", Repair: "remove them",
			Detail: "is deleted, but still has its text, earlier texts, pictures, likes or reposts",
		}
		err := c.check.found(ctx, problem, func(ctx context.Context) (bool, error) {
			if _, err := stripScript.Run(ctx, c.check.client, []string{p.key}, nil).AsBool(); err != nil {
				return false, err
			}
			return true, c.delete(ctx, p.id)
		})
		if err != nil {
			return err
		}
	}
	if p.parent == 0 {
		return nil
	}
	if p.hasReplies() {
		if err := c.ancestors(ctx, p); err != nil {
			return err
		}
	}
	if p.hasReplies() == (*p.inStubs > 0) && p.hasReplies() == (*p.inThread != "") {
		return nil
	}
	problem := Problem{Kind: maintain.Stale, Key: p.key, Leftover: true, Detail: "is deleted and has no replies, but is in a conversation", Repair: "remove it from the conversation"}
	if p.hasReplies() {
		problem.Kind, problem.Detail, problem.Repair = maintain.Missing, "is deleted and has replies, but is not in its conversation", "add it there"
	}
	return c.check.found(ctx, problem, func(ctx context.Context) (bool, error) { return true, c.check.fanOut.Deletions.Place(ctx, p.id) })
}

// delete deletes a post, or finishes its deletion.
func (c *postCheck) delete(ctx context.Context, id int64) error {
	c.check.knownPosts.forget(id)
	return c.check.fanOut.Deletions.Delete(ctx, id)
}
