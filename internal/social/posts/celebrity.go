package posts

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
)

// audienceCommands reads what decide needs, for a pipeline.
func (w *writer) audienceCommands(job *Job) rueidis.Commands {
	switch {
	case w.celebrities == nil:
	case job.isNarrow():
		b := w.client.B()
		return rueidis.Commands{
			b.Zcard().Key(storage.FollowersKey(job.Author)).Build(),
			b.Zcard().Key(storage.FollowersKey(job.To)).Build(),
		}
	case job.Parent == 0:
		return w.celebrities.Commands(job.Author)
	}
	return nil
}

// chooseAudience leaves the followers of the author out where home timelines are merged with the
// author's posts. The audience of a reply is those who follow both authors, so it takes
// the smaller of both sets of followers. It reports whether the job begins elsewhere
// than with the followers of its author. A job that is repeated decides again.
func (w *writer) chooseAudience(ctx context.Context, job *Job, res []rueidis.RedisResult) (elsewhere bool, err error) {
	switch {
	case len(res) == 0:
		return false, nil
	case job.isNarrow():
		var n [2]int64
		for i := range n {
			if n[i], err = reply.OrEmpty(res[i].AsInt64()); err != nil {
				return false, fmt.Errorf("social: count followers: %w", err)
			}
		}
		was := job.ofOther // the first page is of these followers
		job.ofOther = n[1] < n[0]
		return job.ofOther != was, nil
	}
	merged, err := w.celebrities.Decide(ctx, job.Author, job.post, job.Fields != nil, res)
	if merged {
		job.source = 1
	}
	return merged, err
}

// IsMerged reports whether the posts of an author are not put on the home timelines of
// followers.
func (e *Engine) IsMerged(ctx context.Context, author int64) bool {
	first, err := e.celebrities.First(ctx, author)
	return err == nil && first != 0
}
