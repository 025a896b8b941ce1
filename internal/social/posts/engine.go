package posts

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/notify"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"
	"retwis/internal/social/work"
)

const (
	// pagesAtOnce is the number of pages of followers to which Publish delivers a post before it
	// returns. Background tasks deliver the post to the other followers, in segments.
	pagesAtOnce = 5
	// pageGap is the pause after a page of other background work. It lets other requests through.
	pageGap = 100 * time.Microsecond // about a millisecond, with the resolution of timers
)

// AtOnce is the number of followers to whom Publish delivers a post before it returns.
const AtOnce = pagesAtOnce * pageOfFollowers

// Engine fans posts out. It is safe for concurrent use.
type Engine struct {
	Deletions *Deletions // of posts
	Homes     *Homes     // changes to home timelines other than new posts
	Imports   *Imports   // of posts written on other sites

	db
	writer   *writer
	segments *segments
	ids      ids
	notices  *notify.Service // set by New; if nil, nobody is notified
}

// Pictures manages the pictures of posts. The callers of both methods retry until the call
// succeeds.
type Pictures interface {
	// Attach assigns pictures to a post that already has them in its hash, before it is on any
	// timeline. It returns *InvalidError if another post has one of the pictures.
	Attach(ctx context.Context, post, author int64, media social.Media) error
	// Remove deletes the pictures of a deleted post.
	Remove(ctx context.Context, post int64, media social.Media) error
}

// EngineOptions configure an Engine; all but Celebrities, OnTags, OnBlock and Pictures are
// required.
type EngineOptions struct {
	Lists *collection.Timelines
	// Celebrities are the authors whose posts are not pushed to the home timelines of their
	// followers; nil on a single server.
	Celebrities *storage.Celebrities
	// Search indexes the words of posts. If it fails, the calling task is retried.
	Search *search.Posts
	// OnTags is called with the tags to whose sets a post was added, or from whose sets a post was
	// removed. If it fails, the calling task is retried.
	OnTags func(ctx context.Context, tags []string) error
	// OnBlock is called with two users once a block between them has ended their follows, to end
	// anything else that a block ends. If it fails, the calling task is retried.
	OnBlock func(ctx context.Context, from, to int64) error
	// Pictures manages the pictures of posts.
	Pictures Pictures
	Log      *slog.Logger
	Now      func() time.Time
}

// NewEngine returns an engine on the database of client, which the caller must close. Start starts
// the engine, and Close stops it.
func NewEngine(client rueidis.Client, opt EngineOptions) *Engine {
	tasks := work.New(client, opt.Log)
	d := db{
		client: client, scripts: script.NewSender(client), cluster: client.Mode() == rueidis.ClientModeCluster,
		log: opt.Log, now: opt.Now, follows: storage.NewFollows(client), lists: opt.Lists, homes: opt.Lists,
		tasks: tasks, search: opt.Search, tagged: opt.OnTags, celebrities: opt.Celebrities, pictures: opt.Pictures,
	}
	if d.cluster {
		d.homes = d.lists.Existing()
	}
	w := &writer{db: d, words: &words{d}}
	e := &Engine{
		Deletions: &Deletions{d, w},
		Homes:     &Homes{d, &homeTimelines{d}, storage.NewRelations(client), opt.OnBlock},
		db:        d, writer: w, segments: &segments{d, w}, ids: ids{client: client, log: opt.Log},
	}
	e.Imports = &Imports{e}
	e.tasks.Handle(postKind, e.postTask)
	e.tasks.Handle(deleteKind, e.Deletions.deleteTask)
	e.tasks.HandleLong(editKind, e.editTask)
	e.tasks.HandleLong(searchKind, func(ctx context.Context, argument string) error {
		return w.words.searchTask(ctx, w, argument)
	})
	e.tasks.Handle(homeKind, e.Homes.homeTask)
	e.tasks.Handle(blockKind, e.Homes.blockTask)
	e.tasks.Handle(timedBlockKind, e.Homes.timedBlockTask)
	e.tasks.Handle(likeKind, e.Homes.likeTask)
	e.tasks.Handle(tagFollowKind, e.Homes.tagFollowTask)
	e.tasks.Handle(pushKind, e.segments.pushTask)
	e.tasks.HandleLong(pushLongKind, e.segments.pushTask)
	return e
}

// Start starts the engine. If works is set, it also runs tasks that other processes have queued or
// left unfinished.
func (e *Engine) Start(works bool) { e.tasks.Start(works) }

// Tasks returns the engine of the background tasks.
func (e *Engine) Tasks() *work.Engine { return e.tasks }

// Close stops the background tasks and waits for them. Unfinished tasks stay in `tasks` for other
// processes. Close does not close the client.
func (e *Engine) Close() { e.tasks.Close() }

// NewJob returns the fan-out of a new post.
func (e *Engine) NewJob(ctx context.Context, entry Entry) Job {
	return Job{Entry: entry, after: storage.FirstPage}
}

// Create writes the post of a job under a new ID. If the ID from the counter is in use, as after a
// server lost its last second of writes, Create uses the next ID. Once Create has written the post,
// the fan-out will be completed, whatever interrupts it. A job that already has an ID keeps the ID
// if it is free, so Create can be repeated after an error.
func (e *Engine) Create(ctx context.Context, job *Job) error {
	for {
		if job.post == 0 {
			id, err := e.NextID(ctx)
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

// CreateAs is like Create with a given ID. It writes the post unless the ID is in use, and reports
// whether it did.
func (e *Engine) CreateAs(ctx context.Context, job *Job, id int64) (bool, error) {
	job.post = id
	created, err := e.writer.create(ctx, job)
	e.ids.saw(id)
	if errors.Is(err, errDeleted) { // an earlier attempt, whose reply was lost, wrote the post
		return true, nil
	}
	return created, err
}

// Publish puts a post on the author's timelines and on the timelines of the first thousand
// followers or so, and leaves the other followers to background tasks. If it fails in between, a
// background task retries the fan-out. It returns ErrRefused if the parent or original of the post
// is gone, or, along with *InvalidError, if another post has claimed the pictures; in both cases it
// deletes the post. It returns social.ErrUncertain if a failover may lose the post.
func (e *Engine) Publish(ctx context.Context, job Job) error {
	err := e.writer.attach(ctx, &job, true)
	if errors.Is(err, ErrRefused) {
		if err := e.abandon(ctx, &job, err); err != nil {
			return err
		}
		return cmp.Or(e.tasks.Forget(ctx, job.member()), err)
	}
	if err != nil {
		e.tasks.Later(ctx, err, job.held)
		return err
	}
	first, err := e.writer.pushOwn(ctx, &job)
	if err != nil {
		e.tasks.Later(ctx, err, job.held)
		return err
	}
	segments, err := e.pushFirst(ctx, &job, first)
	if err != nil {
		e.tasks.Later(ctx, err, job.held)
		return e.tasks.Fenced(ctx, job.mark)
	}
	e.tasks.Queue(segments...)
	e.notify(ctx, &job)
	if err := e.reconcile(ctx, job); err != nil {
		e.tasks.Later(ctx, err, job.held)
		return e.tasks.Fenced(ctx, job.mark)
	}
	return e.tasks.End(ctx, job.held)
}
