package social

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social/fanout"
	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
	"retwis/internal/social/text"
)

// Reply publishes a reply to a post, or to the one that a repost repeats. It appears
// in the conversation, on the author's own list of replies and home timeline, and on
// the home timelines of those who follow both people; see Post, whose guarantees
// hold. It returns ErrNotFound for a post that does not exist, is deleted, or must not
// be seen by the author of the reply, and *InvalidError for a text that is not
// allowed. Four round trips more than Post.
func (p *posts) Reply(ctx context.Context, author User, parent int64, body string) (Post, error) {
	return p.reply(ctx, author, parent, body, false)
}

// reply is Reply, or ReplyOnce.
func (p *posts) reply(ctx context.Context, author User, parent int64, body string, once bool) (Post, error) {
	body, err := cleanBody(body)
	if err != nil {
		return Post{}, err
	}
	to, err := p.original(ctx, author, parent)
	if err != nil {
		return Post{}, err
	}
	post := Post{Author: author, Time: p.time(), Body: body, Parent: to.ID, Root: to.conversation()}
	repeated, err := p.publish(ctx, &post, fanout.Entry{
		Author: author.ID, Tags: text.Tags(body), Parent: to.ID, To: to.Author.ID, Root: post.Root,
	}, once)
	p.lists.views.touch(to.ID)
	if errors.Is(err, fanout.ErrRefused) {
		return Post{}, ErrNotFound
	}
	if err != nil {
		return Post{}, err
	}
	if !repeated {
		p.noticeReply(ctx, post, to)
	}
	return post, nil
}

// Repost puts a post on the user's profile and on the home timelines of the user's
// followers: as an entry with its own id, which is returned. A repost of a
// repost repeats the original. Repeating it changes nothing. It returns ErrNotFound
// as Reply does.
func (p *posts) Repost(ctx context.Context, user User, id int64) (Post, error) {
	original, err := p.original(ctx, user, id)
	if err != nil {
		return Post{}, err
	}
	defer p.lists.views.touch(original.ID)
	for {
		has, err := p.repostBy(ctx, user.ID, original.ID)
		if err != nil {
			return Post{}, err
		}
		if has.ID != 0 && !has.Deleted {
			return has, nil
		}
		post := Post{Author: user, Time: p.time(), RepostOf: original.ID}
		_, err = p.publish(ctx, &post, fanout.Entry{
			Author: user.ID, RepostOf: original.ID, To: original.Author.ID, Replaces: has.ID,
		}, false)
		if err == nil {
			p.noticeRepost(ctx, post, original)
			return post, nil
		}
		if !errors.Is(err, fanout.ErrRefused) {
			return Post{}, err
		}
		// Either the post is gone, or the user has reposted it meanwhile.
		if original, err = p.one(ctx, original.ID); err != nil {
			return Post{}, err
		}
	}
}

// Unrepost ends a repost: its entry leaves all lists. id is that of the post or of a
// repost of it. Repeating it changes nothing; a post that does not exist is
// ErrNotFound.
func (p *posts) Unrepost(ctx context.Context, user User, id int64) error {
	post, err := p.one(ctx, id)
	if err == nil && post.RepostOf != 0 {
		post, err = p.one(ctx, post.RepostOf)
	}
	if err != nil {
		return err
	}
	has, err := p.repostBy(ctx, user.ID, post.ID)
	if err != nil || has.ID == 0 {
		return err
	}
	if err := p.fanOut.Delete(ctx, has.ID); err != nil {
		return err
	}
	p.lists.views.touch(post.ID)
	p.lists.views.touch(has.ID)
	p.noticeUnrepost(ctx, user, post, has.Time)
	return nil
}

// repostBy returns the user's repost of a post, with only its id where its entry is
// lost; the zero Post where there is none.
func (p *posts) repostBy(ctx context.Context, user, post int64) (Post, error) {
	score, err := reply.Text(p.db.client.Do(ctx, p.db.client.B().Zscore().Key(layout.RepostersKey(post)).Member(layout.Itoa(user)).Build()))
	if err != nil || score == "" {
		return Post{}, err
	}
	id, err := layout.ParseScore(score)
	if err != nil {
		return Post{}, fmt.Errorf("social: key %s: %w", layout.RepostersKey(post), err)
	}
	repost, err := p.one(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return Post{ID: id, Deleted: true}, nil
	}
	return repost, err
}

// Edit replaces the text of a post and keeps the earlier one; see Edits. It returns
// ErrNotFound, ErrNotAuthor for a post of another user, and *InvalidError for a text
// that is not allowed, or a post that was edited too often.
func (p *posts) Edit(ctx context.Context, author User, id int64, body string) (Post, error) {
	body, err := cleanBody(body)
	if err != nil {
		return Post{}, err
	}
	before, err := p.own(ctx, author, id)
	if err == nil && before.RepostOf != 0 {
		before, err = p.own(ctx, author, before.RepostOf)
	}
	if err != nil {
		return Post{}, err
	}
	err = p.fanOut.Edit(ctx, before.ID, before.Body, body)
	p.lists.views.touch(before.ID)
	switch {
	case errors.Is(err, fanout.ErrNoPost):
		return Post{}, ErrNotFound
	case errors.Is(err, fanout.ErrEdits):
		return Post{}, &InvalidError{"status", fmt.Sprintf("You can edit a post %d times. Write a new one.", fanout.MaxEdits)}
	case err != nil:
		return Post{}, err
	}
	post, err := p.one(ctx, before.ID)
	if err == nil {
		p.noticeEdit(ctx, before, post)
	}
	return post, err
}

// Edit is an earlier text of a post.
type Edit struct {
	Until time.Time // when it was replaced
	Body  string
}

// Edits returns the earlier texts of a post, the latest first; none for a post that
// does not exist. One round trip.
func (p *posts) Edits(ctx context.Context, id int64) ([]Edit, error) {
	texts, err := p.db.client.Do(ctx, p.db.client.B().Lrange().Key(layout.EditsKey(id)).Start(0).Stop(fanout.MaxEdits).Build()).AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("social: read the earlier texts of a post: %w", err)
	}
	edits := make([]Edit, len(texts))
	for i, entry := range texts {
		until, body, _ := strings.Cut(entry, " ")
		edits[i] = Edit{Until: layout.ParseTime(until), Body: body}
	}
	return edits, nil
}

// Delete deletes a post of the author. Nobody sees it from now on; a stub is left
// where it has replies. Its reposts are deleted too. Repeating it changes nothing. It
// returns ErrNotFound, and ErrNotAuthor for a post of another user.
func (p *posts) Delete(ctx context.Context, author User, id int64) error {
	post, err := p.stored(ctx, id)
	switch {
	case err != nil:
		return err
	case post.Author.ID != author.ID:
		_, err := p.own(ctx, author, id)
		return err
	case post.Deleted:
		return nil
	}
	err = p.fanOut.Delete(ctx, id)
	p.timelines.Removed(id)
	p.lists.views.touch(id)
	for _, other := range []int64{post.Parent, post.RepostOf} {
		if other != 0 {
			p.lists.views.touch(other)
		}
	}
	if err == nil && post.RepostOf != 0 {
		if original, err := p.stored(ctx, post.RepostOf); err == nil {
			p.noticeUnrepost(ctx, author, original, post.Time)
		}
	}
	return err
}

// stored returns a post as it is in the database, a stub included, or ErrNotFound.
func (p *posts) stored(ctx context.Context, id int64) (Post, error) {
	read := rueidis.Completed(postCommand(p.db.client, id))
	posts, err := parseAll(ctx, p.users, []int64{id}, []rueidis.RedisResult{p.db.client.Do(ctx, read)})
	if err != nil {
		return Post{}, err
	}
	if posts[0].ID == 0 {
		return Post{}, ErrNotFound
	}
	return posts[0], nil
}

// one returns a post as it is in the database, or ErrNotFound; a deleted one is not
// found.
func (p *posts) one(ctx context.Context, id int64) (Post, error) {
	post, err := p.stored(ctx, id)
	if err == nil && post.Deleted {
		err = ErrNotFound
	}
	return post, err
}

// original returns the post on which a user acts: that one, or the one that it
// repeats. A post that the user must not see is not found.
func (p *posts) original(ctx context.Context, user User, id int64) (Post, error) {
	viewer, err := p.lists.viewers.Viewer(ctx, user)
	if err != nil {
		return Post{}, err
	}
	viewer = viewer.acting()
	post, err := p.one(ctx, id)
	if err == nil && post.RepostOf != 0 && Visible(viewer, post) != Hidden {
		post, err = p.one(ctx, post.RepostOf)
	}
	if err == nil && Visible(viewer, post) == Hidden {
		err = ErrNotFound
	}
	return post, err
}

// own returns a post that a user has written, or ErrNotAuthor, or ErrNotFound where
// the user must not even see it.
func (p *posts) own(ctx context.Context, user User, id int64) (Post, error) {
	post, err := p.one(ctx, id)
	if err != nil || post.Author.ID == user.ID {
		return post, err
	}
	viewer, err := p.lists.viewers.Viewer(ctx, user)
	if err != nil {
		return Post{}, err
	}
	if Visible(viewer, post) == Hidden {
		return Post{}, ErrNotFound
	}
	return Post{}, ErrNotAuthor
}
