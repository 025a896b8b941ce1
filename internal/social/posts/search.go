package posts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/redis/reply"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"
	"retwis/maintain"
)

// words keeps the words of posts in the search index.
type words struct{ db }

// index starts to add the words of a post to the search index, in the same round trip as the
// caller's next command. The returned function waits for the result. reconcile detects whether the
// index has a different text or the post was deleted meanwhile.
func (w *words) index(ctx context.Context, job *Job) (wait func() error) {
	if job.RepostOf != 0 {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() { done <- w.search.Put(ctx, job.searched()) }()
	return func() error {
		err := <-done
		if errors.Is(err, text.ErrConflict) {
			job.wordsDiffer = true
			return nil
		}
		return w.unlessDamaged(ctx, job.post, err)
	}
}

// unlessDamaged returns an error of the search index, or nil if the index is damaged. Damage must
// not prevent posting, and a check reports it.
func (w *words) unlessDamaged(ctx context.Context, post int64, err error) error {
	for _, damage := range []error{index.ErrCorrupt, index.ErrForeign, index.ErrDeclared, index.ErrValue} {
		if errors.Is(err, damage) {
			w.log.WarnContext(ctx, "cannot change the search index: check the database", "post", post, "error", err)
			return nil
		}
	}
	return err
}

// errWordsDiffer means that the search index has words for the post that occur in none of its
// texts.
var errWordsDiffer = errors.New("social: the search index has different words for the post")

// reindex makes the search index agree with a post that had the given earlier texts.
func (w *words) reindex(ctx context.Context, job *Job, earlier []string) error {
	if job.RepostOf != 0 {
		return nil
	}
	err := w.search.Replace(ctx, job.searched(), earlier)
	if errors.Is(err, text.ErrConflict) {
		return errWordsDiffer
	}
	return w.unlessDamaged(ctx, job.post, err)
}

// unindex removes the words of a deleted post, which was read with its texts, from the search
// index. It then deletes the texts, which were kept for this purpose. It can be repeated.
func (w *words) unindex(ctx context.Context, s stub) error {
	if !s.isDeleted {
		return nil
	}
	if s.body != nil {
		p := search.IndexedPost{ID: s.id, Author: s.author, Parent: s.parent, To: s.to, Body: *s.body}
		err := w.search.Remove(ctx, p, s.earlier)
		if errors.Is(err, text.ErrConflict) {
			w.log.WarnContext(ctx, "the search index has a different text of a deleted post: check the database", "post", s.id)
			err = nil
		}
		if err := w.unlessDamaged(ctx, s.id, err); err != nil {
			return err
		}
	}
	b := w.client.B()
	cmds := rueidis.Commands{b.Hdel().Key(storage.PostKey(s.id)).Field("deleted_body").Build().ToRetryable()}
	if len(s.earlier) > 0 {
		cmds = append(cmds, b.Unlink().Key(storage.EditsKey(s.id)).Build().ToRetryable())
	}
	if err := reply.FirstError(w.client.DoMulti(ctx, cmds...)); err != nil {
		return fmt.Errorf("social: remove the texts of a deleted post: %w", err)
	}
	return nil
}

// earlierCommand returns the command that reads the earlier texts of a post, latest first.
func (w *words) earlierCommand(post int64) rueidis.Completed {
	const maxTexts = 1000 // far more than possible
	return w.client.B().Lrange().Key(storage.EditsKey(post)).Start(0).Stop(maxTexts).Build()
}

// earlierTexts parses the reply to earlierCommand.
func earlierTexts(res rueidis.RedisResult) ([]string, error) {
	texts, err := reply.OrEmpty(res.AsStrSlice())
	if err != nil {
		return nil, fmt.Errorf("social: read the earlier texts of a post: %w", err)
	}
	for i, edit := range texts {
		_, texts[i], _ = strings.Cut(edit, " ")
	}
	return texts, nil
}

// clearLost removes the words of a post that a failover lost, if its text is known.
func (w *words) clearLost(ctx context.Context, job *Job) error {
	p := job.searched()
	if p.Body == "" {
		return nil
	}
	return w.unlessDamaged(ctx, job.post, w.search.Clear(ctx, p))
}

// searchKind is the kind of tasks that repair the search index when it has words whose text is
// unknown: "search:<id>" of a post whose own words are missing.
const searchKind = "search"

// searchTask runs a task of searchKind. It reads the whole index, unless an earlier task has
// already repaired the post. The task is necessary if a failover has lost a post, the process that
// wrote the post has ended, and another post has got the ID.
func (w *words) searchTask(ctx context.Context, writer *writer, argument string) error {
	post, ok := storage.ParseID(argument)
	if !ok {
		return nil
	}
	job, err := writer.stored(ctx, post)
	if errors.Is(err, ErrNoPost) || errors.Is(err, errDeleted) {
		return nil
	}
	if err != nil {
		return err
	}
	isIndexed, err := w.search.Has(ctx, job.searched())
	if err != nil || isIndexed {
		return err
	}
	w.log.WarnContext(ctx, "the search index has words of a lost post and will be repaired", "post", post)
	_, err = w.search.Verify(ctx, maintain.Options{Rate: repairRate}, true)
	return err
}

// repairRate is the number of search index entries that a repair compares per second.
const repairRate = 20_000

// Indexing reports whether the words of a post are about to be indexed or removed from the index:
// the post is being fanned out, was edited, or no longer exists.
func (e *Engine) Indexing(ctx context.Context, post int64) (bool, error) {
	s, err := e.writer.readStub(ctx, post)
	if err != nil || s.isGone() {
		return s.isGone(), err
	}
	claimed, err := isClaimed(ctx, e.client, s)
	if err != nil || claimed {
		return claimed, err
	}
	return Claimed(e.client.Do(ctx, e.client.B().Zmscore().Key(storage.Tasks).
		Member(editKind+":"+s.argument(), searchKind+":"+storage.Itoa(post)).Build()))
}
