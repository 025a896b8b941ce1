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
// entry with its own id, which is returned. A repost of a repost repeats the original. Repeating it
// changes nothing. It returns ErrNotFound as Reply does.
func (p *Service) Repost(ctx context.Context, user social.User, id int64) (social.Post, error) {
	original, err := p.original(ctx, user, id)
	if err != nil {
		return social.Post{}, err
	}
	defer p.opt.Views.Touch(original.ID)
	for {
		has, err := p.repostBy(ctx, user.ID, original.ID)
		if err != nil {
			return social.Post{}, err
		}
		if has.ID != 0 && !has.Deleted {
			return has, nil
		}
		post := social.Post{Author: user, Time: p.time(), RepostOf: original.ID}
		err = p.publish(ctx, &post, Entry{
			Author: user.ID, RepostOf: original.ID, To: original.Author.ID, Replaces: has.ID,
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

// Unrepost ends a repost: its entry leaves all lists. id is that of the original or of a repost of
// it. Repeating it changes nothing. It returns ErrNotFound if the post does not exist.
func (p *Service) Unrepost(ctx context.Context, user social.User, id int64) error {
	post, err := p.existing(ctx, id)
	if err == nil && post.RepostOf != 0 {
		post, err = p.existing(ctx, post.RepostOf)
	}
	if err != nil {
		return err
	}
	has, err := p.repostBy(ctx, user.ID, post.ID)
	if err != nil || has.ID == 0 {
		return err
	}
	if err := p.opt.FanOut.Deletions.Delete(ctx, has.ID); err != nil {
		return err
	}
	p.opt.Views.Touch(post.ID)
	p.opt.Views.Touch(has.ID)
	p.noticeUnrepost(ctx, user, post, has.Time)
	return nil
}

// repostBy returns the user's repost of a post, with only its ID if its entry is lost, or the zero
// Post if there is none.
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
