package fanout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
	"retwis/internal/social/task"
)

const (
	// tagFollowKind is the kind of tasks that make what follows from a followed tag agree
	// with it: "tagfollow:<user>:<tag>".
	tagFollowKind = "tagfollow"
	// tagClearKind is the kind of tasks that take the posts of a tag off a home timeline
	// again, once the posts up to <last> have arrived that were on their way when the tag
	// was unfollowed: "tagclear:<user>:<tag>:<last>".
	tagClearKind = "tagclear"
)

// FollowTag changes whether a user follows a tag by calling change, and makes the
// followers of the tag and the user's home timeline agree with it: a new follow brings the
// latest 100 posts of the tag; the end of one removes what nothing else brings. It can be
// repeated; what a crash cuts short is finished by another process.
func (h *Homes) FollowTag(ctx context.Context, user int64, tag string, change func() error) error {
	return h.mirrored(ctx, tagFollowKind, user, tag, change)
}

func (h *Homes) tagFollowTask(ctx context.Context, argument string) error {
	user, tag, _ := strings.Cut(argument, ":")
	uid, ok := layout.ParseID(user)
	if !ok || tag == "" {
		return nil
	}
	err := storage.CopyEntry(ctx, h.client, followedTag(uid, tag), storage.SetEntry{Key: layout.TagFollowersKey(tag), Member: user})
	if err != nil {
		return err
	}
	last, err := h.timelines.matchTag(ctx, uid, tag)
	if err != nil || last == 0 {
		return err
	}
	member := fmt.Sprintf("%s:%d:%s:%d", tagClearKind, uid, tag, last)
	if err := h.tasks.Note(ctx, member); err != nil {
		return err
	}
	h.tasks.Queue(member)
	return nil
}

// tagClearTask waits for the posts that were on their way: later ones have found that the
// user does not follow the tag, so it ends on a busy site too.
func (h *Homes) tagClearTask(ctx context.Context, argument string) error {
	parts := strings.Split(argument, ":")
	if len(parts) != 3 {
		return nil
	}
	uid, isUser := layout.ParseID(parts[0])
	last, isPost := layout.ParseID(parts[2])
	if !isUser || !isPost {
		return nil
	}
	waiting, err := h.timelines.pendingOfTag(ctx, parts[1])
	if err != nil {
		return err
	}
	if slices.ContainsFunc(waiting, func(post int64) bool { return post <= last }) {
		return task.ErrAgain
	}
	_, err = h.timelines.matchTag(ctx, uid, parts[1])
	return err
}

// followedTag is the authoritative entry of a tag that a user follows.
func followedTag(user int64, tag string) storage.SetEntry {
	return storage.SetEntry{Key: layout.FollowingTagsKey(user), Member: tag}
}

// RemoveOrphans removes those of the posts from a home timeline that nothing brings there
// any more. It is for repairs.
func (h *Homes) RemoveOrphans(ctx context.Context, user int64, ids []string) error {
	return h.timelines.removeOrphans(ctx, user, ids)
}

func texts(posts []int64) []string {
	all := make([]string, len(posts))
	for i, post := range posts {
		all[i] = layout.Itoa(post)
	}
	return all
}

// readStubs reads who has written these posts, what they reply to, and which are deleted.
func (w *writer) readStubs(ctx context.Context, posts []stub) error {
	cmds := make(rueidis.Commands, len(posts))
	for i, p := range posts {
		cmds[i] = w.client.B().Hmget().Key(layout.PostKey(p.id)).Field("user_id", "parent", "deleted").Build()
	}
	if len(cmds) == 0 {
		return nil
	}
	for i, res := range w.client.DoMulti(ctx, cmds...) {
		fields, err := reply.Fields(res)
		if err != nil && !rediserr.IsWrongType(err) {
			return err
		}
		if err == nil {
			posts[i].author, posts[i].exists = layout.ParseID(fields[0])
			posts[i].parent, _ = layout.ParseID(fields[1])
			posts[i].isDeleted = fields[2] != ""
		}
	}
	return nil
}
