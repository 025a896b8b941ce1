package posts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/internal/social/text"
)

// skew is the maximum clock difference between two processes.
const skew = time.Minute

// Retry repeats the fan-out of a post from start to finish. It does not change timelines that have
// the post, and skips users who followed after the post was written. It is no error if the post
// does not exist.
func (e *Engine) Retry(ctx context.Context, post int64) error {
	s, err := e.writer.readStub(ctx, post)
	if err != nil || !s.exists {
		return err
	}
	job, _ := jobOf(s.argument())
	job.published = true
	held, err := e.tasks.Begin(ctx, job.member())
	if err == nil {
		err = e.retry(ctx, &job, e.finishAll)
	}
	switch {
	case err == nil:
		return e.tasks.End(ctx, held...)
	default:
		e.tasks.Later(ctx, err, held...)
		return err
	}
}

// postTask runs a task of postKind.
func (e *Engine) postTask(ctx context.Context, argument string) error {
	job, ok := jobOf(argument)
	if !ok {
		e.log.WarnContext(ctx, "removed a task that names no post", "task", argument)
		return nil
	}
	return e.retry(ctx, &job, e.tasks.Add)
}

// retry repeats a fan-out from its start. It calls run with the recorded tasks for the followers
// after the first thousand or so.
func (e *Engine) retry(ctx context.Context, job *Job, run func(ctx context.Context, members ...string) error) error {
	segments, err := e.fanOut(ctx, job)
	switch {
	case errors.Is(err, ErrNoPost), errors.Is(err, errDeleted), errors.Is(err, ErrRefused):
		e.log.InfoContext(ctx, "ended a fan-out whose post no longer exists", "post", job.post, "reason", err)
		return e.abandon(ctx, job, err)
	case err != nil:
		return err
	}
	if err := run(ctx, segments...); err != nil {
		return err
	}
	if !job.published {
		e.notify(ctx, job)
	}
	return e.reconcile(ctx, *job)
}

// finishAll runs tasks to completion.
func (e *Engine) finishAll(ctx context.Context, members ...string) error {
	for _, member := range members {
		if err := e.tasks.Finish(ctx, member); err != nil {
			return err
		}
	}
	return nil
}

// fanOut runs a fan-out from its start and records segments for the part of the audience that it
// leaves to background tasks.
func (e *Engine) fanOut(ctx context.Context, job *Job) (segments []string, err error) {
	if err := e.writer.ensure(ctx, job); err != nil {
		return nil, err
	}
	if err := e.writer.attach(ctx, job, false); err != nil {
		return nil, err
	}
	job.begin()
	first, err := e.writer.pushOwn(ctx, job)
	if err == nil {
		segments, err = e.pushFirst(ctx, job, first)
	}
	return segments, err
}

// pushFirst puts a post on the timelines of the first thousand followers, whose first page has been
// read, and records segments for the other followers.
func (e *Engine) pushFirst(ctx context.Context, job *Job, first rueidis.RedisResult) (segments []string, err error) {
	err = e.writer.pushPage(ctx, job, first)
	for page := 1; err == nil && !job.done() && page < pagesAtOnce; page++ {
		err = e.writer.pushNext(ctx, job)
	}
	if err == nil {
		err = e.writer.report(ctx, job)
	}
	if err == nil && !job.done() {
		segments, err = e.pushRest(ctx, job)
	}
	return segments, err
}

// reconcile compares a post whose fan-out is written with its state that was read afterwards. If
// the post was deleted meanwhile, reconcile removes it from the lists again; if it was edited,
// reconcile corrects its indexed words and tags.
func (e *Engine) reconcile(ctx context.Context, job Job) error {
	switch {
	case job.reread[0] != "":
		return e.Deletions.Delete(ctx, job.post)
	case job.wordsDiffer || job.reread[1] != job.searched().Body:
		return e.Edited(ctx, job.post)
	}
	return nil
}

// stored returns the job of a stored post. It returns ErrNoPost if the post is missing or
// unreadable, or its author does not exist, and errDeleted if the post is deleted.
func (w *writer) stored(ctx context.Context, post int64) (Job, error) {
	job := Job{post: post, after: storage.FirstPage}
	b := w.client.B()
	fields, err := reply.Fields(w.client.Do(ctx, b.Hmget().Key(storage.PostKey(post)).
		Field("user_id", "time", "body", "parent", "root", "repost_of", "deleted", "to", "media", "source").Build()))
	if err != nil {
		return job, fmt.Errorf("social: read a post: %w", err)
	}
	if job.Author, err = strconv.ParseInt(fields[0], 10, 64); err != nil {
		return job, ErrNoPost
	}
	job.time = fields[1]
	if fields[6] != "" {
		return job, errDeleted
	}
	job.Parent, _ = storage.ParseID(fields[3])
	job.Root, _ = storage.ParseID(fields[4])
	job.RepostOf, _ = storage.ParseID(fields[5])
	if job.text = fields[2]; fields[9] == "" { // an imported post is on no tag page
		job.Tags = text.Tags(job.text)
	}
	job.to, _ = storage.ParseID(fields[7])
	job.pictures = social.Media(fields[8])
	if job.Parent != 0 && job.Root == 0 {
		job.Root = job.Parent
	}
	cmds := rueidis.Commands{b.Hexists().Key(storage.UserKey(job.Author)).Field("username").Build()}
	if other := max(job.Parent, job.RepostOf); other != 0 {
		cmds = append(cmds, b.Hget().Key(storage.PostKey(other)).Field("user_id").Build())
	}
	res := w.client.DoMulti(ctx, cmds...)
	found, err := res[0].AsBool()
	if err != nil {
		return job, fmt.Errorf("social: read a user: %w", err)
	}
	if !found {
		return job, ErrNoPost
	}
	if len(res) > 1 {
		other, err := reply.TextOrEmpty(res[1])
		if err != nil {
			return job, fmt.Errorf("social: read a post: %w", err)
		}
		job.To, _ = storage.ParseID(other)
	}
	if at := storage.ParseTime(fields[1]); !at.IsZero() {
		job.followedBy = float64(at.Add(skew).Unix())
	}
	return job, nil
}
