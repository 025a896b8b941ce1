package posts

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"

	"retwis/internal/social/work"
)

var (
	//go:embed create_post.lua
	createPostSource string
	createPostScript = script.New(work.Library, createPostSource).Retryable()

	//go:embed add_reply.lua
	addReplySource string
	addReplyScript = script.New(addReplySource).Retryable()

	//go:embed add_own.lua
	addOwnSource string
	addOwnScript = script.New(addOwnSource).Retryable()

	//go:embed add_repost.lua
	addRepostSource string
	addRepostScript = script.New(addRepostSource).Retryable()
)

// pageOfFollowers is how many followers are read at a time.
const pageOfFollowers = 200

// db is what every part needs.
type db struct {
	client  rueidis.Client
	scripts *script.Sender
	cluster bool
	log     *slog.Logger
	now     func() time.Time
	follows storage.Follows
	lists   *collection.Timelines
	homes   *collection.Timelines // the home timelines; on a Cluster only those that exist
	tasks   *work.Engine
	search  *search.Posts
	tagged  func(ctx context.Context, tags []string) error // see Options.OnTags; may be nil

	celebrities *storage.Celebrities // nil on a single server
	pictures    Pictures             // see Options.Pictures; may be nil
}

// writeAll sends commands that can be repeated. A key of another type is left to a check.
func writeAll(ctx context.Context, client rueidis.Client, cmds rueidis.Commands) error {
	for i := range cmds {
		cmds[i] = cmds[i].ToRetryable()
	}
	return reply.Written(client.DoMulti(ctx, cmds...)...)
}

// writer writes posts and puts them on timelines. Each of its writes can be
// repeated.
type writer struct {
	db
	words *words
	end   atomic.Pointer[timelineEnd] // nil: not known
}

// create writes a post unless its id is in use, and notes its task, so that an
// interrupted fan-out is finished by another process: in the same script, or on a
// Cluster before it; a task without a post does no harm.
// errDeleted reports that the post was written before, and has been deleted since.
func (w *writer) create(ctx context.Context, job *Job) (bool, error) {
	keys, args := []string{storage.PostKey(job.post), storage.Tasks}, append([]string{job.member(), work.LeaseText}, job.Fields...)
	job.held = nil // of an earlier attempt, under another id
	if w.cluster {
		held, err := w.tasks.Begin(ctx, job.member())
		if err != nil {
			return false, err
		}
		job.held, job.mark = held[0], held[0].Mark()
		keys = keys[:1]
	}
	reply, err := createPostScript.Run(ctx, w.client, keys, args).AsStrSlice()
	if err == nil && reply[1] != "" {
		job.held = w.tasks.Hold(ctx, job.member(), reply[1], reply[2])
		job.mark = job.held.Mark()
	}
	switch {
	case err != nil || reply[0] == "0":
		if job.held != nil { // it finds out whether there is something to do
			w.tasks.Later(ctx, work.ErrAgain, job.held)
		}
		return false, err
	case reply[0] == "2":
		return false, errDeleted
	}
	if len(reply) > 3 {
		ms, _ := strconv.ParseInt(reply[3], 10, 64)
		job.written = time.UnixMilli(ms)
	}
	return true, nil
}

// ensure reads the post of a job that is repeated. It returns ErrNoPost where the post is lost, even
// if another one has its id by now, and errDeleted where it is deleted.
func (w *writer) ensure(ctx context.Context, job *Job) error {
	stored, err := w.stored(ctx, job.post)
	if stored.Author != 0 && stored.identity() != job.identity() {
		return ErrNoPost
	}
	if err != nil {
		return err
	}
	stored.published = job.published
	*job = stored
	return nil
}

// attach gives a post its pictures, and adds a reply or a repost to the post that it belongs to. A new one is
// refused, with ErrRefused, if that post is deleted; so is a repost if the user has
// another one, and a post, also with *InvalidError, if another one has its pictures.
func (w *writer) attach(ctx context.Context, job *Job, isNew bool) error {
	if media := job.media(); media != "" && w.pictures != nil {
		err := w.pictures.Attach(ctx, job.post, job.Author, media)
		var taken *social.InvalidError
		switch {
		case errors.As(err, &taken) && job.published: // a check has found it so
		case errors.As(err, &taken):
			return fmt.Errorf("%w: %w", ErrRefused, err)
		case err != nil:
			return err
		}
	}
	switch {
	case job.Parent != 0:
		must := "0"
		if isNew {
			must = "1"
		}
		state, err := addReplyScript.RunFenced(ctx, w.client, []string{storage.PostKey(job.Parent), storage.RepliesKey(job.Parent)},
			[]string{storage.Itoa(job.post), must}).AsInt64()
		switch {
		case err != nil:
			return fmt.Errorf("social: reply: %w", err)
		case state == 0 && isNew:
			return ErrRefused
		case state == 2:
			return w.keepStub(ctx, job.Parent)
		}
	case job.RepostOf != 0:
		has, err := addRepostScript.RunFenced(ctx, w.client, []string{storage.PostKey(job.RepostOf), storage.RepostersKey(job.RepostOf)},
			[]string{storage.Itoa(job.Author), storage.Itoa(job.post), storage.Itoa(job.Replaces)}).AsInt64()
		if err != nil {
			return fmt.Errorf("social: repost: %w", err)
		}
		if has != job.post {
			return ErrRefused
		}
		return MirrorRepost(ctx, w.client, job.Author, job.RepostOf)
	}
	return nil
}

// pushOwn puts a post on the lists of its author, of its conversation and of its
// tags, and on the public timeline, has its words indexed, and reads the first page of the audience.
// pushPage adds it to the home timeline of its author: a home timeline that is
// made at this moment must find the post on the other lists, if it was not there yet
// when the post was put on it.
func (w *writer) pushOwn(ctx context.Context, job *Job) (followers rueidis.RedisResult, err error) {
	places := job.places()
	entries := places.Entries()
	var cmds rueidis.Commands
	job.toAuthor = true
	if job.Parent == 0 {
		cmds = append(cmds, addOwnScript.Command(w.client, entries[:1], []string{storage.Itoa(job.post), storage.Itoa(storage.TimelineShare)}))
		entries = entries[1:]
	}
	if places.OnTimeline() {
		cmds = append(cmds, w.lists.PutCommand(job.post, storage.Timeline))
	}
	for _, key := range entries {
		cmds = append(cmds, w.put(key, job.post).ToRetryable())
	}
	own := len(cmds)
	cmds = append(cmds, w.audienceCommands(job)...)
	indexed := w.words.index(ctx, job)
	res := w.scripts.DoMulti(ctx, append(cmds, w.followers(job.audience()[0], storage.FirstPage))...)
	w.celebrities.Wrote(job.Author)
	last := len(res) - 1
	if err := indexed(); err != nil {
		return res[last], fmt.Errorf("social: post: %w", err)
	}
	for _, r := range res[:own] {
		if err := r.Error(); rediserr.IsWrongType(err) {
			// A damaged key must not prevent posting; a check reports it.
			w.log.WarnContext(ctx, "a post could not be put on a list of its author", "post", job.post, "author", job.Author, "error", err)
		} else if err != nil {
			return res[last], fmt.Errorf("social: post: %w", err)
		}
	}
	if job.Parent == 0 {
		if job.older, err = reply.OrEmpty(res[0].AsIntSlice()); err != nil {
			return res[last], fmt.Errorf("social: post: %w", err)
		}
	}
	if err := w.changedTags(ctx, job.Tags); err != nil {
		return res[last], err
	}
	again, err := w.chooseAudience(ctx, job, res[own:last])
	if err != nil || !again || job.done() {
		return res[last], err
	}
	return w.scripts.DoMulti(ctx, w.followers(job.audience()[job.source], storage.FirstPage))[0], nil
}

// put and take are the commands that put a post on a sorted set, and take it off.
func (d *db) put(key string, post int64) rueidis.Completed {
	return d.client.B().Zadd().Key(key).ScoreMember().ScoreMember(float64(post), storage.Itoa(post)).Build()
}

func (d *db) take(key string, post int64) rueidis.Completed {
	return d.client.B().Zrem().Key(key).Member(storage.Itoa(post)).Build()
}

// takeOffTimeline is the command that takes a post off the public timeline.
func (d *db) takeOffTimeline(post int64) rueidis.Completed {
	return d.client.B().Lrem().Key(storage.Timeline).Count(0).Element(storage.Itoa(post)).Build()
}

// changedTags reports that the sets of tags have changed.
func (w *writer) changedTags(ctx context.Context, tags []string) error {
	if w.tagged == nil || len(tags) == 0 {
		return nil
	}
	return w.tagged(ctx, tags)
}

// followers reads a page of a set of followers, the latest first.
func (w *writer) followers(set string, after storage.Cursor) rueidis.Completed {
	return w.follows.PageCommand(set, after, pageOfFollowers)
}

// pushNext reads the next page of the audience and pushes the post to it; see
// pushPage.
func (w *writer) pushNext(ctx context.Context, job *Job) error {
	return w.pushPage(ctx, job, w.scripts.DoMulti(ctx, w.followers(job.audience()[job.source], job.after))[0])
}

// pushPage puts the post on the timelines of one page of the audience, and moves
// the job on to the next page.
func (w *writer) pushPage(ctx context.Context, job *Job, page rueidis.RedisResult) error {
	var ids []string
	n, last, err := 0, storage.FirstPage, error(nil)
	if !job.done() {
		ids, n, last, err = parseFollowers(page, job.followedBy)
	}
	if err == nil && job.source == 0 && job.isNarrow() {
		ids, err = w.whoFollowBoth(ctx, job, ids)
	}
	keys := homes(ids)
	if job.toAuthor {
		keys = append(keys, storage.HomeKey(job.Author))
	}
	if err == nil {
		err = w.homes.Put(ctx, job.post, keys...)
	}
	if err != nil {
		return fmt.Errorf("social: fan out post %d: %w", job.post, err)
	}
	job.toAuthor = false
	if !job.done() {
		job.next(n, last)
	}
	return nil
}

// parseFollowers reads a page of followers, without those who came later than
// followedBy: how many there are on it, and the last one.
func parseFollowers(page rueidis.RedisResult, followedBy float64) (ids []string, n int, last storage.Cursor, err error) {
	// id, time, id, time ...
	entries, err := page.AsStrSlice()
	if err != nil {
		return nil, 0, storage.FirstPage, err
	}
	ids, last = parsePage(entries, followedBy)
	return ids, len(entries) / 2, last, nil
}

// parsePage is parseFollowers for a page that was read.
func parsePage(entries []string, followedBy float64) (ids []string, last storage.Cursor) {
	ids, last = make([]string, 0, len(entries)/2), storage.FirstPage
	for i := 0; i+1 < len(entries); i += 2 {
		last = storage.Cursor{Since: entries[i+1], ID: entries[i]}
		since, _ := strconv.ParseFloat(entries[i+1], 64)
		if storage.IsDigits(entries[i]) && (followedBy == 0 || since <= followedBy) {
			ids = append(ids, entries[i])
		}
	}
	return ids, last
}

// homes returns the keys of home timelines. They share one string: there can be 100,000.
func homes(ids []string) []string {
	size := 0
	for _, id := range ids {
		size += len(storage.HomePrefix) + len(id)
	}
	var text strings.Builder
	text.Grow(size)
	for _, id := range ids {
		text.WriteString(storage.HomePrefix)
		text.WriteString(id)
	}
	keys, rest := make([]string, len(ids)), text.String()
	for i, id := range ids {
		n := len(storage.HomePrefix) + len(id)
		keys[i], rest = rest[:n], rest[n:]
	}
	return keys
}

// whoFollowBoth returns those of the followers of the author of a reply who follow
// the author of the other post too, or are that author; or the other way round, where
// the job goes through the followers of the other author.
func (w *writer) whoFollowBoth(ctx context.Context, job *Job, ids []string) ([]string, error) {
	to, other := storage.Itoa(job.To), job.To
	if job.ofOther {
		other = job.Author
		if job.after == storage.FirstPage {
			// They do not follow themselves, but may follow the author.
			ids = append(ids, to)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	scores, err := w.client.Do(ctx, w.client.B().Zmscore().Key(storage.FollowersKey(other)).Member(ids...).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	both := ids[:0]
	for i, id := range ids {
		isBoth := id == to && !job.ofOther
		if !isBoth && !scores[i].IsNil() {
			since, _ := scores[i].AsFloat64()
			isBoth = job.followedBy == 0 || since <= job.followedBy
		}
		if isBoth {
			both = append(both, id)
		}
	}
	return both, nil
}
