package posts

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/internal/social/text"
	"retwis/internal/social/work"
)

var (
	//go:embed delete_post.lua
	deletePostSource string
	deletePostScript = script.New(deletePostSource).Retryable()

	//go:embed remove_reply.lua
	removeReplySource string
	removeReplyScript = script.New(removeReplySource).Retryable()

	//go:embed drop_members.lua
	dropMembersSource string
	dropMembersScript = script.New(dropMembersSource).Retryable()
)

// stub is what remains of a deleted post.
type stub struct {
	id, author        int64
	time              string
	parent, root      int64
	repostOf          int64
	tags              []string
	media             social.Media
	exists, isDeleted bool
	imported          bool

	// Set only by a read with texts, for a deletion:

	body     *string  // the indexed text; nil if there is none
	earlier  []string // earlier texts, latest first
	to       int64    // the author of the parent
	marks    int64    // the number of likes and reposts of the post
	unmarked bool     // the script that deleted the post found no likes and no reposts
}

// places returns the lists that the post was on before it was deleted.
func (s stub) places() storage.Places {
	return storage.Places{Author: s.author, Parent: s.parent, Root: s.root, RepostOf: s.repostOf, Imported: s.imported, Tags: s.tags}
}

// deleteKind is the kind of tasks that delete a post: "delete:<id>:<author>:<time>". Author and
// time distinguish a post that a failover lost from a new post with the same ID.
const deleteKind = "delete"

// Deletions delete posts.
type Deletions struct {
	db
	writer *writer
}

// isGone reports whether a post is deleted, or erased with its stub.
func (s stub) isGone() bool { return !s.exists || s.isDeleted }

// argument returns the argument of the tasks of the post.
func (s stub) argument() string { return identity(s.id, s.author, s.time) }

// Delete deletes a post: first its text, so that nobody sees the post any more, then its entry in
// every list except home timelines, whose readers skip deleted posts. If there are many likes and
// reposts, a background task removes them. Delete can be repeated; if the fan-out of the post has
// continued in the meantime, a repeated Delete removes the post from the lists again. It is no
// error if the post does not exist.
func (d *Deletions) Delete(ctx context.Context, post int64) error {
	s, err := d.read(ctx, post)
	if err != nil || !s.exists {
		return err
	}
	return d.delete(ctx, s)
}

// delete implements Delete for a post that was read with its texts.
func (d *Deletions) delete(ctx context.Context, s stub) error {
	return d.tasks.Do(ctx, deleteKind+":"+s.argument(),
		func(ctx context.Context) (err error) {
			s, err = d.hide(ctx, s)
			return err
		},
		func(ctx context.Context) error {
			if s.marks > pageOfFollowers {
				return work.ErrAgain
			}
			return d.clear(ctx, s)
		})
}

// read reads a post with its texts. It reads earlier texts only if the hash of the post says that
// there are any.
func (d *Deletions) read(ctx context.Context, post int64) (stub, error) {
	s, edited, err := d.readTexts(ctx, post)
	if err == nil && edited {
		s, err = d.readAll(ctx, post)
	}
	return s, err
}

// readAll reads a post with all its texts.
func (d *Deletions) readAll(ctx context.Context, post int64) (stub, error) {
	s, _, err := d.readTexts(ctx, post, d.writer.words.earlierCommand(post))
	return s, err
}

// readTexts reads a post with its text and, with the command earlier, its earlier texts. edited
// reports whether the post may have earlier texts.
func (d *Deletions) readTexts(ctx context.Context, post int64, earlier ...rueidis.Completed) (s stub, edited bool, err error) {
	read := d.client.B().Hmget().Key(storage.PostKey(post)).
		Field(slices.Concat(stubFields, []string{"to", "likes", "reposts", "edited", "body", "deleted_body"})...).Build()
	res := d.client.DoMulti(ctx, append(rueidis.Commands{read}, earlier...)...)
	fields, err := reply.Fields(res[0])
	if err != nil {
		return stub{}, false, fmt.Errorf("social: read a post: %w", err)
	}
	s = parseStub(post, fields)
	extra := fields[len(stubFields):]
	s.to, _ = storage.ParseID(extra[0])
	for _, count := range extra[1:3] {
		n, _ := strconv.ParseInt(count, 10, 64)
		s.marks += n
	}
	edited = extra[3] != ""
	if values, err := res[0].ToArray(); err == nil { // a text may be empty
		for i, value := range values[len(values)-2:] {
			if text, err := value.ToString(); err == nil {
				s.body = &text
				edited = edited || i == 1 // the deletion was interrupted
			}
		}
	}
	if len(earlier) > 0 {
		s.earlier, err = earlierTexts(res[1])
	}
	return s, edited, err
}

// hide turns a post that was read with its texts into a stub, removes the post from all lists
// except the lists of its likes and reposts, and returns the stub.
func (d *Deletions) hide(ctx context.Context, s stub) (stub, error) {
	s, err := d.makeStub(ctx, s)
	if err == nil {
		err = d.removeOwn(ctx, s)
	}
	if err == nil {
		err = d.detach(ctx, s)
	}
	if err == nil {
		err = d.unpin(ctx, s)
	}
	if err != nil {
		err = fmt.Errorf("social: delete post %d: %w", s.id, err)
	}
	return s, err
}

// unpin removes a deleted post from the top of its author's profile.
func (d *Deletions) unpin(ctx context.Context, s stub) error {
	author, id := storage.UserKey(s.author), storage.Itoa(s.id)
	pinned, err := reply.TextOrEmpty(d.client.Do(ctx, d.client.B().Hget().Key(author).Field("pinned").Build()))
	if err == nil && pinned == id {
		_, err = storage.DeleteFieldIf(ctx, d.client, author, "pinned", id)
	}
	return err
}

// deleteTask runs a task of deleteKind.
func (d *Deletions) deleteTask(ctx context.Context, argument string) error {
	post, _, _, ok := parseIdentity(argument)
	if !ok {
		return nil
	}
	s, err := d.read(ctx, post)
	if err != nil || !s.exists || s.argument() != argument { // another post has this ID by now
		return err
	}
	if s, err = d.hide(ctx, s); err != nil {
		return err
	}
	return d.clear(ctx, s)
}

// clear removes the data of a post that hide leaves: its words in the search index, its reposts and
// likes, and its pictures.
func (d *Deletions) clear(ctx context.Context, s stub) error {
	err := d.writer.words.unindex(ctx, s)
	if err == nil && !s.unmarked {
		err = d.deleteReposts(ctx, s.id)
	}
	if err == nil && !s.unmarked {
		err = d.removeLikes(ctx, s.id)
	}
	if err == nil {
		err = d.removePictures(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("social: delete post %d: %w", s.id, err)
	}
	return nil
}

// removePictures deletes the pictures of a deleted post, and then the fields that name the
// pictures, so that a repeated call finds pictures that a crash left.
func (d *Deletions) removePictures(ctx context.Context, s stub) error {
	if s.media == "" || d.pictures == nil {
		return nil
	}
	if err := d.pictures.Remove(ctx, s.id, s.media); err != nil {
		return err
	}
	return d.client.Do(ctx, d.client.B().Hdel().Key(storage.PostKey(s.id)).Field("media", "sensitive").Build().ToRetryable()).Error()
}

// makeStub removes the visible text of a post and returns the stub. If the text has changed since
// it was read, makeStub reads the post again. See also unindex.
func (d *Deletions) makeStub(ctx context.Context, s stub) (stub, error) {
	for s.exists && !s.isDeleted {
		var body string
		if s.body != nil {
			body = *s.body
		}
		tags := text.Tags(body)
		for _, old := range s.earlier {
			tags = append(tags, text.Tags(old)...)
		}
		state, err := deletePostScript.RunFenced(ctx, d.client,
			[]string{storage.PostKey(s.id), storage.EditsKey(s.id), storage.LikersKey(s.id), storage.RepostersKey(s.id)},
			[]string{storage.Seconds(d.now()), body, strconv.Itoa(len(s.earlier)), joinTags(tags)}).AsIntSlice()
		if err != nil {
			return s, err
		}
		if state[0] == 1 {
			s.isDeleted, s.tags, s.unmarked = true, tags, state[1] == 0
			return s, nil
		}
		if s, err = d.readAll(ctx, s.id); err != nil {
			return s, err
		}
	}
	return s, nil
}

// stubFields are the fields of a post that a stub keeps.
var stubFields = []string{"user_id", "parent", "root", "repost_of", "tags", "deleted", "time", "media", "source"}

// readStub reads the fields of a post that a stub keeps.
func (w *writer) readStub(ctx context.Context, post int64) (stub, error) {
	fields, err := reply.Fields(w.client.Do(ctx, w.client.B().Hmget().Key(storage.PostKey(post)).Field(stubFields...).Build()))
	if err != nil {
		return stub{}, fmt.Errorf("social: read a post: %w", err)
	}
	return parseStub(post, fields), nil
}

// parseStub parses the values of stubFields.
func parseStub(post int64, fields []string) stub {
	s := stub{id: post, tags: splitTags(fields[4]), isDeleted: fields[5] != "", time: fields[6], media: social.Media(fields[7]), imported: fields[8] != ""}
	s.author, s.exists = storage.ParseID(fields[0])
	s.parent, _ = storage.ParseID(fields[1])
	s.root, _ = storage.ParseID(fields[2])
	s.repostOf, _ = storage.ParseID(fields[3])
	if s.parent != 0 && s.root == 0 {
		s.root = s.parent
	}
	return s
}

// stubOf reads the post that a task names. The id of the stub is 0 if the task names no post, or
// another post has the ID by now.
func (w *writer) stubOf(ctx context.Context, argument string) (stub, error) {
	post, _, _, ok := parseIdentity(argument)
	if !ok {
		return stub{}, nil
	}
	s, err := w.readStub(ctx, post)
	if s.exists && s.argument() != argument {
		s = stub{}
	}
	return s, err
}

// removeOwn removes a deleted post from the lists of its author and its tags, and from the public
// timeline.
func (d *Deletions) removeOwn(ctx context.Context, s stub) error {
	places := s.places()
	places.Root = 0 // detach removes the post from its conversation
	var cmds rueidis.Commands
	for _, key := range places.Entries() {
		cmds = append(cmds, d.remove(key, s.id))
	}
	if places.OnTimeline() {
		cmds = append(cmds, d.removeFromTimeline(s.id))
	}
	defer d.celebrities.Wrote(s.author)
	if err := writeAll(ctx, d.client, cmds); err != nil {
		return err
	}
	return d.writer.changedTags(ctx, s.tags)
}

// detach removes a deleted post from its conversation or its original.
func (d *Deletions) detach(ctx context.Context, s stub) error {
	switch {
	case s.parent != 0:
		return d.writer.removeStub(ctx, s)
	case s.repostOf != 0:
		err := d.writer.drop(ctx, s.repostOf, storage.RepostersKey(s.repostOf), "reposts", storage.Itoa(s.author), storage.Itoa(s.id))
		if err != nil {
			return err
		}
		return MirrorRepost(ctx, d.client, s.author, s.repostOf)
	}
	return nil
}

// drop removes users with the given scores from a sorted set of a post, and updates the counter of
// the set.
func (w *writer) drop(ctx context.Context, post int64, set, counter string, members ...string) error {
	return dropMembersScript.RunFenced(ctx, w.client, []string{storage.PostKey(post), set}, append([]string{counter}, members...)).Error()
}

// removeStub removes a deleted reply from its conversation. A reply that still has replies stays
// there as a stub, which is listed in `stubs` of its parent, until its last reply is removed.
func (w *writer) removeStub(ctx context.Context, s stub) error {
	for s.parent != 0 {
		hasReplies, err := w.hasReplies(ctx, s.id)
		if err != nil {
			return err
		}
		if hasReplies {
			if _, err := w.removeReply(ctx, s, true); err != nil {
				return err
			}
			// The last reply may have been removed concurrently, before this write.
			if hasReplies, err = w.hasReplies(ctx, s.id); err != nil || hasReplies {
				return err
			}
		}
		err = reply.Written(w.client.Do(ctx, w.client.B().Zrem().Key(storage.ThreadKey(s.root)).Member(storage.Itoa(s.id)).Build().ToRetryable()))
		if err != nil {
			return err
		}
		isLast, err := w.removeReply(ctx, s, false)
		if err != nil || !isLast {
			return err
		}
		if s, err = w.readStub(ctx, s.parent); err != nil {
			return err
		}
	}
	return nil
}

// keepStub returns a deleted post that has a reply again to its conversation, together with the
// deleted posts above it.
func (w *writer) keepStub(ctx context.Context, post int64) error {
	for {
		s, err := w.readStub(ctx, post)
		if err != nil || !s.isDeleted || s.parent == 0 {
			return err
		}
		if err := w.client.Do(ctx, w.client.B().Zadd().Key(storage.ThreadKey(s.root)).ScoreMember().
			ScoreMember(float64(s.id), storage.Itoa(s.id)).Build().ToRetryable()).Error(); err != nil {
			return err
		}
		if _, err := w.removeReply(ctx, s, true); err != nil {
			return err
		}
		post = s.parent
	}
}

// hasReplies reports whether a post has replies, or stubs with replies.
func (w *writer) hasReplies(ctx context.Context, post int64) (bool, error) {
	n, err := w.client.Do(ctx, w.client.B().Exists().Key(storage.RepliesKey(post), storage.StubsKey(post)).Build()).AsInt64()
	return n > 0, err
}

// removeReply removes a deleted reply from its parent, which keeps it as a stub if isStub is set.
// It reports whether the parent is itself a stub with no replies left.
func (w *writer) removeReply(ctx context.Context, s stub, isStub bool) (bool, error) {
	keep := "0"
	if isStub {
		keep = "1"
	}
	return removeReplyScript.RunFenced(ctx, w.client,
		[]string{storage.PostKey(s.parent), storage.RepliesKey(s.parent), storage.StubsKey(s.parent)},
		[]string{storage.Itoa(s.id), keep}).AsBool()
}
