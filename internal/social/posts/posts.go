package posts

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/blocklist"
	"retwis/internal/social/fanout"
	"retwis/internal/social/layout"
	"retwis/internal/social/media"
	"retwis/internal/social/notify"
	"retwis/internal/social/storage"
	"retwis/internal/social/text"
	"retwis/internal/social/timeline"
	"retwis/internal/social/trends"
	"retwis/internal/social/users"
)

// Service publishes and reads posts.
type Service struct {
	users      *users.Users
	blocks     *blocklist.List
	db         storage.Database
	fanOut     *fanout.Engine
	views      *timeline.Views
	viewers    *timeline.Viewers
	lists      *timeline.Lists
	timelines  *timeline.Timelines
	notices    *notify.Service
	trends     *trends.Counter
	pictures   *media.Store
	log        *slog.Logger
	now        func() time.Time
	maxBacklog int64 // see Options.MaxBacklog
}

// Options are what a Service, Reactions and Tags need; all are required.
type Options struct {
	DB         storage.Database
	Users      *users.Users
	Blocklist  *blocklist.List
	FanOut     *fanout.Engine
	Views      *timeline.Views
	Viewers    *timeline.Viewers
	Lists      *timeline.Lists
	Timelines  *timeline.Timelines
	Notices    *notify.Service
	Trends     *trends.Counter
	Pictures   *media.Store
	Log        *slog.Logger
	Now        func() time.Time
	MaxBacklog int64 // see Options.MaxBacklog
}

// New returns a Service.
func New(opt Options) *Service {
	return &Service{
		users: opt.Users, blocks: opt.Blocklist, db: opt.DB, views: opt.Views, viewers: opt.Viewers, fanOut: opt.FanOut, lists: opt.Lists, timelines: opt.Timelines, notices: opt.Notices, trends: opt.Trends,
		pictures: opt.Pictures,
		log:      opt.Log, now: opt.Now, maxBacklog: opt.MaxBacklog,
	}
}

// Draft is what somebody wants to publish.
type Draft struct {
	Body      string
	Pictures  []media.Chosen
	Sensitive bool // the pictures are shown after a click
}

// Post publishes a text: on the author's profile and home timeline, on the
// public timeline, and on the home timelines of the author's followers. It
// returns *InvalidError for a text that is not allowed, and ErrForbidden for an address that is
// blocked.
//
// When it returns, the master has the post, and every timeline but the home
// timelines of followers beyond the first thousand or so, which are written in
// the background. Whatever interrupts the fan-out, it is finished later; see
// package fanout. Five round trips, six on a Cluster, and five more for each 200
// followers of the first thousand.
func (p *Service) Post(ctx context.Context, author social.User, body string) (social.Post, error) {
	return p.post(ctx, author, Draft{Body: body}, false)
}

// post is Post, or PostOnce.
func (p *Service) post(ctx context.Context, author social.User, draft Draft, once bool) (social.Post, error) {
	body, err := p.clean(ctx, draft.Body)
	if err != nil {
		return social.Post{}, err
	}
	post := social.Post{Author: author, Time: p.time(), Body: body, Sensitive: draft.isSensitive()}
	repeated, err := p.publish(ctx, &post, fanout.Entry{Author: author.ID, Tags: text.Tags(body)}, creation{once, draft.Pictures})
	if err != nil {
		return social.Post{}, err
	}
	p.timelines.Published(post.ID)
	if !repeated {
		p.trends.Posted(author, body)
		p.noticePost(ctx, post)
	}
	return post, nil
}

// clean returns a typed text as it is stored, or why it must not be posted.
func (p *Service) clean(ctx context.Context, typed string) (string, error) {
	body, err := social.CleanBody(typed)
	if err == nil {
		err = p.blocks.CheckAddress(ctx)
	}
	if err == nil {
		err = p.blocks.CheckText(ctx, "status", body)
	}
	return body, err
}

// isSensitive reports whether there is something to show after a click.
func (d Draft) isSensitive() bool { return d.Sensitive && len(d.Pictures) > 0 }

// time is the time of a post that is written now.
func (p *Service) time() time.Time { return p.now().UTC().Truncate(time.Second) }

// fieldsOf returns the hash of a new post; to is the author of the post that it replies to.
func fieldsOf(post social.Post, to int64) []string {
	fields := []string{"user_id", layout.Itoa(post.Author.ID), "time", layout.Seconds(post.Time)}
	if post.Parent != 0 {
		fields = append(fields, "parent", layout.Itoa(post.Parent), "root", layout.Itoa(post.Root), "to", layout.Itoa(to))
	}
	if post.RepostOf != 0 {
		return append(fields, "repost_of", layout.Itoa(post.RepostOf))
	}
	fields = append(fields, "body", post.Body)
	if post.Media != "" {
		fields = append(fields, "media", string(post.Media))
	}
	if post.Sensitive {
		fields = append(fields, "sensitive", "1")
	}
	return fields
}

// creation is how a post is written: a text that may be a repetition, and its pictures.
type creation struct {
	once     bool
	pictures []media.Chosen
}

// publish writes a post under a new id and begins its fan-out. repeated reports that
// another call has written it; see PostOnce.
func (p *Service) publish(ctx context.Context, post *social.Post, entry fanout.Entry, c creation) (repeated bool, err error) {
	if err := p.admit(ctx, entry.Author); err != nil {
		return false, err
	}
	if c.once || len(c.pictures) > 0 {
		job, repeated, err := p.createAs(ctx, post, entry, c)
		if err != nil {
			return false, err
		}
		return repeated, p.fanOut.Publish(ctx, job)
	}
	entry.Fields = fieldsOf(*post, entry.To)
	job := p.fanOut.NewJob(ctx, entry)
	if err := p.fanOut.Create(ctx, &job); err != nil {
		return false, fmt.Errorf("social: post: %w", err)
	}
	post.ID = job.ID()
	return false, p.fanOut.Publish(ctx, job)
}

// admit refuses a post to many followers, with ErrOverloaded, while too much waits in
// the background: it would reach them late, and delay all others.
func (p *Service) admit(ctx context.Context, author int64) error {
	if p.maxBacklog < 0 {
		return nil
	}
	n, err := p.fanOut.Jobs.Backlog(ctx)
	if err != nil || n <= p.maxBacklog { // what cannot be counted is no reason to refuse a post
		return nil
	}
	followers, err := p.db.Client.Do(ctx, p.db.Client.B().Zcard().Key(layout.FollowersKey(author)).Build()).AsInt64()
	if err != nil || followers <= fanout.AtOnce || p.fanOut.IsMerged(ctx, author) {
		return nil
	}
	return social.ErrOverloaded
}

// Posts returns the posts with these ids, in their order, without those that do
// not exist or are deleted. Two round trips at most.
func (p *Service) Posts(ctx context.Context, ids ...int64) ([]social.Post, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	cmds := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		cmds[i] = rueidis.Completed(timeline.PostCommand(p.db.Client, id))
	}
	all, err := timeline.ParseAll(ctx, p.users, ids, p.db.Client.DoMulti(ctx, cmds...))
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
