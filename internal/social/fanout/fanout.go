// Package fanout puts each post on the timelines where it belongs (fan-out on
// write) and guarantees that it arrives: the sorted set `fanouts` holds the id
// of a post from before its first write until every timeline has it and the
// replicas have confirmed that. A process that dies in between leaves the id
// there, and another process finishes the work; see Engine.ResumeAll. Repeating
// a fan-out changes nothing.
package fanout

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/social/follow"
	"retwis/internal/social/layout"
	"retwis/internal/social/pause"
	"retwis/internal/social/reply"
	"retwis/internal/social/task"
)

const (
	// pagesAtOnce is how many pages of followers have the post when Publish
	// returns. The rest follows in the background, with a pause after each page
	// for other requests.
	pagesAtOnce = 5
	pageGap     = 100 * time.Microsecond // about a millisecond, with the resolution of timers
	// maxJobs bounds the fan-outs that wait in memory. Past it they wait in the
	// database.
	maxJobs = 1024
	// retryAfter is the pause after a page that failed, and maxFailures how
	// often in a row one may fail before the fan-out is left to ResumeAll.
	retryAfter  = time.Second
	maxFailures = 60
)

// Engine fans posts out. It is safe for concurrent use.
type Engine struct {
	log     *slog.Logger
	writer  writer
	masters *task.Observer
	ledger  *task.Ledger // `fanouts`
	tasks   *task.Engine // `tasks`

	jobs   chan Job
	ctx    context.Context // ends the worker, never used for a caller
	stop   context.CancelFunc
	worker sync.WaitGroup
}

// New returns an engine on the database behind client, which stays the
// caller's, and its timelines. Close ends it. now is the clock.
func New(client rueidis.Client, lists *collection.Timelines, log *slog.Logger, now func() time.Time) *Engine {
	masters := task.NewObserver(client)
	ledger := task.NewLedger(client, layout.FanOuts, masters, log, now)
	e := &Engine{
		log: log, masters: masters, ledger: ledger,
		writer: writer{
			client: client, cluster: client.Mode() == rueidis.ClientModeCluster, log: log, now: now,
			follows: follow.New(client), lists: lists, homes: lists, ledger: ledger,
		},
		tasks: task.NewEngine(task.NewLedger(client, layout.Tasks, masters, log, now), log),
		jobs:  make(chan Job, maxJobs),
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.tasks.Handle(deleteKind, e.deleteTask)
	e.tasks.Handle(tagsKind, e.tagsTask)
	e.tasks.Handle(homeKind, e.homeTask)
	e.tasks.Handle(blockKind, e.blockTask)
	e.tasks.Handle(likeKind, e.likeTask)
	e.tasks.Handle(tagFollowKind, e.tagFollowTask)
	e.tasks.Start()
	e.worker.Go(e.work)
	e.worker.Go(func() { e.ledger.Run(e.ctx) })
	return e
}

// Tasks are the background tasks other than fan-outs.
func (e *Engine) Tasks() *task.Engine { return e.tasks }

// OnTags sets what is called with the tags of a post that was put on their sets, or
// removed from them. Where it fails, the work is repeated like any other of its part.
// Call it before the first use.
func (e *Engine) OnTags(changed func(ctx context.Context, tags []string) error) {
	e.writer.tagged = changed
}

// Close stops the fan-outs and tasks in the background and waits for them. Unfinished
// ones stay in `fanouts` and `tasks`, for ResumeAll. The client stays open.
func (e *Engine) Close() {
	e.stop()
	e.worker.Wait()
	e.tasks.Close()
}

// Begin prepares the fan-out of a new post.
func (e *Engine) Begin(ctx context.Context, entry Entry) Job {
	masters, _ := e.masters.Identity(ctx) // on an error the fan-out is repeated
	return Job{Entry: entry, after: follow.First, masters: masters}
}

// Create writes the post of a job under an id, unless the id is in use, and
// reports whether it did. From then on the fan-out will be finished, whatever
// interrupts it.
func (e *Engine) Create(ctx context.Context, job *Job, id int64) (bool, error) {
	job.post = id
	created, err := e.writer.create(ctx, id, job.Fields)
	if errors.Is(err, errDeleted) { // an earlier attempt, whose reply was lost
		return true, nil
	}
	return created, err
}

// Publish puts a post on the author's timelines and on those of the first
// thousand followers or so, and leaves the others to the background. An
// interruption is logged; another process finishes the fan-out. It returns
// ErrRefused for a reply or a repost whose other post is gone; the post is deleted
// then.
func (e *Engine) Publish(ctx context.Context, job Job) error {
	err := e.writer.attach(ctx, &job, true)
	if errors.Is(err, ErrRefused) {
		if err := e.giveUp(ctx, job, err); !errors.Is(err, ErrNoPost) {
			return err
		}
		return ErrRefused
	}
	if err != nil {
		return err
	}
	first, err := e.writer.pushOwn(ctx, &job)
	if err != nil {
		return err
	}
	err = e.writer.pushPage(ctx, &job, first)
	for page := 1; err == nil && !job.done() && page < pagesAtOnce; page++ {
		err = e.writer.pushNext(ctx, &job)
	}
	if err == nil {
		err = e.writer.report(ctx, &job)
	}
	switch {
	case err != nil:
		e.log.WarnContext(ctx, "fan-out interrupted, to be finished later", "post", job.post, "error", err)
		return nil
	case job.done():
		if err := e.finish(ctx, job); err != nil {
			e.log.WarnContext(ctx, "fan-out not confirmed, to be repeated later", "post", job.post, "error", err)
		}
		return nil
	}
	e.queue(job)
	return nil
}

// queue leaves the rest of a fan-out to the worker.
func (e *Engine) queue(job Job) {
	e.ledger.Hold(job.member())
	select {
	case e.jobs <- job:
	default:
		e.ledger.Release(job.member())
		e.log.Warn("too many fan-outs at once, one to be finished later", "post", job.post)
	}
}

// restart leaves a fan-out to the worker, from its beginning.
func (e *Engine) restart(job Job) {
	job.masters = ""
	job.begin()
	e.queue(job)
}

// work advances the fan-outs that Publish left, one page of each in turn, so
// that a post to millions of followers does not delay one to thousands.
func (e *Engine) work() {
	for {
		select {
		case <-e.ctx.Done():
			return
		case job := <-e.jobs:
			e.workOn(job)
		}
	}
}

func (e *Engine) workOn(job Job) {
	for {
		err := e.advance(e.ctx, &job)
		switch {
		case e.ctx.Err() != nil:
			return
		case errors.Is(err, ErrNoPost), errors.Is(err, errDeleted), errors.Is(err, ErrRefused):
			if err := e.giveUp(e.ctx, job, err); !errors.Is(err, ErrNoPost) {
				e.log.Warn("fan-out interrupted, to be finished later", "post", job.post, "error", err)
			}
			e.ledger.Release(job.member())
			return
		case err != nil && (reply.IsWrongType(err) || job.failed >= maxFailures):
			e.ledger.Release(job.member())
			e.log.Warn("fan-out interrupted, to be finished later", "post", job.post, "error", err)
			return
		case err != nil:
			job.failed++
			e.log.Warn("fan-out interrupted, trying again", "post", job.post, "error", err, "in", retryAfter.String())
			pause.For(e.ctx, retryAfter)
		case job.done():
			if err := e.finish(e.ctx, job); err != nil {
				e.log.Warn("fan-out not confirmed, to be repeated later", "post", job.post, "error", err)
			}
			e.ledger.Release(job.member())
			return
		default:
			time.Sleep(pageGap)
		}
		select {
		case e.jobs <- job:
			return
		default: // the queue is full: continue with this one
		}
	}
}

// advance does one page of a fan-out. A job without an identity of the masters
// starts from its beginning.
func (e *Engine) advance(ctx context.Context, job *Job) error {
	if job.masters != "" {
		err := e.writer.pushNext(ctx, job)
		if err == nil {
			job.failed = 0
		}
		return err
	}
	masters, err := e.masters.Identity(ctx)
	if err != nil {
		return err
	}
	if err := e.writer.restore(ctx, job); err != nil {
		return err
	}
	if err := e.writer.attach(ctx, job, false); err != nil {
		return err
	}
	job.begin()
	first, err := e.writer.pushOwn(ctx, job)
	if err == nil {
		err = e.writer.pushPage(ctx, job, first)
	}
	if err == nil {
		err = e.writer.report(ctx, job)
	}
	if err == nil {
		job.masters = masters
	} else {
		job.begin()
	}
	return err
}
