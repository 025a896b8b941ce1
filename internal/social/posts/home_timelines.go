package posts

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
)

// homeTimelines fills home timelines.
type homeTimelines struct{ db }

// isFollowing reports whether a user follows another.
func (t *homeTimelines) isFollowing(ctx context.Context, from, to int64) (bool, error) {
	since, err := t.followedSince(ctx, from, to)
	return !math.IsInf(since, 1), err
}

// followedSince returns the time since which a user follows another, in Unix seconds, or +Inf if
// the user does not.
func (t *homeTimelines) followedSince(ctx context.Context, from, to int64) (float64, error) {
	score, err := reply.TextOrEmpty(t.client.Do(ctx, t.client.B().Zscore().Key(storage.FollowingKey(from)).Member(storage.Itoa(to)).Build()))
	if err != nil || score == "" {
		return math.Inf(1), err
	}
	return strconv.ParseFloat(score, 64)
}

// fill adds the latest posts of a user to the home timeline of a follower, except posts that are
// merged into the timeline at read time.
func (t *homeTimelines) fill(ctx context.Context, from, to int64) error {
	first, err := t.celebrities.First(ctx, to)
	if err != nil {
		return err
	}
	return t.fillFrom(ctx, from, storage.ProfileKey(to), first)
}

// fillFrom adds the latest posts of a set to a home timeline. If first is not 0, it adds only posts
// with smaller IDs.
func (t *homeTimelines) fillFrom(ctx context.Context, user int64, set string, first int64) error {
	ids, err := reply.OrEmpty(t.client.Do(ctx, t.client.B().Zrevrange().Key(set).Start(0).Stop(filledPosts-1).Build()).AsStrSlice())
	if err != nil {
		return err
	}
	posts := make([]int64, 0, len(ids))
	for _, id := range ids {
		if post, ok := storage.ParseID(id); ok && (first == 0 || post < first) {
			posts = append(posts, post)
		}
	}
	return t.homes.PutMany(ctx, storage.HomeKey(user), posts...)
}

// fillTag adds the latest posts of a tag to the home timeline of a user, if the user follows the
// tag.
func (t *homeTimelines) fillTag(ctx context.Context, user int64, tag string) error {
	since, err := storage.EntryScore(ctx, t.client, followedTag(user, tag))
	if err == nil && since != "" {
		err = t.fillFrom(ctx, user, storage.TagKey(tag), 0)
	}
	if err != nil {
		return fmt.Errorf("social: home timeline of user %d: %w", user, err)
	}
	return nil
}
