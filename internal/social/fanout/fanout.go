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
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/jobs"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/script"
	"retwis/internal/sleep"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
	"retwis/internal/social/task"
)

const (
	// pagesAtOnce is how many pages of followers have the post when Publish
	// returns. The rest follows in the background, in slices.
	pagesAtOnce = 5
	// pageGap is the pause after a page of other work in the background, for other
	// requests.
	pageGap = 100 * time.Microsecond // about a millisecond, with the resolution of timers
	// maxRepeats bounds the fan-outs of this process that wait to be repeated after a
	// failover. Past it they wait for Sweep.
	maxRepeats = 1024
	// retryAfter is the pause after one that failed, and maxFailures how often in a
	// row one may fail before it is left to Sweep.
	retryAfter  = time.Second
	maxFailures = 60
	// queueTimeout bounds the attempt to queue a fan-out. What fails is found by Sweep.
	queueTimeout = 3 * time.Second
)

// AtOnce is how many followers have a post when Publish returns.
const AtOnce = pagesAtOnce * pageOfFollowers

// Engine fans posts out. It is safe for concurrent use.
type Engine struct {
	log     *slog.Logger
	writer  writer
	masters *task.Observer
	ledger  *task.Ledger // `fanouts`
	tasks   *task.Engine // `tasks`

	short, long *jobs.Queue
	letters     jobs.Letters

	ids     ids
	repeats chan Job
	ctx     context.Context // ends the worker, never used for a caller
	stop    context.CancelFunc
	worker  sync.WaitGroup
}

// Options are what an Engine needs; all but the sets and OnTags are required.
type Options struct {
	Lists *collection.Timelines
	// Celebrities are the authors whose posts are not put on the home timelines of their
	// followers; nil on a single server.
	Celebrities *storage.Celebrities
	// OnTags is called with the tags of a post that was put on their sets, or removed from
	// them. Where it fails, the work is repeated like any other of its part.
	OnTags func(ctx context.Context, tags []string) error
	Log    *slog.Logger
	Now    func() time.Time
}

// New returns an engine on the database behind client, which stays the
// caller's. Start starts it, and Close ends it.
func New(client rueidis.Client, opt Options) *Engine {
	lists, log, now := opt.Lists, opt.Log, opt.Now
	masters := task.NewObserver(client)
	ledger := task.NewLedger(client, layout.FanOuts, masters, log, now)
	e := &Engine{
		log: log, masters: masters, ledger: ledger,
		writer: writer{
			client: client, scripts: script.NewSender(client), cluster: client.Mode() == rueidis.ClientModeCluster, log: log, now: now,
			follows: storage.NewFollows(client), lists: lists, homes: lists, ledger: ledger, celebrities: opt.Celebrities, tagged: opt.OnTags,
		},
		ids:     ids{client: client, log: log},
		repeats: make(chan Job, maxRepeats),
	}
	e.short, e.long = e.newQueue(client, layout.JobsPrefix, now), e.newQueue(client, layout.LongJobsPrefix, now)
	e.letters = jobs.NewLetters(client, layout.DeadJobs)
	e.tasks = task.NewEngine(task.NewLedger(client, layout.Tasks, masters, log, now), e.short, e.long, log)
	if e.writer.cluster {
		e.writer.homes = lists.Existing()
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.tasks.Handle(deleteKind, e.deleteTask)
	e.tasks.Handle(tagsKind, e.tagsTask)
	e.tasks.Handle(homeKind, e.homeTask)
	e.tasks.Handle(blockKind, e.blockTask)
	e.tasks.Handle(timedBlockKind, e.timedBlockTask)
	e.tasks.Handle(likeKind, e.likeTask)
	e.tasks.Handle(tagFollowKind, e.tagFollowTask)
	e.tasks.Handle(tagClearKind, e.tagClearTask)
	e.tasks.Handle(pushKind, e.pushTask)
	e.tasks.HandleLong(pushLongKind, e.pushTask)
	e.tasks.Handle(unpushKind, e.unpushTask)
	e.tasks.HandleLong(unpushLongKind, e.unpushTask)
	e.tasks.HandleOthers(e.postJob)
	return e
}

// newQueue returns a queue of jobs.
func (e *Engine) newQueue(client rueidis.Client, prefix string, now func() time.Time) *jobs.Queue {
	opt := jobs.Options{Prefix: prefix, Dead: layout.DeadJobs, OnDead: e.forget, Log: e.log, Now: now}
	if e.writer.cluster {
		opt.Streams = layout.JobStreams // its masters share them
	}
	return jobs.New(client, opt)
}

// Start starts the engine; with works, it also runs jobs of the queues, those of other
// processes too.
func (e *Engine) Start(works bool) {
	e.tasks.Start(works)
	e.worker.Go(e.work)
	e.worker.Go(func() { e.ledger.Run(e.ctx) })
}

// Tasks are the background tasks other than fan-outs.
func (e *Engine) Tasks() *task.Engine { return e.tasks }

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
	return Job{Entry: entry, after: storage.FirstPage, masters: masters}
}

// Create writes the post of a job under a new id: should the one of the counter be in
// use, as after a server has lost its last second, under the one after it. From then on
// the fan-out will be finished, whatever interrupts it. A job that has been given an id
// keeps it if that is free: after an error, Create can be repeated.
func (e *Engine) Create(ctx context.Context, job *Job) error {
	for {
		if job.post == 0 {
			id, err := e.ids.next(ctx)
			if err != nil {
				return err
			}
			job.post = id
		}
		if created, err := e.CreateAs(ctx, job, job.post); err != nil || created {
			return err
		}
		job.post = 0
	}
}

// CreateAs is Create under an id, unless that is in use, and reports whether it wrote the
// post.
func (e *Engine) CreateAs(ctx context.Context, job *Job, id int64) (bool, error) {
	job.post = id
	created, err := e.writer.create(ctx, job)
	e.ids.saw(id)
	switch {
	case errors.Is(err, errDeleted): // an earlier attempt, whose reply was lost
		return true, nil
	case err == nil && !created && e.writer.cluster:
		return false, e.ledger.Forget(ctx, job.member())
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
		if err := e.abandon(ctx, job, err); !errors.Is(err, ErrNoPost) {
			return err
		}
		return ErrRefused
	}
	if err != nil {
		return err
	}
	first, err := e.writer.pushOwn(ctx, &job)
	if err != nil {
		e.queue(job)
		return err
	}
	slices, err := e.pushFirst(ctx, &job, first)
	if err != nil {
		e.log.WarnContext(ctx, "fan-out interrupted, to be finished later", "post", job.post, "error", err)
		e.queue(job)
		return nil
	}
	for _, member := range slices {
		e.tasks.Queue(member)
	}
	if err := e.finish(ctx, job); err != nil {
		e.log.WarnContext(ctx, "fan-out not confirmed, to be repeated later", "post", job.post, "error", err)
	}
	return nil
}

// queue leaves a fan-out to the background, from its beginning. This process keeps the
// text of the post until no failover can lose it.
func (e *Engine) queue(job Job) {
	e.ledger.Watch(e.ctx, e.written(job))
	ctx, cancel := context.WithTimeout(e.ctx, queueTimeout)
	defer cancel()
	if err := e.tasks.QueueOther(ctx, job.member()); err != nil && e.ctx.Err() == nil {
		e.log.Warn("a fan-out could not be queued, to be finished later", "post", job.post, "error", err)
	}
}

// restart repeats a fan-out in this process, which has the text of the post: a failover
// can have lost it.
func (e *Engine) restart(job Job) {
	e.ledger.Hold(job.member())
	select {
	case e.repeats <- job:
	default:
		e.ledger.Release(job.member())
		e.log.Warn("too many fan-outs at once, one to be finished later", "post", job.post)
	}
}

// work repeats the fan-outs of this process after a failover.
func (e *Engine) work() {
	for {
		select {
		case <-e.ctx.Done():
			return
		case job := <-e.repeats:
			e.workOn(job)
		}
	}
}

func (e *Engine) workOn(job Job) {
	defer e.ledger.Release(job.member())
	slices, err := e.repeat(e.ctx, &job)
	if errors.Is(err, errReplaced) {
		err = e.publishAgain(&job)
	}
	switch {
	case e.ctx.Err() != nil:
	case err == nil:
		for _, member := range slices {
			e.tasks.Queue(member)
		}
		if err := e.finish(e.ctx, job); err != nil {
			e.log.Warn("fan-out not confirmed, to be repeated later", "post", job.post, "error", err)
		}
	case errors.Is(err, ErrNoPost), errors.Is(err, errDeleted), errors.Is(err, ErrRefused):
		if err := e.abandon(e.ctx, job, err); !errors.Is(err, ErrNoPost) {
			e.log.Warn("fan-out interrupted, to be finished later", "post", job.post, "error", err)
		}
	case rediserr.IsWrongType(err) || job.failed >= maxFailures:
		e.log.Warn("fan-out interrupted, to be finished later", "post", job.post, "error", err)
	default:
		job.failed++
		e.log.Warn("fan-out interrupted, trying again", "post", job.post, "error", err, "in", retryAfter.String())
		sleep.For(e.ctx, retryAfter)
		e.restart(job)
	}
}

// publishAgain publishes a post of this process under a new id, where a failover has lost
// it and another post has its id by now. It returns ErrNoPost when only the old id is left
// to clear away. After an error it can be repeated.
func (e *Engine) publishAgain(job *Job) error {
	if job.again == nil {
		again := e.Begin(e.ctx, job.Entry)
		job.again = &again
	}
	if err := e.Create(e.ctx, job.again); err != nil {
		return err
	}
	e.log.Warn("a post was lost in a failover, and its id belongs to another post by now: it is published again",
		"post", job.post, "as", job.again.post, "author", job.Author)
	if err := e.Publish(e.ctx, *job.again); err != nil {
		e.log.Warn("fan-out interrupted, to be finished later", "post", job.again.post, "error", err)
	}
	job.time, job.Fields, job.again = job.postTime(), nil, nil
	return ErrNoPost
}

// forget removes a job that was given up from its ledger; it is a dead letter now.
func (e *Engine) forget(ctx context.Context, job string) error {
	if _, isPost := jobOf(job); isPost {
		return e.ledger.Forget(ctx, job)
	}
	return e.tasks.Forget(ctx, job)
}

// RetryDead notes and queues each dead letter again, and removes those that name no job:
// the rest of a damaged entry. It returns how many of each.
func (e *Engine) RetryDead(ctx context.Context) (queued, removed int, err error) {
	all, err := e.letters.All(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, letter := range all {
		counter := &queued
		if _, isPost := jobOf(letter.Job); isPost {
			if err = e.ledger.Note(ctx, letter.Job); err == nil {
				err = e.tasks.QueueOther(ctx, letter.Job)
			}
		} else if strings.Contains(letter.Job, ":") {
			if err = e.tasks.Note(ctx, letter.Job); err == nil {
				e.tasks.Queue(letter.Job)
			}
		} else {
			counter = &removed
		}
		if err == nil {
			err = e.letters.Remove(ctx, letter.ID)
		}
		if err != nil {
			return queued, removed, err
		}
		*counter++
	}
	return queued, removed, nil
}

// Dead are the jobs that were given up.
func (e *Engine) Dead() jobs.Letters { return e.letters }

// Queues are the queues of short and of long jobs.
func (e *Engine) Queues() (short, long *jobs.Queue) { return e.short, e.long }

// Backlog returns how many jobs wait, as of at most two seconds ago. Without a round trip
// where this process works, else with one a second.
func (e *Engine) Backlog(ctx context.Context) (int64, error) {
	short, err := e.short.Len(ctx)
	if err != nil {
		return 0, err
	}
	long, err := e.long.Len(ctx)
	return short + long, err
}
