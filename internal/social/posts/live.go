package posts

import (
	"context"
	"time"

	"retwis/internal/redis/rediserr"
	"retwis/internal/social/live/stream"
)

// liveFor is how old a post may be that a repeated fan-out still adds to the stream
// of new posts: a repair of old posts is no news.
const liveFor = time.Hour

// report adds a post to the stream of new posts: the author's lists and the first
// followers have it. A fan-out that is repeated reports it again.
func (w *writer) report(ctx context.Context, job *Job) error {
	if job.followedBy != 0 && float64(w.now().Add(-liveFor).Unix()) > job.followedBy {
		return nil
	}
	err := w.client.Do(ctx, stream.AddCommand(w.client, stream.Entry{
		Post: job.post, Author: job.Author, Root: job.Root, To: job.To, Of: job.RepostOf, Tags: job.Tags,
	})).Error()
	if rediserr.IsWrongType(err) { // a check reports it
		w.log.WarnContext(ctx, "a post could not be added to the stream of new posts", "post", job.post, "error", err)
		return nil
	}
	return err
}
