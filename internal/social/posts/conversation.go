package posts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/fanout"
	"retwis/internal/social/layout"
	"retwis/internal/social/text"
	"retwis/internal/social/timeline"
)

// Reply publishes a reply to a post, or to the one that a repost repeats. It appears
// in the conversation, on the author's own list of replies and home timeline, and on
// the home timelines of those who follow both people; see Post, whose guarantees
// hold. It returns ErrNotFound for a post that does not exist, is deleted, or must not
// be seen by the author of the reply, and *InvalidError for a text that is not
// allowed. Four round trips more than Post.
func (p *Service) Reply(ctx context.Context, author social.User, parent int64, body string) (social.Post, error) {
	return p.reply(ctx, author, parent, Draft{Body: body}, false)
}

// reply is Reply, or ReplyOnce.
func (p *Service) reply(ctx context.Context, author social.User, parent int64, draft Draft, once bool) (social.Post, error) {
	body, err := p.clean(ctx, draft.Body)
	if err != nil {
		return social.Post{}, err
	}
	to, err := p.original(ctx, author, parent)
	if err != nil {
		return social.Post{}, err
	}
	post := social.Post{Author: author, Time: p.time(), Body: body, Parent: to.ID, Root: to.Conversation(), Sensitive: draft.isSensitive()}
	repeated, err := p.publish(ctx, &post, fanout.Entry{
		Author: author.ID, Tags: text.Tags(body), Parent: to.ID, To: to.Author.ID, Root: post.Root,
	}, creation{once, draft.Pictures})
	p.views.Touch(to.ID)
	if errors.Is(err, fanout.ErrRefused) {
		return social.Post{}, social.ErrNotFound
	}
	if err != nil {
		return social.Post{}, err
	}
	if !repeated {
		p.trends.Posted(author, body)
		p.trends.Reacted(author, to)
		p.noticeReply(ctx, post, to)
	}
	return post, nil
}

// Repost puts a post on the user's profile and on the home timelines of the user's
// followers: as an entry with its own id, which is returned. A repost of a
// repost repeats the original. Repeating it changes nothing. It returns ErrNotFound
// as Reply does.
func (p *Service) Repost(ctx context.Context, user social.User, id int64) (social.Post, error) {
	original, err := p.original(ctx, user, id)
	if err != nil {
		return social.Post{}, err
	}
	defer p.views.Touch(original.ID)
	for {
		has, err := p.repostBy(ctx, user.ID, original.ID)
		if err != nil {
			return social.Post{}, err
		}
		if has.ID != 0 && !has.Deleted {
			return has, nil
		}
		post := social.Post{Author: user, Time: p.time(), RepostOf: original.ID}
		_, err = p.publish(ctx, &post, fanout.Entry{
			Author: user.ID, RepostOf: original.ID, To: original.Author.ID, Replaces: has.ID,
		}, creation{})
		if err == nil {
			p.trends.Reacted(user, original)
			p.noticeRepost(ctx, post, original)
			return post, nil
		}
		if !errors.Is(err, fanout.ErrRefused) {
			return social.Post{}, err
		}
		// Either the post is gone, or the user has reposted it meanwhile.
		if original, err = p.one(ctx, original.ID); err != nil {
			return social.Post{}, err
		}
	}
}

// Unrepost ends a repost: its entry leaves all lists. id is that of the post or of a
// repost of it. Repeating it changes nothing; a post that does not exist is
// ErrNotFound.
func (p *Service) Unrepost(ctx context.Context, user social.User, id int64) error {
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
	if err := p.fanOut.Deletions.Delete(ctx, has.ID); err != nil {
		return err
	}
	p.views.Touch(post.ID)
	p.views.Touch(has.ID)
	p.noticeUnrepost(ctx, user, post, has.Time)
	return nil
}

// repostBy returns the user's repost of a post, with only its id where its entry is
// lost; the zero Post where there is none.
func (p *Service) repostBy(ctx context.Context, user, post int64) (social.Post, error) {
	score, err := reply.Text(p.db.Client.Do(ctx, p.db.Client.B().Zscore().Key(layout.RepostersKey(post)).Member(layout.Itoa(user)).Build()))
	if err != nil || score == "" {
		return social.Post{}, err
	}
	id, err := layout.ParseScore(score)
	if err != nil {
		return social.Post{}, fmt.Errorf("social: key %s: %w", layout.RepostersKey(post), err)
	}
	repost, err := p.one(ctx, id)
	if errors.Is(err, social.ErrNotFound) {
		return social.Post{ID: id, Deleted: true}, nil
	}
	return repost, err
}

// Edit replaces the text of a post and keeps the earlier one; see Edits. It returns
// ErrNotFound, ErrNotAuthor for a post of another user, and *InvalidError for a text
// that is not allowed, or a post that was edited too often.
func (p *Service) Edit(ctx context.Context, author social.User, id int64, body string) (social.Post, error) {
	body, err := p.clean(ctx, body)
	if err != nil {
		return social.Post{}, err
	}
	before, err := p.own(ctx, author, id)
	if err == nil && before.RepostOf != 0 {
		before, err = p.own(ctx, author, before.RepostOf)
	}
	if err != nil {
		return social.Post{}, err
	}
	err = p.fanOut.Edit(ctx, before.ID, body)
	p.views.Touch(before.ID)
	switch {
	case errors.Is(err, fanout.ErrNoPost):
		return social.Post{}, social.ErrNotFound
	case errors.Is(err, fanout.ErrEdits):
		return social.Post{}, social.Invalid("status", fmt.Sprintf("You can edit a post %d times. Write a new one.", fanout.MaxEdits))
	case err != nil:
		return social.Post{}, err
	}
	post, err := p.one(ctx, before.ID)
	if err == nil {
		p.trends.Posted(author, body)
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
func (p *Service) Edits(ctx context.Context, id int64) ([]Edit, error) {
	texts, err := p.db.Client.Do(ctx, p.db.Client.B().Lrange().Key(layout.EditsKey(id)).Start(0).Stop(fanout.MaxEdits).Build()).AsStrSlice()
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
func (p *Service) Delete(ctx context.Context, author social.User, id int64) error {
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
	err = p.fanOut.Deletions.Delete(ctx, id)
	p.timelines.Removed(id)
	p.views.Touch(id)
	for _, other := range []int64{post.Parent, post.RepostOf} {
		if other != 0 {
			p.views.Touch(other)
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
func (p *Service) stored(ctx context.Context, id int64) (social.Post, error) {
	read := rueidis.Completed(timeline.PostCommand(p.db.Client, id))
	posts, err := timeline.ParseAll(ctx, p.users, []int64{id}, []rueidis.RedisResult{p.db.Client.Do(ctx, read)})
	if err != nil {
		return social.Post{}, err
	}
	if posts[0].ID == 0 {
		return social.Post{}, social.ErrNotFound
	}
	return posts[0], nil
}

// one returns a post as it is in the database, or ErrNotFound; a deleted one is not
// found.
func (p *Service) one(ctx context.Context, id int64) (social.Post, error) {
	post, err := p.stored(ctx, id)
	if err == nil && post.Deleted {
		err = social.ErrNotFound
	}
	return post, err
}

// original returns the post on which a user acts: that one, or the one that it
// repeats. A post that the user must not see is not found.
func (p *Service) original(ctx context.Context, user social.User, id int64) (social.Post, error) {
	viewer, err := p.viewers.Get(ctx, user)
	if err != nil {
		return social.Post{}, err
	}
	viewer = viewer.Acting()
	post, err := p.one(ctx, id)
	if err == nil && post.RepostOf != 0 && social.Visible(viewer, post) != social.Hidden {
		post, err = p.one(ctx, post.RepostOf)
	}
	if err == nil && social.Visible(viewer, post) == social.Hidden {
		err = social.ErrNotFound
	}
	return post, err
}

// own returns a post that a user has written, or ErrNotAuthor, or ErrNotFound where
// the user must not even see it.
func (p *Service) own(ctx context.Context, user social.User, id int64) (social.Post, error) {
	post, err := p.one(ctx, id)
	if err != nil || post.Author.ID == user.ID {
		return post, err
	}
	viewer, err := p.viewers.Get(ctx, user)
	if err != nil {
		return social.Post{}, err
	}
	if social.Visible(viewer, post) == social.Hidden {
		return social.Post{}, social.ErrNotFound
	}
	return social.Post{}, social.ErrNotAuthor
}
