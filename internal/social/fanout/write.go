package fanout

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/script"
	"retwis/internal/social/follow"
	"retwis/internal/social/hash"
	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
)

//go:embed create_post.lua
var createPostSource string

var createPostScript = script.New(createPostSource).Retryable()

// pageOfFollowers is how many followers are read at a time.
const pageOfFollowers = 200

// writer writes posts and puts them on timelines. Each of its writes can be
// repeated.
type writer struct {
	client  rueidis.Client
	cluster bool
	log     *slog.Logger
	now     func() time.Time
	follows follow.Store
	lists   *collection.Timelines
}

// create writes a post unless its id is in use, and adds it to `fanouts`, so
// that an interrupted fan-out is finished by another process: in the same
// script, or on a Cluster before it; an entry without a post does no harm.
func (w *writer) create(ctx context.Context, id int64, fields []string) (bool, error) {
	if !w.cluster {
		return createPostScript.Run(ctx, w.client, []string{layout.PostKey(id), layout.FanOuts},
			append([]string{layout.Itoa(id), layout.Seconds(w.now())}, fields...)).AsBool()
	}
	if err := w.note(ctx, id); err != nil {
		return false, err
	}
	return hash.Create(ctx, w.client, layout.PostKey(id), fields)
}

// note adds a post to `fanouts`.
func (w *writer) note(ctx context.Context, id int64) error {
	return w.client.Do(ctx, w.client.B().Zadd().Key(layout.FanOuts).ScoreMember().
		ScoreMember(float64(w.now().Unix()), layout.Itoa(id)).Build().ToRetryable()).Error()
}

// restore makes sure that the post itself and its place in `fanouts` exist,
// before a fan-out is repeated. It returns ErrNoPost where the post is lost.
func (w *writer) restore(ctx context.Context, job Job) error {
	if job.fields == nil {
		exists, err := w.client.Do(ctx, w.client.B().Exists().Key(layout.PostKey(job.post)).Build()).AsBool()
		switch {
		case err != nil:
			return err
		case !exists:
			return errors.Join(forget(ctx, w.client, job.post), ErrNoPost)
		}
		return w.note(ctx, job.post)
	}
	created, err := w.create(ctx, job.post, job.fields)
	if err == nil && !created {
		w.log.ErrorContext(ctx, "a post was lost in a failover: its id belongs to another post by now", "post", job.post, "author", job.author)
		return ErrNoPost
	}
	return err
}

// pushOwn puts a post on the home timeline and the profile of its author and on
// the public timeline, and reads the first page of followers.
func (w *writer) pushOwn(ctx context.Context, job Job) (followers rueidis.RedisResult, err error) {
	id := layout.Itoa(job.post)
	res := w.client.DoMulti(ctx,
		w.lists.PutCommand(job.post, layout.HomeKey(job.author)),
		w.client.B().Zadd().Key(layout.ProfileKey(job.author)).ScoreMember().ScoreMember(float64(job.post), id).Build().ToRetryable(),
		w.lists.PutCommand(job.post, layout.Timeline),
		w.followers(job.author, follow.First),
	)
	for _, r := range res[:3] {
		if err := r.Error(); reply.IsWrongType(err) {
			// A damaged key must not prevent posting; a check reports it.
			w.log.WarnContext(ctx, "a post could not be put on a list of its author", "post", job.post, "author", job.author, "error", err)
		} else if err != nil {
			return res[3], fmt.Errorf("social: post: %w", err)
		}
	}
	return res[3], nil
}

// followers reads a page of followers, the latest first.
func (w *writer) followers(author int64, after follow.Cursor) rueidis.Completed {
	return w.follows.PageCommand(layout.FollowersKey(author), after, pageOfFollowers)
}

// pushNext reads a page of followers and pushes the post to them; see pushPage.
func (w *writer) pushNext(ctx context.Context, job Job) (follow.Cursor, error) {
	return w.pushPage(ctx, job, w.client.Do(ctx, w.followers(job.author, job.after)))
}

// pushPage puts the post on the timelines of one page of followers and returns
// the cursor of the next page, follow.First at the end.
func (w *writer) pushPage(ctx context.Context, job Job, page rueidis.RedisResult) (next follow.Cursor, err error) {
	// id, time, id, time ...
	followers, err := page.AsStrSlice()
	if err != nil {
		return follow.First, fmt.Errorf("social: fan out post %d: %w", job.post, err)
	}
	homes := make([]string, 0, len(followers)/2)
	for i := 0; i+1 < len(followers); i += 2 {
		since, _ := strconv.ParseFloat(followers[i+1], 64)
		if !follow.IsDigits(followers[i]) || job.followedBy != 0 && since > job.followedBy {
			continue
		}
		homes = append(homes, layout.HomePrefix+followers[i])
	}
	if err := w.lists.Put(ctx, job.post, homes...); err != nil {
		return follow.First, fmt.Errorf("social: fan out post %d: %w", job.post, err)
	}
	if n := len(followers); n == 2*pageOfFollowers {
		return follow.Cursor{Since: followers[n-1], ID: followers[n-2]}, nil
	}
	return follow.First, nil
}
