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

// pageOfFollowers is the number of followers that are read at a time.
const pageOfFollowers = 200

// db has the fields that all parts of an Engine share.
type db struct {
	client  rueidis.Client
	scripts *script.Sender
	cluster bool
	log     *slog.Logger
	now     func() time.Time
	follows storage.Follows
	lists   *collection.Timelines
	homes   *collection.Timelines // the home timelines; on a Cluster only existing timelines
	tasks   *work.Engine
	search  *search.Posts
	tagged  func(ctx context.Context, tags []string) error // see EngineOptions.OnTags; may be nil

	celebrities *storage.Celebrities // nil on a single server
	pictures    Pictures             // see EngineOptions.Pictures; may be nil
}

// writeAll sends commands that can be repeated. It ignores a key of the wrong type, which a check
// reports.
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
	end   atomic.Pointer[timelineEnd] // nil if unknown
}

// create writes a post unless its ID is in use, and records the task of the post, so that another
// process finishes an interrupted fan-out. On a single server one script does both; on a Cluster
// the task is recorded first, and a task without a post does no harm. create returns errDeleted if
// the post was written before and has been deleted since.
func (w *writer) create(ctx context.Context, job *Job) (bool, error) {
	keys, args := []string{storage.PostKey(job.post), storage.Tasks}, append([]string{job.member(), work.LeaseText}, job.Fields...)
	job.held = nil // from an earlier attempt with another ID
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
		if job.held != nil { // the task finds out whether there is anything to do
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

// ensure reads the post of a repeated job. It returns ErrNoPost if the post is lost, even if
// another post has the same ID by now, and errDeleted if the post is deleted.
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

// attach assigns a post its pictures, and adds a reply to its parent or a repost to its original.
// It returns ErrRefused if the parent of a new reply or the original of a repost is deleted, if the
// user has another repost of the original, or, along with *InvalidError, if the pictures belong to
// another post.
func (w *writer) attach(ctx context.Context, job *Job, isNew bool) error {
	if media := job.media(); media != "" && w.pictures != nil {
		err := w.pictures.Attach(ctx, job.post, job.Author, media)
		var invalid *social.InvalidError
		switch {
		case errors.As(err, &invalid) && job.published: // a repair leaves a published post alone
		case errors.As(err, &invalid):
			return fmt.Errorf("%w: %w", ErrRefused, err)
		case err != nil:
			return err
		}
	}
	switch {
	case job.Parent != 0:
		refuse := "0"
		if isNew {
			refuse = "1"
		}
		state, err := addReplyScript.RunFenced(ctx, w.client, []string{storage.PostKey(job.Parent), storage.RepliesKey(job.Parent)},
			[]string{storage.Itoa(job.post), refuse}).AsInt64()
		switch {
		case err != nil:
			return fmt.Errorf("social: reply: %w", err)
		case state == 0 && isNew:
			return ErrRefused
		case state == 2:
			return w.keepStub(ctx, job.Parent)
		}
	case job.RepostOf != 0:
		repost, err := addRepostScript.RunFenced(ctx, w.client, []string{storage.PostKey(job.RepostOf), storage.RepostersKey(job.RepostOf)},
			[]string{storage.Itoa(job.Author), storage.Itoa(job.post), storage.Itoa(job.Replaces)}).AsInt64()
		if err != nil {
			return fmt.Errorf("social: repost: %w", err)
		}
		if repost != job.post {
			return ErrRefused
		}
		return MirrorRepost(ctx, w.client, job.Author, job.RepostOf)
	}
	return nil
}

// pushOwn puts a post on the lists of its author, its conversation and its tags and on the public
// timeline, indexes its words, and reads the first page of the audience. pushPage then adds the
// post to the author's home timeline. If that timeline does not exist yet because it is being
// built, the process that builds it must find the post on the other lists.
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
	numLists := len(cmds)
	cmds = append(cmds, w.audienceCommands(job)...)
	indexed := w.words.index(ctx, job)
	res := w.scripts.DoMulti(ctx, append(cmds, w.followers(job.audience()[0], storage.FirstPage))...)
	w.celebrities.Wrote(job.Author)
	last := len(res) - 1
	if err := indexed(); err != nil {
		return res[last], fmt.Errorf("social: post: %w", err)
	}
	for _, r := range res[:numLists] {
		if err := r.Error(); rediserr.IsWrongType(err) {
			// A damaged key must not prevent posting; a check reports it.
			w.log.WarnContext(ctx, "cannot add a post to a list of its author", "post", job.post, "author", job.Author, "error", err)
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
	changed, err := w.chooseAudience(ctx, job, res[numLists:last])
	if err != nil || !changed || job.done() {
		return res[last], err
	}
	return w.scripts.DoMulti(ctx, w.followers(job.audience()[job.source], storage.FirstPage))[0], nil
}

// put returns the command that adds a post to a sorted set.
func (d *db) put(key string, post int64) rueidis.Completed {
	return d.client.B().Zadd().Key(key).ScoreMember().ScoreMember(float64(post), storage.Itoa(post)).Build()
}

// remove returns the command that removes a post from a sorted set.
func (d *db) remove(key string, post int64) rueidis.Completed {
	return d.client.B().Zrem().Key(key).Member(storage.Itoa(post)).Build()
}

// removeFromTimeline returns the command that removes a post from the public timeline.
func (d *db) removeFromTimeline(post int64) rueidis.Completed {
	return d.client.B().Lrem().Key(storage.Timeline).Count(0).Element(storage.Itoa(post)).Build()
}

// changedTags reports that the sets of the tags have changed.
func (w *writer) changedTags(ctx context.Context, tags []string) error {
	if w.tagged == nil || len(tags) == 0 {
		return nil
	}
	return w.tagged(ctx, tags)
}

// followers returns the command that reads a page of a set of followers, latest first.
func (w *writer) followers(set string, after storage.Cursor) rueidis.Completed {
	return w.follows.PageCommand(set, after, pageOfFollowers)
}

// pushNext reads the next page of the audience and pushes the post to it; see
// pushPage.
func (w *writer) pushNext(ctx context.Context, job *Job) error {
	return w.pushPage(ctx, job, w.scripts.DoMulti(ctx, w.followers(job.audience()[job.source], job.after))[0])
}

// pushPage puts the post on the timelines of one page of the audience, and advances the job to the
// next page.
func (w *writer) pushPage(ctx context.Context, job *Job, page rueidis.RedisResult) error {
	var ids []string
	n, last, err := 0, storage.FirstPage, error(nil)
	if !job.done() {
		ids, n, last, err = parseFollowers(page, job.followedBy)
	}
	if err == nil && job.source == 0 && job.isNarrow() {
		ids, err = w.whoFollowBoth(ctx, job, ids)
	}
	keys := homeKeys(ids)
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

// parseFollowers parses a page of followers and drops users who followed after followedBy. It also
// returns the number of entries of the page, and the last entry.
func parseFollowers(page rueidis.RedisResult, followedBy float64) (ids []string, n int, last storage.Cursor, err error) {
	// id, time, id, time ...
	entries, err := page.AsStrSlice()
	if err != nil {
		return nil, 0, storage.FirstPage, err
	}
	ids, last = parsePage(entries, followedBy)
	return ids, len(entries) / 2, last, nil
}

// parsePage is parseFollowers for a page that has already been read.
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

// homeKeys returns the keys of home timelines. The keys share one string, because there can be
// 100,000 of them.
func homeKeys(ids []string) []string {
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

// whoFollowBoth returns the followers of a reply's author in ids who also follow the parent's
// author, or are the parent's author. If job.fromParentAuthor is set, ids are followers of the
// parent's author, and whoFollowBoth returns the followers who also follow the reply's author.
func (w *writer) whoFollowBoth(ctx context.Context, job *Job, ids []string) ([]string, error) {
	to, other := storage.Itoa(job.To), job.To
	if job.fromParentAuthor {
		other = job.Author
		if job.after == storage.FirstPage {
			// The parent's author is not their own follower, but may follow the author of the
			// reply.
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
		isBoth := id == to && !job.fromParentAuthor
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
