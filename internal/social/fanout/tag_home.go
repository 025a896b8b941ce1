package fanout

import (
	"context"
	"fmt"
	"maps"
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
func (e *Engine) FollowTag(ctx context.Context, user int64, tag string, change func() error) error {
	return e.mirrored(ctx, tagFollowKind, user, tag, change)
}

func (e *Engine) tagFollowTask(ctx context.Context, argument string) error {
	user, tag, _ := strings.Cut(argument, ":")
	uid, ok := layout.ParseID(user)
	if !ok || tag == "" {
		return nil
	}
	err := storage.CopyEntry(ctx, e.writer.client, followedTag(uid, tag), storage.SetEntry{Key: layout.TagFollowersKey(tag), Member: user})
	if err != nil {
		return err
	}
	last, err := e.writer.tagHome(ctx, uid, tag)
	if err != nil || last == 0 {
		return err
	}
	member := fmt.Sprintf("%s:%d:%s:%d", tagClearKind, uid, tag, last)
	if err := e.tasks.Note(ctx, member); err != nil {
		return err
	}
	e.tasks.Queue(member)
	return nil
}

// tagClearTask waits for the posts that were on their way: later ones have found that the
// user does not follow the tag, so it ends on a busy site too.
func (e *Engine) tagClearTask(ctx context.Context, argument string) error {
	parts := strings.Split(argument, ":")
	if len(parts) != 3 {
		return nil
	}
	uid, isUser := layout.ParseID(parts[0])
	last, isPost := layout.ParseID(parts[2])
	if !isUser || !isPost {
		return nil
	}
	waiting, err := e.writer.pendingOfTag(ctx, parts[1])
	if err != nil {
		return err
	}
	if slices.ContainsFunc(waiting, func(post int64) bool { return post <= last }) {
		return task.ErrAgain
	}
	_, err = e.writer.tagHome(ctx, uid, parts[1])
	return err
}

// followedTag is the authoritative entry of a tag that a user follows.
func followedTag(user int64, tag string) storage.SetEntry {
	return storage.SetEntry{Key: layout.FollowingTagsKey(user), Member: tag}
}

// tagHome makes the home timeline of a user agree with whether they follow a tag. Where
// they do not, it returns the latest post of the tag that was on its way before, and may
// still arrive; 0 for none.
func (w *writer) tagHome(ctx context.Context, user int64, tag string) (last int64, err error) {
	since, err := storage.EntryScore(ctx, w.client, followedTag(user, tag))
	for err == nil {
		last = 0
		if since != "" {
			err = w.fillFrom(ctx, user, layout.TagKey(tag), 0)
		} else {
			var waiting []int64
			if waiting, err = w.pendingOfTag(ctx, tag); err == nil {
				last = max(0, slices.Max(append(waiting, 0)))
				err = w.clearOrphans(ctx, user)
			}
		}
		if err != nil {
			break
		}
		// The last one has seen the latest state.
		var again string
		if again, err = storage.EntryScore(ctx, w.client, followedTag(user, tag)); err == nil && (again != "") == (since != "") {
			return last, nil
		}
		since = again
	}
	return 0, fmt.Errorf("social: home timeline of user %d: %w", user, err)
}

// clearOrphans removes the posts from a home timeline that nothing brings there any more.
// What a follow has brought back meanwhile is put there again.
func (w *writer) clearOrphans(ctx context.Context, user int64) error {
	ids, err := w.client.Do(ctx, w.client.B().Lrange().Key(layout.HomeKey(user)).Start(0).Stop(-1).Build()).AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	return w.removeOrphans(ctx, user, ids)
}

// RemoveOrphans removes those of the posts from a home timeline that nothing brings there
// any more. It is for repairs.
func (e *Engine) RemoveOrphans(ctx context.Context, user int64, ids []string) error {
	return e.writer.removeOrphans(ctx, user, ids)
}

func (w *writer) removeOrphans(ctx context.Context, user int64, ids []string) error {
	gone, err := w.orphans(ctx, user, ids)
	for err == nil && len(gone) > 0 {
		if err = w.removeFrom(ctx, user, gone); err != nil {
			break
		}
		var still []string
		if still, err = w.orphans(ctx, user, gone); err != nil {
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
		if err = w.homes.PutMany(ctx, layout.HomeKey(user), back...); err == nil {
			gone, err = w.orphans(ctx, user, texts(back))
		}
	}
	return err
}

func texts(posts []int64) []string {
	all := make([]string, len(posts))
	for i, post := range posts {
		all[i] = layout.Itoa(post)
	}
	return all
}

// orphans returns those of the posts that do not belong on a home timeline: they are
// deleted, or neither of the user nor of people they follow, and have no tag that they
// follow. One whose tag an edit has removed is among them.
func (w *writer) orphans(ctx context.Context, user int64, ids []string) ([]string, error) {
	unheard, deleted, err := w.unheard(ctx, user, ids)
	if err != nil {
		return nil, err
	}
	tags, err := w.client.Do(ctx, w.client.B().Zrange().Key(layout.FollowingTagsKey(user)).
		Min("0").Max(layout.Itoa(maxTagsKept-1)).Build()).AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return nil, err
	}
	sets := make([]string, len(tags))
	for i, tag := range tags {
		sets[i] = layout.TagKey(tag)
	}
	tagged, err := w.onAny(ctx, unheard, sets...)
	return append(slices.DeleteFunc(unheard, func(id string) bool { return tagged[id] }), deleted...), err
}

// unheard returns those of the posts that neither the user nor the people they follow
// bring to the user's home timeline, and those that are deleted or erased. A post that is merged
// with home timelines is on a list for its tags only.
func (w *writer) unheard(ctx context.Context, user int64, ids []string) (unheard, deleted []string, err error) {
	known, err := w.celebrities.Load(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	var posts, parents []stub
	for _, id := range ids {
		if post, ok := layout.ParseID(id); ok { // not the end of a list
			posts = append(posts, stub{id: post})
		}
	}
	if err := w.readStubs(ctx, posts); err != nil {
		return nil, nil, err
	}
	people, ofParent := map[string]bool{}, map[int64]int64{}
	for _, p := range posts {
		people[layout.Itoa(p.author)] = true
		if p.parent != 0 {
			parents = append(parents, stub{id: p.parent})
		}
	}
	if err := w.readStubs(ctx, parents); err != nil {
		return nil, nil, err
	}
	for _, p := range parents {
		people[layout.Itoa(p.author)] = true
		ofParent[p.id] = p.author
	}
	follows, err := w.onAny(ctx, slices.Collect(maps.Keys(people)), layout.FollowingKey(user))
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
