package posts

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
)

// audienceCommands returns the reads that chooseAudience needs, for a pipeline.
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

// chooseAudience chooses the set of followers with which a job starts. It skips the author's
// followers if the author's posts are merged into home timelines at read time. The audience of a
// reply is the users who follow both authors, so the job starts with the smaller of the two sets of
// followers. changed reports whether the job does not start with the set whose first page the
// caller has read. A repeated job chooses again.
func (w *writer) chooseAudience(ctx context.Context, job *Job, res []rueidis.RedisResult) (changed bool, err error) {
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
		before := job.fromParentAuthor // determines the set whose first page was read
		job.fromParentAuthor = n[1] < n[0]
		return job.fromParentAuthor != before, nil
	}
	merged, err := w.celebrities.Decide(ctx, job.Author, job.post, job.Fields != nil, res)
	if merged {
		job.source = 1
	}
	return merged, err
}

// IsMerged reports whether the posts of an author are merged into home timelines at read time
// instead of being pushed to followers.
func (e *Engine) IsMerged(ctx context.Context, author int64) bool {
	first, err := e.celebrities.First(ctx, author)
	return err == nil && first != 0
}
