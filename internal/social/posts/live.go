package posts

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/live/stream"
	"retwis/internal/social/storage"
)

// liveMaxAge is the maximum age of a post that a repeated fan-out still adds to the stream of new
// posts. Repairs must not announce old posts.
const liveMaxAge = time.Hour

// report ends the synchronous part of a fan-out, when the author's lists and the first followers
// have the post. It adds the post to the stream of new posts, removes posts from the public
// timeline that are no longer among the newest of their author, and reads the post again for
// reconcile. A repeated fan-out calls report again. One round trip.
func (w *writer) report(ctx context.Context, job *Job) error {
	cmds, b := rueidis.Commands{rereadCommand(w.client, job.post)}, w.client.B()
	if job.followedBy == 0 || float64(w.now().Add(-liveMaxAge).Unix()) <= job.followedBy {
		cmds = append(cmds, stream.AddCommand(w.client, stream.Entry{
			Post: job.post, Author: job.Author, Root: job.Root, To: job.To, RepostOf: job.RepostOf, Tags: job.Tags,
		}))
	}
	end := w.end.Load()
	for _, id := range job.older {
		if end == nil || id >= end.post || w.now().Sub(end.at) > timelineEndTTL {
			cmds = append(cmds, w.removeFromTimeline(id).ToRetryable(), b.Lindex().Key(storage.Timeline).Index(-1).Build())
			end = nil
		}
	}
	res := w.client.DoMulti(ctx, cmds...)
	current, err := reply.Fields(res[0])
	if err != nil {
		return fmt.Errorf("social: read a post: %w", err)
	}
	job.reread = current
	if len(job.older) > 0 && end == nil {
		last, _ := reply.TextOrEmpty(res[len(res)-1])
		id, _ := storage.ParseID(last)
		w.end.Store(&timelineEnd{id, w.now()})
	}
	for _, r := range res[1:] {
		if err := r.Error(); rediserr.IsWrongType(err) { // a check reports the key
			w.log.WarnContext(ctx, "cannot add a post to the stream of new posts", "post", job.post, "error", err)
		} else if err != nil && !rueidis.IsRedisNil(err) {
			return fmt.Errorf("social: post: %w", err)
		}
	}
	return nil
}

// timelineEnd is the last post of the public timeline at some time.
type timelineEnd struct {
	post int64
	at   time.Time
}

// timelineEndTTL is the time for which a timelineEnd is used. The end of the timeline moves to
// newer posts; only a repair adds older posts.
const timelineEndTTL = time.Minute

// rereadCommand returns the command that reads `deleted` and `body` of a post that is on its lists,
// to detect concurrent changes.
func rereadCommand(client rueidis.Client, post int64) rueidis.Completed {
	return client.B().Hmget().Key(storage.PostKey(post)).Field("deleted", "body").Build()
}

// reread runs rereadCommand.
func (d *db) reread(ctx context.Context, post int64) ([]string, error) {
	fields, err := reply.Fields(d.client.Do(ctx, rereadCommand(d.client, post)))
	if err != nil {
		return nil, fmt.Errorf("social: read a post: %w", err)
	}
	return fields, nil
}
