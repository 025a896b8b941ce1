package posts

import (
	"context"
	"errors"
	"fmt"

	"retwis/internal/redis/reply"
	"retwis/internal/social"

	"retwis/internal/social/storage"
)

// Repost puts a post on the user's profile and on the home timelines of the user's followers, as an
// entry with an ID of its own. It returns the entry. A repost of a repost is a repost of the
// original. If the user has already reposted the post, Repost returns that repost. It returns
// ErrNotFound as Reply does.
func (p *Service) Repost(ctx context.Context, user social.User, id int64) (social.Post, error) {
	original, err := p.original(ctx, user, id)
	if err != nil {
		return social.Post{}, err
	}
	defer p.opt.Views.Touch(original.ID)
	for {
		current, err := p.repostBy(ctx, user.ID, original.ID)
		if err != nil {
			return social.Post{}, err
		}
		if current.ID != 0 && !current.Deleted {
			return current, nil
		}
		post := social.Post{Author: user, Time: p.time(), RepostOf: original.ID}
		err = p.publish(ctx, &post, Entry{
			Author: user.ID, RepostOf: original.ID, To: original.Author.ID, Replaces: current.ID,
		}, creation{})
		if err == nil {
			p.opt.Trends.Reacted(user, original)
			return post, nil
		}
		if !errors.Is(err, ErrRefused) {
			return social.Post{}, err
		}
		// Either the post is gone, or the user has reposted it in the meantime.
		if original, err = p.existing(ctx, original.ID); err != nil {
			return social.Post{}, err
		}
	}
}

// Unrepost deletes the user's repost of a post. id is the ID of the original or of any repost of
// the original. Unrepost does nothing if there is no repost. It returns ErrNotFound if the post
// does not exist.
func (p *Service) Unrepost(ctx context.Context, user social.User, id int64) error {
	post, err := p.existing(ctx, id)
	if err == nil && post.RepostOf != 0 {
		post, err = p.existing(ctx, post.RepostOf)
	}
	if err != nil {
		return err
	}
	repost, err := p.repostBy(ctx, user.ID, post.ID)
	if err != nil || repost.ID == 0 {
		return err
	}
	if err := p.opt.FanOut.Deletions.Delete(ctx, repost.ID); err != nil {
		return err
	}
	p.opt.Views.Touch(post.ID)
	p.opt.Views.Touch(repost.ID)
	p.noticeUnrepost(ctx, user, post, repost.Time)
	return nil
}

// repostBy returns the user's repost of a post, or the zero Post if there is none. If the repost is
// deleted or lost, only ID and Deleted are set.
func (p *Service) repostBy(ctx context.Context, user, post int64) (social.Post, error) {
	score, err := reply.Text(p.opt.DB.Client.Do(ctx, p.opt.DB.Client.B().Zscore().Key(storage.RepostersKey(post)).Member(storage.Itoa(user)).Build()))
	if err != nil || score == "" {
		return social.Post{}, err
	}
	id, err := storage.ParseScore(score)
	if err != nil {
		return social.Post{}, fmt.Errorf("social: key %s: %w", storage.RepostersKey(post), err)
	}
	repost, err := p.existing(ctx, id)
	if errors.Is(err, social.ErrNotFound) {
		return social.Post{ID: id, Deleted: true}, nil
	}
	return repost, err
}
