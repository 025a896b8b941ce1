package posts

import (
	"context"
	"errors"

	"retwis/internal/social"

	"retwis/internal/social/text"
)

// Reply publishes a reply to a post, or to the original of a repost. The reply appears in the
// conversation, on the author's own list of replies and home timeline, and on the home timelines of
// users who follow both authors. The guarantees of Post apply. Reply returns ErrNotFound if the
// parent does not exist, is deleted, or is hidden from the author of the reply, and *InvalidError
// if the text is not allowed. Four round trips more than Post.
func (p *Service) Reply(ctx context.Context, author social.User, parent int64, body string) (social.Post, error) {
	return p.reply(ctx, author, parent, Draft{Body: body}, false)
}

// ReplyOnce is to Reply what PostOnce is to Post, for replies to the same post.
func (p *Service) ReplyOnce(ctx context.Context, author social.User, parent int64, draft Draft) (social.Post, error) {
	return p.reply(ctx, author, parent, draft, true)
}

// reply implements Reply and ReplyOnce.
func (p *Service) reply(ctx context.Context, author social.User, parent int64, draft Draft, once bool) (social.Post, error) {
	body, err := p.clean(ctx, draft)
	if err != nil {
		return social.Post{}, err
	}
	to, err := p.original(ctx, author, parent)
	if err != nil {
		return social.Post{}, err
	}
	post := social.Post{Author: author, Time: p.time(), Body: body, Parent: to.ID, Root: to.Conversation(), Sensitive: draft.isSensitive()}
	err = p.publish(ctx, &post, Entry{
		Author: author.ID, Tags: text.Tags(body), Parent: to.ID, To: to.Author.ID, Root: post.Root,
	}, creation{once, draft.Pictures})
	p.opt.Views.Touch(to.ID)
	var invalid *social.InvalidError
	if errors.Is(err, ErrRefused) && !errors.As(err, &invalid) {
		return social.Post{}, social.ErrNotFound
	}
	if err != nil {
		return social.Post{}, err
	}
	p.opt.Trends.Posted(author, post)
	p.opt.Trends.Reacted(author, to)
	return post, nil
}
