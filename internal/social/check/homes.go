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
	var authors []string
	at := map[string]int{} // of each author among authors
	for _, entry := range ids {
		id, _ := layout.ParseID(entry)
		s := states[id]
		if _, twice := at[s.by]; !twice && id > c.check.adopted && s.isPost() && s.author != uid {
			at[s.by] = len(authors)
			authors = append(authors, s.by)
		}
	}
	if len(authors) == 0 {
		return nil
	}
	b := c.check.batch()
	since := b.Texts(c.check.client.B().Zmscore().Key(layout.FollowingKey(uid)).Member(authors...).Build())
	if err := b.Run(ctx); err != nil {
		return err
	}
	for _, entry := range ids {
		id, _ := layout.ParseID(entry)
		s := states[id]
		n, isOther := at[s.by]
		if !isOther || id <= c.check.adopted || n < len(*since) && (*since)[n] != "" {
			continue
		}
		if err := c.unfollowed(ctx, uid, id, s.author); err != nil {
			return err
		}
	}
	return nil
}

// unfollowed reports a post on the home timeline of a user who does not follow its author,
// unless it has a tag that the user follows. The deletion of either account ends the follow
// before it removes the post.
func (c *listCheck) unfollowed(ctx context.Context, uid, id, author int64) error {
	b, cmd := c.check.batch(), c.check.client.B()
	body := b.Text(cmd.Hget().Key(layout.PostKey(id)).Field("body").Build())
	edits := b.Texts(cmd.Lrange().Key(layout.EditsKey(id)).Start(0).Stop(-1).Build())
	if err := b.Run(ctx); err != nil {
		return err
	}
	if closed, err := c.check.isAnyClosed(ctx, uid, author); err != nil || closed {
		return err
	}
	tags := text.Tags(*body)
	for _, edit := range *edits {
		tags = append(tags, text.Tags(edit)...)
	}
	b = c.check.batch()
	var followed []*string
	for _, tag := range tags {
		followed = append(followed, b.Score(layout.FollowingTagsKey(uid), tag))
	}
	if err := b.Run(ctx); err != nil {
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
		if changes, err := c.check.fanOut.Homes.IsChanging(ctx, uid, author, id); err != nil || changes {
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
		return true, c.check.fanOut.Homes.RemoveOrphans(ctx, uid, []string{layout.Itoa(id)})
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
	since := b.Score(layout.FollowingKey(uid), layout.Itoa(author))
	on := b.Present(cmd.Lpos().Key(layout.HomeKey(uid)).Element(layout.Itoa(id)).Build())
	err = b.Run(ctx)
	return *since == "" && *on, err
}
