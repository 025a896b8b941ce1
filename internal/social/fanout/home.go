package fanout

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
	"retwis/internal/social/task"
)

const (
	// filledPosts is how many posts a new follow brings to a home timeline.
	filledPosts = 100
	// maxTagsKept is how many of the tags that a user follows are looked at: all.
	maxTagsKept = 500
)

// homeKind is the kind of tasks that make a home timeline agree with a follow:
// "home:<follower>:<followed>".
const homeKind = "home"

// Follow changes a follow by calling change, and makes the follower's home timeline
// agree with it: a new follow brings the latest 100 posts and reposts of the followed
// user; the end of one removes all that this user has written, except posts with a
// tag that the follower follows. It can be repeated. However many processes follow
// and unfollow at once, both agree when all have returned; what a crash cuts short
// is finished by another process. Seven round trips besides change.
func (e *Engine) Follow(ctx context.Context, from, to int64, change func() error) error {
	member := homeMember(from, to)
	if err := e.tasks.Note(ctx, member); err != nil {
		return err
	}
	err := change()
	e.tasks.Run(ctx, member)
	return err
}

// homeMember is the task that makes a home timeline agree with a follow.
func homeMember(from, to int64) string { return fmt.Sprintf("%s:%d:%d", homeKind, from, to) }

func (e *Engine) homeTask(ctx context.Context, argument string) error {
	one, two, _ := strings.Cut(argument, ":")
	from, isFrom := layout.ParseID(one)
	to, isTo := layout.ParseID(two)
	if !isFrom || !isTo || from == to {
		return nil
	}
	w := &e.writer
	if err := w.follows.Finish(ctx, from, to, w.now()); err != nil {
		return err
	}
	follows, err := w.follow(ctx, from, to)
	for err == nil {
		isPending := false
		if follows {
			err = w.fillHome(ctx, from, to)
		} else {
			if isPending, err = w.isPending(ctx, to); err == nil {
				err = w.clearHome(ctx, from, to)
			}
		}
		if err != nil {
			break
		}
		// The last one has seen the latest state.
		var again bool
		if again, err = w.follow(ctx, from, to); err == nil && again == follows {
			if isPending {
				return task.ErrAgain
			}
			return nil
		}
		follows = again
	}
	return fmt.Errorf("social: home timeline of user %d: %w", from, err)
}

func (w *writer) follow(ctx context.Context, from, to int64) (bool, error) {
	since, err := w.followedSince(ctx, from, to)
	return !math.IsInf(since, 1), err
}

// followedSince returns since when a user follows another, in unix seconds; +Inf for never.
func (w *writer) followedSince(ctx context.Context, from, to int64) (float64, error) {
	score, err := reply.TextOrEmpty(w.client.Do(ctx, w.client.B().Zscore().Key(layout.FollowingKey(from)).Member(layout.Itoa(to)).Build()))
	if err != nil || score == "" {
		return math.Inf(1), err
	}
	return strconv.ParseFloat(score, 64)
}

// fillHome puts the latest posts of a user on the home timeline of a follower, without
// those that are merged with it anyway, and removes what is deleted: meanwhile, or while
// the user was not a follower for a moment.
func (w *writer) fillHome(ctx context.Context, from, to int64) error {
	first, err := w.celebrities.First(ctx, to)
	if err != nil {
		return err
	}
	return w.fillFrom(ctx, from, layout.ProfileKey(to), first)
}

// fillFrom puts the latest posts of a set on a home timeline, those below first where it
// is not 0, and removes what is deleted.
func (w *writer) fillFrom(ctx context.Context, user int64, set string, first int64) error {
	ids, err := w.client.Do(ctx, w.client.B().Zrevrange().Key(set).Start(0).Stop(filledPosts-1).Build()).AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	posts := make([]int64, 0, len(ids))
	for _, id := range ids {
		if post, ok := layout.ParseID(id); ok && (first == 0 || post < first) {
			posts = append(posts, post)
		}
	}
	if err := w.homes.PutMany(ctx, layout.HomeKey(user), posts...); err != nil {
		return err
	}
	home, err := w.client.Do(ctx, w.client.B().Lrange().Key(layout.HomeKey(user)).Start(0).Stop(-1).Build()).AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	deleted, err := w.deleted(ctx, home)
	if err != nil {
		return err
	}
	return w.removeFrom(ctx, user, deleted)
}

// clearHome removes the posts of a user from the home timeline of one who does not
// follow them any more, and posts that were deleted: a deletion that has just removed a
// post from the profile of its author has not found this follower.
func (w *writer) clearHome(ctx context.Context, from, to int64) error {
	b := w.client.B()
	res := w.client.DoMulti(ctx,
		b.Lrange().Key(layout.HomeKey(from)).Start(0).Stop(-1).Build(),
		b.Zrange().Key(layout.FollowingTagsKey(from)).Min("0").Max(layout.Itoa(maxTagsKept-1)).Build())
	ids, err := res[0].AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	merged, err := w.merged(ctx, to)
	if err != nil {
		return err
	}
	listed := len(ids)
	ids = append(ids, merged...)
	theirs, err := w.onAny(ctx, ids, layout.ProfileKey(to), layout.ProfileRepliesKey(to))
	if err != nil {
		return err
	}
	// A list of the user's posts can lack some, until a check repairs it.
	others, err := w.unlessKnown(ctx, ids[:listed], theirs)
	if err != nil {
		return err
	}
	var deleted []string
	for _, p := range others {
		if p.isGone() {
			deleted = append(deleted, layout.Itoa(p.id))
		} else if p.author == to {
			theirs[layout.Itoa(p.id)] = true
		}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !theirs[id] })
	tags, err := res[1].AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	sets := make([]string, len(tags))
	for i, tag := range tags {
		sets[i] = layout.TagKey(tag)
	}
	tagged, err := w.onAny(ctx, ids, sets...)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return tagged[id] })
	if err := w.removeFrom(ctx, from, append(ids, deleted...)); err != nil {
		return err
	}
	return w.keep(ctx, from, merged, tagged)
}

// merged returns the latest posts of a user that home timelines are merged with.
func (w *writer) merged(ctx context.Context, author int64) ([]string, error) {
	first, err := w.celebrities.First(ctx, author)
	if err != nil || first == 0 {
		return nil, err
	}
	ids, err := w.client.Do(ctx, w.client.B().Zrevrangebyscore().Key(layout.ProfileKey(author)).
		Max("+inf").Min(layout.Itoa(first)).Limit(0, filledPosts).Build()).AsStrSlice()
	if rediserr.IsWrongType(err) {
		return nil, nil
	}
	return ids, err
}

// keep puts those of the merged posts on a home timeline that have a tag which the user
// follows: they stay when the user no longer follows the author.
func (w *writer) keep(ctx context.Context, user int64, merged []string, tagged map[string]bool) error {
	var posts []int64
	for _, id := range merged {
		if post, ok := layout.ParseID(id); ok && tagged[id] {
			posts = append(posts, post)
		}
	}
	return w.homes.PutMany(ctx, layout.HomeKey(user), posts...)
}

// deleted returns the posts among the ids that are deleted or erased.
func (w *writer) deleted(ctx context.Context, ids []string) ([]string, error) {
	posts, err := w.unlessKnown(ctx, ids, nil)
	var found []string
	for _, p := range posts {
		if p.isGone() {
			found = append(found, layout.Itoa(p.id))
		}
	}
	return found, err
}

// unlessKnown reads the posts among the ids, except for those that are known.
func (w *writer) unlessKnown(ctx context.Context, ids []string, known map[string]bool) ([]stub, error) {
	var posts []stub
	for _, id := range ids {
		if post, ok := layout.ParseID(id); ok && !known[id] { // not the end of a list
			posts = append(posts, stub{id: post})
		}
	}
	return posts, w.readStubs(ctx, posts)
}

func (w *writer) removeFrom(ctx context.Context, user int64, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := w.lists.Repair(ctx, layout.HomeKey(user), ids...)
	return err
}

// onAny returns those of the ids that are in at least one of the sorted sets. One
// round trip.
func (w *writer) onAny(ctx context.Context, ids []string, sets ...string) (map[string]bool, error) {
	found := map[string]bool{}
	if len(ids) == 0 || len(sets) == 0 {
		return found, nil
	}
	cmds := make(rueidis.Commands, len(sets))
	for i, set := range sets {
		cmds[i] = w.client.B().Zmscore().Key(set).Member(ids...).Build()
	}
	for _, res := range w.client.DoMulti(ctx, cmds...) {
		scores, err := res.ToArray()
		if rediserr.IsWrongType(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i, score := range scores {
			if !score.IsNil() {
				found[ids[i]] = true
			}
		}
	}
	return found, nil
}
