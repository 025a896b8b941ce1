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
	// pagesAtOnce is how many pages of followers have the post when Publish
	// returns. The rest follows in the background, in segments.
	pagesAtOnce = 5
	// pageGap is the pause after a page of other work in the background, for other
	// requests.
	pageGap = 100 * time.Microsecond // about a millisecond, with the resolution of timers
)

// AtOnce is how many followers have a post when Publish returns.
const AtOnce = pagesAtOnce * pageOfFollowers

// Engine fans posts out. It is safe for concurrent use.
type Engine struct {
	Deletions *Deletions // of posts
	Homes     *Homes     // what changes home timelines besides posts
	Imports   *Imports   // of posts that were written elsewhere

	db
	writer   *writer
	segments *segments
	ids      ids
	notices  *notify.Service // nil: nobody is notified; see New
}

// Pictures are those of posts. Both methods can be repeated, and are part of what is repeated
// until it succeeds.
type Pictures interface {
	// Attach gives pictures to a post that has them, before it is on any timeline. It returns
	// *InvalidError where another post has one of them.
	Attach(ctx context.Context, post, author int64, media social.Media) error
	// Remove deletes the pictures of a post that is deleted.
	Remove(ctx context.Context, post int64, media social.Media) error
}

// EngineOptions are what an Engine needs; all but Celebrities, OnTags, OnBlock and Pictures are
// required.
type EngineOptions struct {
	Lists *collection.Timelines
	// Celebrities are the authors whose posts are not put on the home timelines of their
	// followers; nil on a single server.
	Celebrities *storage.Celebrities
	// Search has the words of posts. Where it fails, the work is repeated.
	Search *search.Posts
	// OnTags is called with the tags of a post that was put on their sets, or removed from
	// them. Where it fails, the work is repeated like any other of its part.
	OnTags func(ctx context.Context, tags []string) error
	// OnBlock is called with two users once a block between them has ended their follows: what
	// else it ends. Where it fails, the work is repeated like any other of its part.
	OnBlock func(ctx context.Context, from, to int64) error
	// Pictures are those of posts.
	Pictures Pictures
	Log      *slog.Logger
	Now      func() time.Time
}

// NewEngine returns an engine on the database behind client, which stays the
// caller's. Start starts it, and Close ends it.
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

// Start starts the engine; with works, it also does what other processes have queued or left.
func (e *Engine) Start(works bool) { e.tasks.Start(works) }

// Tasks are the background tasks.
func (e *Engine) Tasks() *work.Engine { return e.tasks }

// Close stops the tasks in the background and waits for them. Unfinished ones stay in
// `tasks`, for other processes. The client stays open.
func (e *Engine) Close() { e.tasks.Close() }

// NewJob returns the fan-out of a new post.
func (e *Engine) NewJob(ctx context.Context, entry Entry) Job {
	return Job{Entry: entry, after: storage.FirstPage}
}

// Create writes the post of a job under a new id: should the one of the counter be in
// use, as after a server has lost its last second, under the one after it. From then on
// the fan-out will be finished, whatever interrupts it. A job that has been given an id
// keeps it if that is free: after an error, Create can be repeated.
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

// CreateAs is Create under an id, unless that is in use, and reports whether it wrote the
// post.
func (e *Engine) CreateAs(ctx context.Context, job *Job, id int64) (bool, error) {
	job.post = id
	created, err := e.writer.create(ctx, job)
	e.ids.saw(id)
	if errors.Is(err, errDeleted) { // an earlier attempt, whose reply was lost
		return true, nil
	}
	return created, err
}

// Publish puts a post on the author's timelines and on those of the first
// thousand followers or so, and leaves the others to the background. An
// interruption is logged; the background retries the fan-out. It returns
// ErrRefused for a reply or a repost whose other post is gone, and also *InvalidError for pictures
// that another post has got; the post is deleted then; and social.ErrUncertain where a failover can
// lose the post.
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
