package posts

import (
	"context"
	"strings"

	"retwis/internal/social/storage"
)

// tagFollowKind is the kind of tasks that finish following or unfollowing a tag:
// "tagfollow:<user>:<tag>".
const tagFollowKind = "tagfollow"

// FollowTag calls change to make a user follow or unfollow a tag, and updates the followers of the
// tag. A new follow adds the latest 100 posts of the tag to the user's home timeline. FollowTag can
// be repeated. After a crash, another process completes it.
func (h *Homes) FollowTag(ctx context.Context, user int64, tag string, change func() error) error {
	return h.mirror(ctx, tagFollowKind, user, tag, change)
}

func (h *Homes) tagFollowTask(ctx context.Context, argument string) error {
	user, tag, _ := strings.Cut(argument, ":")
	uid, ok := storage.ParseID(user)
	if !ok || tag == "" {
		return nil
	}
	err := storage.CopyEntry(ctx, h.client, followedTag(uid, tag), storage.SetEntry{Key: storage.TagFollowersKey(tag), Member: user})
	if err != nil {
		return err
	}
	return h.timelines.fillTag(ctx, uid, tag)
}

// followedTag returns the authoritative entry of a tag that a user follows.
func followedTag(user int64, tag string) storage.SetEntry {
	return storage.SetEntry{Key: storage.FollowingTagsKey(user), Member: tag}
}
