package fanout

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
	"retwis/internal/social/task"
	"retwis/internal/social/text"
)

// skew is by how much the clocks of two processes may differ.
const skew = time.Minute

// Resume repeats the fan-out of a post from its beginning to its end. Timelines
// that have the post are not changed, and users who followed after it was
// written do not get it. It returns ErrNoPost where there is no such post.
func (e *Engine) Resume(ctx context.Context, post int64) error {
	s, err := e.writer.readStub(ctx, post)
	if err != nil {
		return err
	}
	if !s.exists {
		return ErrNoPost
	}
	job, _ := jobOf(s.argument())
	return e.resume(ctx, job)
}

func (e *Engine) resume(ctx context.Context, job Job) error {
	e.ledger.Hold(job.member())
	defer e.ledger.Release(job.member())
	slices, err := e.repeat(ctx, &job)
	for _, member := range slices {
		if err == nil {
			err = e.tasks.Finish(ctx, member)
		}
	}
	if err != nil {
		return e.abandon(ctx, job, err)
	}
	return e.finish(ctx, job)
}

// repeat does a fan-out from its beginning, up to the part that is left to slices, which
// are noted.
func (e *Engine) repeat(ctx context.Context, job *Job) (slices []string, err error) {
	masters, err := e.masters.Identity(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.writer.restore(ctx, job); err != nil {
		return nil, err
	}
	if err := e.writer.attach(ctx, job, false); err != nil {
		return nil, err
	}
	job.begin()
	first, err := e.writer.pushOwn(ctx, job)
	if err == nil {
		slices, err = e.pushFirst(ctx, job, first)
	}
	if err != nil {
		return nil, err
	}
	job.masters = masters
	return slices, nil
}

// pushFirst puts a post on the timelines of the first thousand followers, whose first
// page was read, and notes slices of the others.
func (e *Engine) pushFirst(ctx context.Context, job *Job, first rueidis.RedisResult) (slices []string, err error) {
	err = e.writer.pushPage(ctx, job, first)
	for page := 1; err == nil && !job.done() && page < pagesAtOnce; page++ {
		err = e.writer.pushNext(ctx, job)
	}
	if err == nil {
		err = e.writer.report(ctx, job)
	}
	if err == nil && !job.done() {
		slices, err = e.pushRest(ctx, job)
	}
	return slices, err
}

// postJob runs a job of the queue: a member of `fanouts`, whose fan-out is repeated.
func (e *Engine) postJob(ctx context.Context, member string) (<-chan struct{}, error) {
	job, ok := jobOf(member)
	if !ok {
		e.log.WarnContext(ctx, "removed a job that is neither a task nor a post", "job", member)
		return nil, nil
	}
	e.ledger.Hold(member)
	defer e.ledger.Release(member)
	slices, err := e.repeat(ctx, &job)
	if err == nil {
		for _, slice := range slices {
			e.tasks.Queue(slice)
		}
		err = e.seal(ctx, job)
	}
	if err == nil {
		return e.ledger.Submit(ctx, e.written(job))
	}
	if err := e.abandon(ctx, job, err); !errors.Is(err, ErrNoPost) {
		return nil, err
	}
	return nil, nil
}

// finish seals a fan-out that is written. Then it waits until nothing can be lost.
func (e *Engine) finish(ctx context.Context, job Job) error {
	if err := e.seal(ctx, job); err != nil {
		return err
	}
	return e.ledger.Finish(ctx, e.written(job))
}

// seal looks at a post whose fan-out is written: if it was deleted meanwhile, it is
// removed again from the lists; if it was edited, its tags are corrected.
func (e *Engine) seal(ctx context.Context, job Job) error {
	b := e.writer.client.B()
	res := e.writer.client.DoMulti(ctx,
		b.Hexists().Key(layout.PostKey(job.post)).Field("deleted").Build(),
		b.Llen().Key(layout.EditsKey(job.post)).Build())
	isDeleted, err := res[0].AsBool()
	if err != nil {
		return fmt.Errorf("social: read a post: %w", err)
	}
	edits, err := res[1].AsInt64()
	if err != nil && !rediserr.IsWrongType(err) {
		return fmt.Errorf("social: read a post: %w", err)
	}
	switch {
	case isDeleted:
		if err := e.Delete(ctx, job.post); err != nil {
			return err
		}
	case edits != job.edits:
		if err := e.Retag(ctx, job.post); err != nil {
			return err
		}
	}
	return nil
}

// written is a fan-out that is written and not confirmed.
func (e *Engine) written(job Job) task.Work {
	return task.Work{Member: job.member(), Masters: job.masters, Repeat: func() { e.restart(job) }}
}

// stored returns the job of a post that is in the database, or ErrNoPost where
// it is missing, cannot be read, or its author does not exist, and errDeleted where
// it is deleted.
func (w *writer) stored(ctx context.Context, post int64) (Job, error) {
	job := Job{post: post, after: storage.FirstPage}
	b := w.client.B()
	res := w.client.DoMulti(ctx,
		b.Llen().Key(layout.EditsKey(post)).Build(), // first: see Job.edits
		b.Hmget().Key(layout.PostKey(post)).Field("user_id", "time", "body", "parent", "root", "repost_of", "deleted").Build())
	edits, err := res[0].AsInt64()
	if err != nil && !rediserr.IsWrongType(err) {
		return job, fmt.Errorf("social: read a post: %w", err)
	}
	job.edits = edits
	fields, err := reply.Fields(res[1])
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
	job.Parent, _ = layout.ParseID(fields[3])
	job.Root, _ = layout.ParseID(fields[4])
	job.RepostOf, _ = layout.ParseID(fields[5])
	job.Tags = text.Tags(fields[2])
	if job.Parent != 0 && job.Root == 0 {
		job.Root = job.Parent
	}
	exists := b.Hexists().Key(layout.UserKey(job.Author)).Field("username").Build()
	res = w.client.DoMulti(ctx, exists, b.Hget().Key(layout.PostKey(max(job.Parent, job.RepostOf))).Field("user_id").Build())
	found, err := res[0].AsBool()
	if err != nil {
		return job, fmt.Errorf("social: read a user: %w", err)
	}
	if !found {
		return job, ErrNoPost
	}
	other, err := reply.TextOrEmpty(res[1])
	if err != nil {
		return job, fmt.Errorf("social: read a post: %w", err)
	}
	job.To, _ = layout.ParseID(other) // 0 for a new conversation
	if at := layout.ParseTime(fields[1]); !at.IsZero() {
		job.followedBy = float64(at.Add(skew).Unix())
	}
	return job, nil
}

// ResumeAll finishes the fan-outs and the tasks that dead processes left unfinished.
// Each is claimed by one process. One that cannot be finished does not delay the
// others: it is logged, tried again by a later call, and counted in the error
// that comes back at the end.
func (e *Engine) ResumeAll(ctx context.Context) error {
	return errors.Join(e.ledger.Resume(ctx, e.resumeMember), e.tasks.ResumeAll(ctx))
}

// Take claims one member of `fanouts` that was last renewed at stale (unix
// seconds) or earlier, and finishes it. It reports whether this process got the
// claim.
func (e *Engine) Take(ctx context.Context, member string, stale int64) (bool, error) {
	claimed, err := e.ledger.Take(ctx, member, stale)
	if err != nil || !claimed {
		return false, err
	}
	return true, e.resumeMember(ctx, member)
}

// resumeMember finishes one member of `fanouts`.
func (e *Engine) resumeMember(ctx context.Context, member string) error {
	job, ok := jobOf(member)
	if !ok {
		e.log.WarnContext(ctx, "removed a member of the unfinished fan-outs that names no post", "member", member)
		return e.ledger.Forget(ctx, member)
	}
	switch err := e.resume(ctx, job); {
	case errors.Is(err, ErrNoPost):
		e.log.InfoContext(ctx, "removed an interrupted fan-out whose post no longer exists", "post", job.post)
		return nil
	case err != nil:
		return err
	}
	e.log.InfoContext(ctx, "finished an interrupted fan-out", "post", job.post)
	return nil
}

// Repeat fans a finished post out again; `fanouts` has it meanwhile. A post that
// does not exist is no error.
func (e *Engine) Repeat(ctx context.Context, post int64) error {
	s, err := e.writer.readStub(ctx, post)
	if err != nil || !s.exists {
		return err
	}
	job, _ := jobOf(s.argument())
	if err = e.ledger.Note(ctx, job.member()); err == nil {
		err = e.resume(ctx, job)
	}
	if errors.Is(err, ErrNoPost) {
		return nil
	}
	return err
}

// Sweep queues the fan-outs and the tasks again that no process and no queue has: their
// process has died, or a failover has lost a queue. Where the queues cannot be written,
// it finishes them itself.
func (e *Engine) Sweep(ctx context.Context) error {
	var queued *task.Queued
	waiting := func(ctx context.Context) (task.Queued, error) {
		if queued == nil {
			all, err := e.tasks.Waiting(ctx)
			if err != nil {
				return all, err
			}
			queued = &all
		}
		return *queued, nil
	}
	err := e.ledger.Sweep(ctx, waiting, func(ctx context.Context, member string) error {
		if _, ok := jobOf(member); !ok {
			return e.resumeMember(ctx, member)
		}
		if err := e.tasks.QueueOther(ctx, member); err != nil {
			e.log.WarnContext(ctx, "a fan-out could not be queued", "post", member, "error", err)
			return e.resumeMember(ctx, member)
		}
		e.log.InfoContext(ctx, "an interrupted fan-out goes on", "post", member)
		return nil
	})
	return errors.Join(err, e.tasks.Sweep(ctx, waiting))
}

// Renew renews the claims of this process, as it does every two seconds.
func (e *Engine) Renew() { e.ledger.Renew(e.ctx) }

// Claims returns how many fan-outs this process works on.
func (e *Engine) Claims() int { return e.ledger.Claims() }
