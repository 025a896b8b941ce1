package posts

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/blocklist"

	"retwis/internal/social/media"
	"retwis/internal/social/notify"
	"retwis/internal/social/search"
	"retwis/internal/social/timeline"
)

// Service publishes and reads posts.
type Service struct{ opt Options }

// Options configure a Service, Reactions and Tags; all fields are required.
type Options struct {
	timeline.Parts
	Blocklist  *blocklist.List
	FanOut     *Engine
	Notices    *notify.Service
	Trends     *search.TrendCounter
	Pictures   *media.Store
	MaxBacklog int64 // see app.Options
}

// New returns a Service. From then on, the engine notifies people of posts.
func New(opt Options) *Service {
	opt.FanOut.notices = opt.Notices
	return &Service{opt}
}

// Posts returns the posts with the given IDs in the same order, without posts that do not exist or
// are deleted. At most two round trips.
func (p *Service) Posts(ctx context.Context, ids ...int64) ([]social.Post, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	cmds := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		cmds[i] = rueidis.Completed(timeline.PostCommand(p.opt.DB.Client, id))
	}
	all, err := timeline.ParseAll(ctx, p.opt.Users, ids, p.opt.DB.Client.DoMulti(ctx, cmds...))
	if err != nil {
		return nil, err
	}
	found := all[:0]
	for _, post := range all {
		if post.ID != 0 && !post.Deleted {
			found = append(found, post)
		}
	}
	return found, nil
}

// stored returns a post as stored, including a stub, or ErrNotFound.
func (p *Service) stored(ctx context.Context, id int64) (social.Post, error) {
	read := rueidis.Completed(timeline.PostCommand(p.opt.DB.Client, id))
	posts, err := timeline.ParseAll(ctx, p.opt.Users, []int64{id}, []rueidis.RedisResult{p.opt.DB.Client.Do(ctx, read)})
	if err != nil {
		return social.Post{}, err
	}
	if posts[0].ID == 0 {
		return social.Post{}, social.ErrNotFound
	}
	return posts[0], nil
}

// existing returns a post as stored, or ErrNotFound if it does not exist or is deleted.
func (p *Service) existing(ctx context.Context, id int64) (social.Post, error) {
	post, err := p.stored(ctx, id)
	if err == nil && post.Deleted {
		err = social.ErrNotFound
	}
	return post, err
}

// original returns the post on which a user acts: the given post, or its original if it is a
// repost. It returns ErrNotFound if the user must not see the post.
func (p *Service) original(ctx context.Context, user social.User, id int64) (social.Post, error) {
	viewer, err := p.opt.Viewers.Get(ctx, user)
	if err != nil {
		return social.Post{}, err
	}
	viewer = viewer.Acting()
	post, err := p.existing(ctx, id)
	if err == nil && post.RepostOf != 0 && social.Visible(viewer, post) != social.Hidden {
		post, err = p.existing(ctx, post.RepostOf)
	}
	if err == nil && social.Visible(viewer, post) == social.Hidden {
		err = social.ErrNotFound
	}
	return post, err
}

// own returns a post written by the user. It returns ErrNotAuthor for another user's post, or
// ErrNotFound if the user must not see that post.
func (p *Service) own(ctx context.Context, user social.User, id int64) (social.Post, error) {
	post, err := p.existing(ctx, id)
	if err != nil || post.Author.ID == user.ID {
		return post, err
	}
	viewer, err := p.opt.Viewers.Get(ctx, user)
	if err != nil {
		return social.Post{}, err
	}
	if social.Visible(viewer, post) == social.Hidden {
		return social.Post{}, social.ErrNotFound
	}
	return social.Post{}, social.ErrNotAuthor
}

// time returns the time for a post written now.
func (p *Service) time() time.Time { return p.opt.Now().UTC().Truncate(time.Second) }
