package social

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/internal/social/fanout"
	"retwis/internal/social/layout"
	"retwis/internal/social/text"
)

var (
	//go:embed follow_tag.lua
	followTagSource string
	followTagScript = script.New(followTagSource).Retryable()
)

// MaxFollowedTags is how many tags a user can follow.
const MaxFollowedTags = 500

// tags are the methods of a Service for tags. A tag is given in any spelling, with or
// without #.
type tags struct {
	db        database
	lists     *listings
	timelines *timelines
	fanOut    *fanout.Engine
	now       func() time.Time
}

func newTags(opt postOptions) *tags {
	return &tags{db: opt.Users.db, lists: opt.Lists, timelines: opt.Timelines, fanOut: opt.FanOut, now: opt.Now}
}

// TagPosts returns a page of the posts with a tag, or ErrNotFound for what is no tag;
// see HomePosts.
func (t *tags) TagPosts(ctx context.Context, v *Viewer, tag string, before int64, limit int) (Listing, error) {
	tag, ok := text.FoldTag(tag)
	if !ok {
		return Listing{}, ErrNotFound
	}
	return t.lists.listing(ctx, v, before, limit, 0, Shown, func(ctx context.Context, before int64, limit int) (Page, error) {
		return t.timelines.byID(ctx, layout.TagKey(tag), before, limit)
	})
}

// FollowTag puts the latest 100 posts with a tag, and those that are written from now on,
// on the user's home timeline. Repeating it changes nothing, not even the time. It returns ErrNotFound
// for what is no tag, and *InvalidError for a user who follows 500 tags already.
//
// following_tags decides, tag_followers mirrors it, as a task, which another process
// finishes if this one dies. About ten round trips.
func (t *tags) FollowTag(ctx context.Context, user User, tag string) error {
	tag, ok := text.FoldTag(tag)
	if !ok {
		return ErrNotFound
	}
	return t.fanOut.FollowTag(ctx, user.ID, tag, func() error {
		ok, err := followTagScript.RunFenced(ctx, t.db.client, []string{layout.FollowingTagsKey(user.ID)},
			[]string{tag, layout.Seconds(t.now()), strconv.Itoa(MaxFollowedTags)}).AsBool()
		if err != nil {
			return fmt.Errorf("social: follow a tag: %w", err)
		}
		if !ok {
			return &InvalidError{"tag", fmt.Sprintf("You can follow at most %d tags. Unfollow one first.", MaxFollowedTags)}
		}
		return nil
	})
}

// UnfollowTag ends that: the posts leave the home timeline, except those of the user, of
// people they follow, and with another tag that they follow. Repeating it changes nothing.
// About 20 round trips.
func (t *tags) UnfollowTag(ctx context.Context, user User, tag string) error {
	tag, ok := text.FoldTag(tag)
	if !ok {
		return ErrNotFound
	}
	return t.fanOut.FollowTag(ctx, user.ID, tag, func() error {
		key := layout.FollowingTagsKey(user.ID)
		b := t.db.client.B()
		// The second command waits for the invalidation messages of the first.
		res := t.db.client.DoMulti(ctx, b.Zrem().Key(key).Member(tag).Build().ToRetryable(), b.Exists().Key(key).Build().ToRetryable())
		if err := res[0].Error(); err != nil {
			return fmt.Errorf("social: unfollow a tag: %w", err)
		}
		return nil
	})
}

// IsFollowingTag reports whether a user follows a tag. One round trip at most.
func (t *tags) IsFollowingTag(ctx context.Context, uid int64, tag string) (bool, error) {
	tag, ok := text.FoldTag(tag)
	if !ok || uid == 0 {
		return false, nil
	}
	err := t.db.read(ctx, t.db.client.B().Zscore().Key(layout.FollowingTagsKey(uid)).Member(tag).Cache()).Error()
	if err != nil && !rueidis.IsRedisNil(err) {
		return false, fmt.Errorf("social: is following a tag: %w", err)
	}
	return err == nil, nil
}

// FollowedTags returns the tags that a user follows, the latest first. One round trip
// at most.
func (t *tags) FollowedTags(ctx context.Context, uid int64) ([]string, error) {
	all, err := t.db.read(ctx, t.db.client.B().Zrange().Key(layout.FollowingTagsKey(uid)).
		Min("0").Max(strconv.Itoa(MaxFollowedTags-1)).Rev().Cache()).AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("social: list followed tags: %w", err)
	}
	return all, nil
}
