package check

import (
	"context"
	"fmt"

	"retwis/internal/social/layout"
	"retwis/internal/social/text"
	"retwis/maintain"
)

// home checks that the posts on a home timeline are by the user, or by people that the
// user follows, or have a tag that the user follows, or had it before they were edited.
// Posts of an older program stayed when a follow ended.
func (c *listCheck) home(ctx context.Context, uid int64, ids []string, states map[int64]state) error {
	b := c.check.batch()
	following := map[int64]*string{}
	for _, entry := range ids {
		id, ok := layout.ParseID(entry)
		by := states[id].author
		if ok && id > c.check.adopted && states[id].isPost() && by != uid && following[by] == nil {
			following[by] = b.score(layout.FollowingKey(uid), layout.Itoa(by))
		}
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	for _, entry := range ids {
		id, _ := layout.ParseID(entry)
		since := following[states[id].author]
		if since == nil || *since != "" || id <= c.check.adopted {
			continue
		}
		if err := c.unfollowed(ctx, uid, id, states[id].author); err != nil {
			return err
		}
	}
	return nil
}

// unfollowed reports a post on the home timeline of a user who does not follow its author,
// unless it has a tag that the user follows.
func (c *listCheck) unfollowed(ctx context.Context, uid, id, author int64) error {
	b, cmd := c.check.batch(), c.check.client.B()
	body := b.text(cmd.Hget().Key(layout.PostKey(id)).Field("body").Build())
	edits := b.texts(cmd.Lrange().Key(layout.EditsKey(id)).Start(0).Stop(-1).Build())
	if err := b.run(ctx); err != nil {
		return err
	}
	tags := text.Tags(*body)
	for _, edit := range *edits {
		tags = append(tags, text.Tags(edit)...)
	}
	b = c.check.batch()
	var followed []*string
	for _, tag := range tags {
		followed = append(followed, b.score(layout.FollowingTagsKey(uid), tag))
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	for _, since := range followed {
		if *since != "" {
			return nil
		}
	}
	// What ends a follow is a task until the timeline agrees with it. Nobody runs tasks
	// beside an exclusive check, and what an interrupted fan-out has yet to do does not
	// make these posts disappear.
	if !c.check.opt.Exclusive {
		if changes, err := c.check.fanOut.ChangesHome(ctx, uid, author); err != nil || changes {
			return err
		}
	}
	on, err := c.isUnfollowed(ctx, uid, id, author)
	if err != nil || !on {
		return err
	}
	p := Problem{
		Kind: maintain.Stale, Key: layout.HomeKey(uid), Repair: "remove it",
		Detail: fmt.Sprintf("post %d is by user %d, and user %d does not follow user %d", id, author, uid, author),
	}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
		if on, err := c.isUnfollowed(ctx, uid, id, author); err != nil || !on {
			return false, err
		}
		return true, c.check.fanOut.RemoveOrphans(ctx, uid, []string{layout.Itoa(id)})
	})
}

// isUnfollowed reads again whether a home timeline has a post of an author that the user
// does not follow, without the cache.
func (c *listCheck) isUnfollowed(ctx context.Context, uid, id, author int64) (bool, error) {
	s, err := c.check.state(ctx, id)
	if err != nil || !s.isPost() || s.author != author {
		return false, err
	}
	b, cmd := c.check.batch(), c.check.client.B()
	since := b.score(layout.FollowingKey(uid), layout.Itoa(author))
	on := b.present(cmd.Lpos().Key(layout.HomeKey(uid)).Element(layout.Itoa(id)).Build())
	err = b.run(ctx)
	return *since == "" && *on, err
}
