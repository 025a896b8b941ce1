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

// postCheck checks posts, and the lists and counters to which each belongs.
type postCheck struct{ check *checker }

// orphans checks that posts have an author.
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

// post is a post with everything that must agree with it.
type post struct {
	state
	key    string
	id     int64
	body   string
	media  social.Media
	counts [3]string // according to its fields, in the order of counters

	isPending          *bool // it is being fanned out
	cards              [3]*int64
	listedOn           []string  // the sorted sets where it belongs, unless it is deleted
	scores             []*string // its scores there
	edits, stubs       *int64
	inReplies, inStubs *int64 // in the sets of its parent
	inThread, claim    *string
	parentIs, repeated state
}

// hasReplies reports whether a deleted post has replies, or stubs with replies.
func (p *post) hasReplies() bool { return *p.cards[2] > 0 || *p.stubs > 0 }

// counters are the counters of a post, in the order in which they are read.
var counters = [...]string{"likes", "reposts", "replies"}

// isLost reports whether a post has no author. The author of the stub of a lost post is unknown.
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
		p.parentIs, p.repeated = states[p.parent], states[p.repostOf]
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

// read reads everything that must agree with a post.
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

// post checks one post: it has an author; if it is deleted, nothing else is left of it; its
// counters are right; it is on the lists where it belongs.
func (c *postCheck) post(ctx context.Context, p *post) error {
	c.check.lastPost = max(c.check.lastPost, p.id)
	if p.isLost() {
		c.check.result.Posts++
		if c.check.repair {
			return nil // orphans has reported it
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

// lost reports a post without an author. If the post is gone by now, it belonged to an account
// whose removal is in progress, in a repair too.
func (c *postCheck) lost(ctx context.Context, post *post) error {
	isThere, err := c.check.client.Do(ctx, c.check.client.B().Exists().Key(post.key).Build()).AsBool()
	if err != nil || !isThere {
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

// listed checks that a post is on each list where it belongs. A post that is being fanned out will
// be there soon; a process that died while writing the post can have left this.
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

// counted checks the counters of a post. The scripts that change its sets set them.
func (c *postCheck) counted(ctx context.Context, p *post) error {
	for i, field := range counters {
		said := p.counts[i]
		if said == storage.Itoa(*p.cards[i]) || said == "" && *p.cards[i] == 0 {
			continue
		}
		problem := Problem{Kind: maintain.Stale, Key: p.key, Detail: fmt.Sprintf("says %.20q %s, but has %d", said, field, *p.cards[i]), Repair: "count them"}
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

// deleted checks that nothing is left of a deleted post but its stub, which is in its conversation
// as long as it has replies. Other lists that contain it are reported by their own checks.
func (c *postCheck) deleted(ctx context.Context, p *post) error {
	hasPictures := p.media != "" && c.check.app.Internals().Pictures.Files != nil
	if p.body != "" || hasPictures || *p.cards[0] > 0 || *p.cards[1] > 0 || *p.edits > 0 {
		problem := Problem{
			Kind: maintain.Stale, Key: p.key, Leftover: p.body == "", Repair: "remove them",
			Detail: "is deleted, but has a text, earlier texts, pictures, likes or reposts",
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
	problem := Problem{Kind: maintain.Stale, Key: p.key, Leftover: true, Detail: "is deleted and has no replies, but is in a conversation", Repair: "take it out"}
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
