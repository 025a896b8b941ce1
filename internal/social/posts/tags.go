package posts

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/internal/social/text"
	"retwis/internal/social/timeline"
)

var (
	//go:embed follow_tag.lua
	followTagSource string
	followTagScript = script.New(followTagSource).Retryable()
)

// MaxFollowedTags is the maximum number of tags a user can follow.
const MaxFollowedTags = 500

// Tags lets users read and follow tags. A tag can be given in any spelling, with or without #.
type Tags struct{ Options }

// NewTags returns the Tags of a database.
func NewTags(opt Options) *Tags { return &Tags{opt} }

// TagPosts returns a page of the posts with a tag, or ErrNotFound if tag is not a valid tag; see
// HomePosts.
func (t *Tags) TagPosts(ctx context.Context, v *social.Viewer, tag string, before int64, limit int) (timeline.Listing, error) {
	tag, ok := text.FoldTag(tag)
	if !ok {
		return timeline.Listing{}, social.ErrNotFound
	}
	return t.Lists.Page(ctx, timeline.PageQuery{
		Viewer: v, Before: before, Limit: limit, Least: social.Shown,
		Read: func(ctx context.Context, before int64, limit int) (timeline.Page, error) {
			return t.Timelines.ByID(ctx, storage.TagKey(tag), before, limit)
		},
	})
}

// FollowTag adds the latest 100 posts with a tag, and all later posts with the tag, to the user's
// home timeline. Following a tag again changes nothing, not even the time. FollowTag returns
// ErrNotFound if tag is not a valid tag, and *InvalidError if the user already follows 500 tags.
//
// following_tags is authoritative. A task copies the change to tag_followers; another process
// finishes the task if this process dies. About ten round trips.
func (t *Tags) FollowTag(ctx context.Context, user social.User, tag string) error {
	tag, ok := text.FoldTag(tag)
	if !ok {
		return social.ErrNotFound
	}
	return t.FanOut.Homes.FollowTag(ctx, user.ID, tag, func() error {
		ok, err := followTagScript.RunFenced(ctx, t.DB.Client, []string{storage.FollowingTagsKey(user.ID)},
			[]string{tag, storage.Seconds(t.Now()), strconv.Itoa(MaxFollowedTags)}).AsBool()
		if err != nil {
			return fmt.Errorf("social: follow a tag: %w", err)
		}
		if !ok {
			return social.Invalid("tag", "You can follow at most {n} tags. Unfollow one first.", MaxFollowedTags)
		}
		return nil
	})
}

// UnfollowTag makes a user unfollow a tag. Posts that were on the home timeline only because of the
// tag disappear. Unfollowing a tag again changes nothing.
func (t *Tags) UnfollowTag(ctx context.Context, user social.User, tag string) error {
	tag, ok := text.FoldTag(tag)
	if !ok {
		return social.ErrNotFound
	}
	return t.FanOut.Homes.FollowTag(ctx, user.ID, tag, func() error {
		key := storage.FollowingTagsKey(user.ID)
		b := t.DB.Client.B()
		// The second command makes sure the invalidation messages of the first have arrived.
		res := t.DB.Client.DoMulti(ctx, b.Zrem().Key(key).Member(tag).Build().ToRetryable(), b.Exists().Key(key).Build().ToRetryable())
		if err := res[0].Error(); err != nil {
			return fmt.Errorf("social: unfollow a tag: %w", err)
		}
		return nil
	})
}

// IsFollowingTag reports whether a user follows a tag. At most one round trip.
func (t *Tags) IsFollowingTag(ctx context.Context, uid int64, tag string) (bool, error) {
	tag, ok := text.FoldTag(tag)
	if !ok || uid == 0 {
		return false, nil
	}
	follows, err := reply.Exists(t.DB.Read(ctx, t.DB.Client.B().Zscore().Key(storage.FollowingTagsKey(uid)).Member(tag).Cache()))
	if err != nil {
		return false, fmt.Errorf("social: is following a tag: %w", err)
	}
	return follows, nil
}

// FollowedTags returns the tags that a user follows, latest first. At most one round trip.
func (t *Tags) FollowedTags(ctx context.Context, uid int64) ([]string, error) {
	all, err := reply.OrEmpty(t.DB.Read(ctx, t.DB.Client.B().Zrange().Key(storage.FollowingTagsKey(uid)).
		Min("0").Max(strconv.Itoa(MaxFollowedTags-1)).Rev().Cache()).AsStrSlice())
	if err != nil {
		return nil, fmt.Errorf("social: list followed tags: %w", err)
	}
	return all, nil
}
