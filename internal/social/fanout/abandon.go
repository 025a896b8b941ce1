package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/social/layout"
)

// abandon ends a fan-out whose post is gone: it removes the post from every list. err says
// why: the post was deleted or refused, or a failover has lost it, where another post can
// have its id by now. Another error is returned as it is.
func (e *Engine) abandon(ctx context.Context, job *Job, err error) error {
	switch {
	case errors.Is(err, errDeleted), errors.Is(err, ErrRefused):
		err = e.Deletions.Delete(ctx, job.post)
	case errors.Is(err, ErrNoPost):
		err = e.removeLost(ctx, job)
	}
	if err == nil {
		job.forgetText()
	}
	return err
}

// removeLost removes a post that a failover has lost from the lists where its fan-out has
// put it, except from those where another post with its id belongs. Repeating it changes
// nothing.
func (e *Engine) removeLost(ctx context.Context, job *Job) error {
	other, err := e.segments.owner(ctx, job.post)
	if err != nil || other.Author != 0 && other.identity() == job.identity() {
		return err // its author does not exist any more: the removal of the account goes on
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
	return e.segments.unpush(ctx, stub{id: job.post, author: job.Author, parent: job.Parent, time: job.postTime(), tags: job.Tags})
}

// owner returns the post that has an id, without a limit on when its readers followed;
// the zero value where there is none, or it is deleted.
func (g *segments) owner(ctx context.Context, post int64) (Job, error) {
	job, err := g.writer.stored(ctx, post)
	switch {
	case errors.Is(err, ErrNoPost), errors.Is(err, errDeleted):
		return Job{}, nil
	case err != nil:
		return Job{}, err
	}
	job.followedBy = 0
	return job, nil
}

// removeLostOwn removes a lost post from the lists of its author and its tags, and from the
// public timeline.
func (e *Engine) removeLostOwn(ctx context.Context, job, other *Job) error {
	id := layout.Itoa(job.post)
	b := e.client.B()
	var cmds rueidis.Commands
	if other.Author != job.Author || other.Parent != 0 {
		cmds = append(cmds, b.Zrem().Key(layout.ProfileKey(job.Author)).Member(id).Build())
	}
	if other.Author != job.Author || other.Parent == 0 {
		cmds = append(cmds, b.Zrem().Key(layout.ProfileRepliesKey(job.Author)).Member(id).Build())
	}
	if other.Author == 0 || other.Parent != 0 || other.RepostOf != 0 {
		cmds = append(cmds, b.Lrem().Key(layout.Timeline).Count(0).Element(id).Build())
	}
	for _, tag := range job.Tags {
		if !slices.Contains(other.Tags, tag) {
			cmds = append(cmds, b.Zrem().Key(layout.TagKey(tag)).Member(id).Build())
		}
	}
	defer e.celebrities.Wrote(job.Author)
	if err := writeAll(ctx, e.client, cmds); err != nil {
		return err
	}
	if err := e.writer.changedTags(ctx, job.Tags); err != nil {
		return err
	}
	return e.segments.withdrawLost(ctx, job.post, []string{layout.HomeKey(job.Author)})
}

// detachLost removes a lost post from its conversation, or from the post that it repeats.
func (e *Engine) detachLost(ctx context.Context, job, other *Job) error {
	switch {
	case job.Parent != 0:
		if other.Root != job.Root {
			err := e.client.Do(ctx, e.client.B().Zrem().Key(layout.ThreadKey(job.Root)).Member(layout.Itoa(job.post)).Build().ToRetryable()).Error()
			if err != nil && !rediserr.IsWrongType(err) {
				return err
			}
		}
		if other.Parent != job.Parent {
			_, err := e.writer.removeReply(ctx, stub{id: job.post, parent: job.Parent}, false)
			return err
		}
	case job.RepostOf != 0 && (other.RepostOf != job.RepostOf || other.Author != job.Author):
		err := e.writer.drop(ctx, job.RepostOf, layout.RepostersKey(job.RepostOf), "reposts", layout.Itoa(job.Author), layout.Itoa(job.post))
		if err != nil {
			return err
		}
		return MirrorRepost(ctx, e.client, job.Author, job.RepostOf)
	}
	return nil
}

// withdrawLost removes a lost post from home timelines, except from those where another
// post with its id belongs. What a follow has brought there meanwhile is put back.
func (g *segments) withdrawLost(ctx context.Context, post int64, keys []string) error {
	for some := range slices.Chunk(keys, pageOfSegment) {
		theirs, err := g.homesOfOwner(ctx, post, some)
		if err != nil {
			return err
		}
		gone := slices.DeleteFunc(slices.Clone(some), func(key string) bool { return theirs[key] })
		if err := g.homes.Withdraw(ctx, post, gone...); err != nil {
			return err
		}
		if theirs, err = g.homesOfOwner(ctx, post, gone); err != nil {
			return err
		}
		back := slices.DeleteFunc(gone, func(key string) bool { return !theirs[key] })
		if err := g.homes.Put(ctx, post, back...); err != nil {
			return err
		}
	}
	return nil
}

// homesOfOwner returns those of the home timelines where the post that has this id
// belongs.
func (g *segments) homesOfOwner(ctx context.Context, post int64, keys []string) (map[string]bool, error) {
	theirs := map[string]bool{}
	owner, err := g.owner(ctx, post)
	if err != nil || owner.Author == 0 || len(keys) == 0 {
		return theirs, err
	}
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = strings.TrimPrefix(key, layout.HomePrefix)
	}
	follow, err := g.writer.onAny(ctx, ids, layout.FollowersKey(owner.Author))
	if err != nil {
		return nil, err
	}
	readers := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !follow[id] })
	if owner.isNarrow() {
		if readers, err = g.writer.whoFollowBoth(ctx, &owner, readers); err != nil {
			return nil, err
		}
	}
	sets := make([]string, len(owner.Tags))
	for i, tag := range owner.Tags {
		sets[i] = layout.TagFollowersKey(tag)
	}
	tagged, err := g.writer.onAny(ctx, ids, sets...)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		theirs[keys[i]] = tagged[id] || id == layout.Itoa(owner.Author) || slices.Contains(readers, id)
	}
	return theirs, nil
}
