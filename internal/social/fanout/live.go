package fanout

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
)

// maxLive is about how many entries the stream of new posts keeps.
const maxLive = 10_000

// report adds a post to the stream of new posts: the author's lists and the first
// followers have it. A fan-out that is repeated reports it again.
func (w *writer) report(ctx context.Context, job *Job) error {
	err := w.client.Do(ctx, w.reportCommand(job)).Error()
	if reply.IsWrongType(err) { // a check reports it
		w.log.WarnContext(ctx, "a post could not be added to the stream of new posts", "post", job.post, "error", err)
		return nil
	}
	return err
}

func (w *writer) reportCommand(job *Job) rueidis.Completed {
	add := w.client.B().Xadd().Key(layout.Live).Maxlen().Almost().Threshold(strconv.Itoa(maxLive)).Id("*").
		FieldValue().FieldValue("post", layout.Itoa(job.post)).FieldValue("author", layout.Itoa(job.Author)).
		FieldValue("root", layout.Itoa(job.Root)).FieldValue("tags", strings.Join(job.Tags, " "))
	if job.To != 0 {
		add = add.FieldValue("to", layout.Itoa(job.To))
	}
	if job.RepostOf != 0 {
		add = add.FieldValue("of", layout.Itoa(job.RepostOf))
	}
	return add.Build()
}
