package posts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/internal/social/storage"
)

// abandon ends the fan-out of a post that is gone, and removes the post from every list. err is the
// reason: the post was deleted or refused, or a failover lost the post, in which case another post
// may have its ID by now. abandon returns any other error unchanged.
func (e *Engine) abandon(ctx context.Context, job *Job, err error) error {
	switch {
	case errors.Is(err, errDeleted), errors.Is(err, ErrRefused):
		err = e.Deletions.Delete(ctx, job.post)
	case errors.Is(err, ErrNoPost):
		err = e.removeLost(ctx, job)
	}
	return err
}

// removeLost removes a post that a failover lost from the lists to which its fan-out added the
// post. It skips home timelines, whose readers skip missing posts, and lists to which another post
// with the same ID belongs. removeLost can be repeated.
func (e *Engine) removeLost(ctx context.Context, job *Job) error {
	other, err := e.writer.postWithID(ctx, job.post)
	if err != nil || other.Author != 0 && other.identity() == job.identity() {
		return err // the author no longer exists, and the removal of the account continues
	}
	if err := e.writer.words.clearLost(ctx, job); err != nil {
		return fmt.Errorf("social: remove the lost post %d: %w", job.post, err)
	}
	if err := e.removeLostOwn(ctx, job, &other); err != nil {
		return fmt.Errorf("social: remove the lost post %d: %w", job.post, err)
	}
	if err := e.detachLost(ctx, job, &other); err != nil {
		return fmt.Errorf("social: remove the lost post %d: %w", job.post, err)
	}
	return nil
}

// postWithID returns the job of the post with an ID, or the zero Job if the post does not exist or
// is deleted.
func (w *writer) postWithID(ctx context.Context, post int64) (Job, error) {
	job, err := w.stored(ctx, post)
	if errors.Is(err, ErrNoPost) || errors.Is(err, errDeleted) {
		return Job{}, nil
	}
	return job, err
}

// removeLostOwn removes a lost post from the lists of its author, its conversation and its
// tags, and from the public timeline.
func (e *Engine) removeLostOwn(ctx context.Context, job, other *Job) error {
	places, otherPlaces := job.places(), other.places()
	var cmds rueidis.Commands
	for _, key := range places.Entries() {
		if other.Author == 0 || !slices.Contains(otherPlaces.Entries(), key) {
			cmds = append(cmds, e.remove(key, job.post))
		}
	}
	if places.OnTimeline() && (other.Author == 0 || !otherPlaces.OnTimeline()) {
		cmds = append(cmds, e.removeFromTimeline(job.post))
	}
	defer e.celebrities.Wrote(job.Author)
	if err := writeAll(ctx, e.client, cmds); err != nil {
		return err
	}
	return e.writer.changedTags(ctx, job.Tags)
}

// detachLost removes a lost post from its parent or its original.
func (e *Engine) detachLost(ctx context.Context, job, other *Job) error {
	switch {
	case job.Parent != 0:
		if other.Parent != job.Parent {
			_, err := e.writer.removeReply(ctx, stub{id: job.post, parent: job.Parent}, false)
			return err
		}
	case job.RepostOf != 0 && (other.RepostOf != job.RepostOf || other.Author != job.Author):
		err := e.writer.drop(ctx, job.RepostOf, storage.RepostersKey(job.RepostOf), "reposts", storage.Itoa(job.Author), storage.Itoa(job.post))
		if err != nil {
			return err
		}
		return MirrorRepost(ctx, e.client, job.Author, job.RepostOf)
	}
	return nil
}
