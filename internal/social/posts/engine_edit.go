package posts

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/internal/sleep"
	"retwis/internal/social/storage"

	"retwis/internal/social/text"
)

var (
	//go:embed edit_post.lua
	editPostSource string
	editPostScript = script.New(editPostSource).Retryable()
)

// MaxEdits is the maximum number of earlier texts of a post.
const MaxEdits = 50

// ErrEdits means that the post already has the maximum number of earlier texts.
var ErrEdits = errors.New("social: edited too often")

// Edit replaces the text of a post. It returns ErrNoPost if the post does not exist, or ErrEdits.
// Repeating the edit changes nothing.
func (e *Engine) Edit(ctx context.Context, post int64, body string) error {
	s, err := e.writer.readStub(ctx, post)
	if err != nil {
		return err
	}
	var state int64
	err = e.tasks.Do(ctx, editKind+":"+s.argument(),
		func(ctx context.Context) (err error) {
			state, err = editPostScript.RunFenced(ctx, e.client, []string{storage.PostKey(post), storage.EditsKey(post)},
				[]string{body, storage.Seconds(e.now()), strconv.Itoa(MaxEdits)}).AsInt64()
			return err
		},
		func(ctx context.Context) error { return e.finishEdit(ctx, post) })
	switch {
	case err != nil:
		return fmt.Errorf("social: edit: %w", err)
	case state == 0:
		return ErrNoPost
	case state == 2:
		return ErrEdits
	}
	return nil
}

// editKind is the kind of tasks that correct the indexed words and the tags of an edited post:
// "tags:<id>:<author>:<time>"; see deleteKind.
const editKind = "tags"

func (e *Engine) editTask(ctx context.Context, argument string) error {
	s, err := e.writer.stubOf(ctx, argument)
	if err != nil || !s.exists {
		return err
	}
	return e.finishEdit(ctx, s.id)
}

// Edited records that the text of a post was edited during its fan-out, and corrects its indexed
// words and tags.
func (e *Engine) Edited(ctx context.Context, post int64) error {
	s, err := e.writer.readStub(ctx, post)
	if err != nil || !s.exists {
		return err
	}
	member := editKind + ":" + s.argument()
	e.tasks.Run(ctx, member)
	return nil
}

// finishEdit makes the search index and the sets of tags agree with the text of an edited post, and
// puts the post on the home timelines of users who follow its new tags. It can be repeated from its
// start. It reads the text again at the end, so the last run has seen the latest text.
func (e *Engine) finishEdit(ctx context.Context, post int64) error {
	for {
		job, err := e.writer.stored(ctx, post)
		switch {
		case errors.Is(err, errDeleted):
			return e.Deletions.Delete(ctx, post)
		case errors.Is(err, ErrNoPost):
			return nil
		case err != nil:
			return err
		}
		err = e.writer.finishEdit(ctx, job)
		wordsDiffer := errors.Is(err, errWordsDiffer)
		if err != nil && !wordsDiffer {
			return fmt.Errorf("social: edit post %d: %w", post, err)
		}
		current, err := e.reread(ctx, post)
		switch {
		case err != nil:
			return err
		case current[0] != "":
			return e.Deletions.Delete(ctx, post)
		case current[1] == job.text && wordsDiffer:
			return e.tasks.Add(ctx, searchKind+":"+storage.Itoa(post))
		case current[1] == job.text:
			return nil
		}
	}
}

// finishEdit is one run of Engine.finishEdit, for the text that job has.
func (w *writer) finishEdit(ctx context.Context, job Job) error {
	earlier, err := earlierTexts(w.client.Do(ctx, w.words.earlierCommand(job.post)))
	if err != nil {
		return err
	}
	indexErr := w.words.reindex(ctx, &job, earlier)
	if indexErr != nil && !errors.Is(indexErr, errWordsDiffer) {
		return indexErr
	}
	var oldTags []string
	for _, body := range earlier {
		oldTags = append(oldTags, text.Tags(body)...)
	}
	slices.Sort(oldTags)
	oldTags = slices.Compact(oldTags)
	before, entries := job.places(), job.places().Entries()
	before.Tags = oldTags
	var cmds rueidis.Commands
	for _, key := range before.Entries() {
		if !slices.Contains(entries, key) {
			cmds = append(cmds, w.remove(key, job.post))
		}
	}
	// Add the post to the sets of all its tags: a tag of the first text may have been missing from
	// a later one.
	for _, key := range entries[len(entries)-len(job.Tags):] {
		cmds = append(cmds, w.put(key, job.post))
	}
	if err := writeAll(ctx, w.client, cmds); err != nil {
		return err
	}
	if err := w.changedTags(ctx, slices.Concat(oldTags, job.Tags)); err != nil {
		return err
	}
	if len(earlier) == 0 {
		return indexErr
	}
	// A user who follows a tag that is in all texts already has the post. A user who began to
	// follow a tag while the post lacked the tag does not have the post.
	job.Tags = slices.DeleteFunc(job.Tags, func(tag string) bool {
		return !slices.ContainsFunc(earlier, func(body string) bool { return !slices.Contains(text.Tags(body), tag) })
	})
	job.followedBy = 0
	for job.source, job.after = 1, storage.FirstPage; !job.done(); {
		if err := w.pushNext(ctx, &job); err != nil {
			return err
		}
		if !sleep.For(ctx, pageGap) {
			return ctx.Err()
		}
	}
	return indexErr
}
