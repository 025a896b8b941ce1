package fanout

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
)

// homeTimelines changes what home timelines have.
type homeTimelines struct {
	db
	writer *writer
}

func (t *homeTimelines) follow(ctx context.Context, from, to int64) (bool, error) {
	since, err := t.followedSince(ctx, from, to)
	return !math.IsInf(since, 1), err
}

// followedSince returns since when a user follows another, in unix seconds; +Inf for never.
func (t *homeTimelines) followedSince(ctx context.Context, from, to int64) (float64, error) {
	score, err := reply.TextOrEmpty(t.client.Do(ctx, t.client.B().Zscore().Key(layout.FollowingKey(from)).Member(layout.Itoa(to)).Build()))
	if err != nil || score == "" {
		return math.Inf(1), err
	}
	return strconv.ParseFloat(score, 64)
}

// fill puts the latest posts of a user on the home timeline of a follower, without
// those that are merged with it anyway, and removes what is deleted: meanwhile, or while
// the user was not a follower for a moment.
func (t *homeTimelines) fill(ctx context.Context, from, to int64) error {
	first, err := t.celebrities.First(ctx, to)
	if err != nil {
		return err
	}
	return t.fillFrom(ctx, from, layout.ProfileKey(to), first)
}

// fillFrom puts the latest posts of a set on a home timeline, those below first where it
// is not 0, and removes what is deleted.
func (t *homeTimelines) fillFrom(ctx context.Context, user int64, set string, first int64) error {
	ids, err := t.client.Do(ctx, t.client.B().Zrevrange().Key(set).Start(0).Stop(filledPosts-1).Build()).AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	posts := make([]int64, 0, len(ids))
	for _, id := range ids {
		if post, ok := layout.ParseID(id); ok && (first == 0 || post < first) {
			posts = append(posts, post)
		}
	}
	if err := t.homes.PutMany(ctx, layout.HomeKey(user), posts...); err != nil {
		return err
	}
	home, err := t.client.Do(ctx, t.client.B().Lrange().Key(layout.HomeKey(user)).Start(0).Stop(-1).Build()).AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	deleted, err := t.deleted(ctx, home)
	if err != nil {
		return err
	}
	return t.removeFrom(ctx, user, deleted)
}

// clear removes the posts of a user from the home timeline of one who does not
// follow them any more, and posts that were deleted: a deletion that has just removed a
// post from the profile of its author has not found this follower.
func (t *homeTimelines) clear(ctx context.Context, from, to int64) error {
	b := t.client.B()
	res := t.client.DoMulti(ctx,
		b.Lrange().Key(layout.HomeKey(from)).Start(0).Stop(-1).Build(),
		b.Zrange().Key(layout.FollowingTagsKey(from)).Min("0").Max(layout.Itoa(maxTagsKept-1)).Build())
	ids, err := res[0].AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	merged, err := t.merged(ctx, to)
	if err != nil {
		return err
	}
	listed := len(ids)
	ids = append(ids, merged...)
	theirs, err := t.writer.onAny(ctx, ids, layout.ProfileKey(to), layout.ProfileRepliesKey(to))
	if err != nil {
		return err
	}
	// A list of the user's posts can lack some, until a check repairs it.
	others, err := t.unlessKnown(ctx, ids[:listed], theirs)
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
	tagged, err := t.writer.onAny(ctx, ids, sets...)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return tagged[id] })
	if err := t.removeFrom(ctx, from, append(ids, deleted...)); err != nil {
		return err
	}
	return t.keep(ctx, from, merged, tagged)
}

// merged returns the latest posts of a user that home timelines are merged with.
func (t *homeTimelines) merged(ctx context.Context, author int64) ([]string, error) {
	first, err := t.celebrities.First(ctx, author)
	if err != nil || first == 0 {
		return nil, err
	}
	ids, err := t.client.Do(ctx, t.client.B().Zrevrangebyscore().Key(layout.ProfileKey(author)).
		Max("+inf").Min(layout.Itoa(first)).Limit(0, filledPosts).Build()).AsStrSlice()
	if rediserr.IsWrongType(err) {
		return nil, nil
	}
	return ids, err
}

// keep puts those of the merged posts on a home timeline that have a tag which the user
// follows: they stay when the user no longer follows the author.
func (t *homeTimelines) keep(ctx context.Context, user int64, merged []string, tagged map[string]bool) error {
	var posts []int64
	for _, id := range merged {
		if post, ok := layout.ParseID(id); ok && tagged[id] {
			posts = append(posts, post)
		}
	}
	return t.homes.PutMany(ctx, layout.HomeKey(user), posts...)
}

// deleted returns the posts among the ids that are deleted or erased.
func (t *homeTimelines) deleted(ctx context.Context, ids []string) ([]string, error) {
	posts, err := t.unlessKnown(ctx, ids, nil)
	var found []string
	for _, p := range posts {
		if p.isGone() {
			found = append(found, layout.Itoa(p.id))
		}
	}
	return found, err
}

// unlessKnown reads the posts among the ids, except for those that are known.
func (t *homeTimelines) unlessKnown(ctx context.Context, ids []string, known map[string]bool) ([]stub, error) {
	var posts []stub
	for _, id := range ids {
		if post, ok := layout.ParseID(id); ok && !known[id] { // not the end of a list
			posts = append(posts, stub{id: post})
		}
	}
	return posts, t.writer.readStubs(ctx, posts)
}

func (t *homeTimelines) removeFrom(ctx context.Context, user int64, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := t.lists.Repair(ctx, layout.HomeKey(user), ids...)
	return err
}

// matchTag makes the home timeline of a user agree with whether they follow a tag. Where
// they do not, it returns the latest post of the tag that was on its way before, and may
// still arrive; 0 for none.
func (t *homeTimelines) matchTag(ctx context.Context, user int64, tag string) (last int64, err error) {
	since, err := storage.EntryScore(ctx, t.client, followedTag(user, tag))
	for err == nil {
		last = 0
		if since != "" {
			err = t.fillFrom(ctx, user, layout.TagKey(tag), 0)
		} else {
			var waiting []int64
			if waiting, err = t.pendingOfTag(ctx, tag); err == nil {
				last = max(0, slices.Max(append(waiting, 0)))
				err = t.clearOrphans(ctx, user)
			}
		}
		if err != nil {
			break
		}
		// The last one has seen the latest state.
		var again string
		if again, err = storage.EntryScore(ctx, t.client, followedTag(user, tag)); err == nil && (again != "") == (since != "") {
			return last, nil
		}
		since = again
	}
	return 0, fmt.Errorf("social: home timeline of user %d: %w", user, err)
}

// clearOrphans removes the posts from a home timeline that nothing brings there any more.
// What a follow has brought back meanwhile is put there again.
func (t *homeTimelines) clearOrphans(ctx context.Context, user int64) error {
	ids, err := t.client.Do(ctx, t.client.B().Lrange().Key(layout.HomeKey(user)).Start(0).Stop(-1).Build()).AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	return t.removeOrphans(ctx, user, ids)
}

func (t *homeTimelines) removeOrphans(ctx context.Context, user int64, ids []string) error {
	gone, err := t.orphans(ctx, user, ids)
	for err == nil && len(gone) > 0 {
		if err = t.removeFrom(ctx, user, gone); err != nil {
			break
		}
		var still []string
		if still, err = t.orphans(ctx, user, gone); err != nil {
			break
		}
		var back []int64
		for _, id := range gone {
			if post, ok := layout.ParseID(id); ok && !slices.Contains(still, id) {
				back = append(back, post)
			}
		}
		if len(back) == 0 {
			break
		}
		if err = t.homes.PutMany(ctx, layout.HomeKey(user), back...); err == nil {
			gone, err = t.orphans(ctx, user, texts(back))
		}
	}
	return err
}

// orphans returns those of the posts that do not belong on a home timeline: they are
// deleted, or neither of the user nor of people they follow, and have no tag that they
// follow. One whose tag an edit has removed is among them.
func (t *homeTimelines) orphans(ctx context.Context, user int64, ids []string) ([]string, error) {
	unheard, deleted, err := t.unheard(ctx, user, ids)
	if err != nil {
		return nil, err
	}
	tags, err := t.client.Do(ctx, t.client.B().Zrange().Key(layout.FollowingTagsKey(user)).
		Min("0").Max(layout.Itoa(maxTagsKept-1)).Build()).AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return nil, err
	}
	sets := make([]string, len(tags))
	for i, tag := range tags {
		sets[i] = layout.TagKey(tag)
	}
	tagged, err := t.writer.onAny(ctx, unheard, sets...)
	return append(slices.DeleteFunc(unheard, func(id string) bool { return tagged[id] }), deleted...), err
}

// unheard returns those of the posts that neither the user nor the people they follow
// bring to the user's home timeline, and those that are deleted or erased. A post that is merged
// with home timelines is on a list for its tags only.
func (t *homeTimelines) unheard(ctx context.Context, user int64, ids []string) (unheard, deleted []string, err error) {
	known, err := t.celebrities.Load(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	var posts, parents []stub
	for _, id := range ids {
		if post, ok := layout.ParseID(id); ok { // not the end of a list
			posts = append(posts, stub{id: post})
		}
	}
	if err := t.writer.readStubs(ctx, posts); err != nil {
		return nil, nil, err
	}
	people, ofParent := map[string]bool{}, map[int64]int64{}
	for _, p := range posts {
		people[layout.Itoa(p.author)] = true
		if p.parent != 0 {
			parents = append(parents, stub{id: p.parent})
		}
	}
	if err := t.writer.readStubs(ctx, parents); err != nil {
		return nil, nil, err
	}
	for _, p := range parents {
		people[layout.Itoa(p.author)] = true
		ofParent[p.id] = p.author
	}
	follows, err := t.writer.onAny(ctx, slices.Collect(maps.Keys(people)), layout.FollowingKey(user))
	if err != nil {
		return nil, nil, err
	}
	for _, p := range posts {
		to, id, first := ofParent[p.parent], layout.Itoa(p.id), known.First[p.author]
		isMerged := first != 0 && p.id >= first && p.parent == 0
		isNarrow := p.parent != 0 && to != 0 && to != p.author && to != user
		switch {
		case p.isGone():
			deleted = append(deleted, id)
		case p.author == user:
		case isMerged, !follows[layout.Itoa(p.author)], isNarrow && !follows[layout.Itoa(to)]:
			unheard = append(unheard, id)
		}
	}
	return unheard, deleted, nil
}
