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

// stub is what is left of a deleted post.
type stub struct {
	id, author        int64
	time              string
	parent, root      int64
	repostOf          int64
	tags              []string
	media             social.Media
	exists, isDeleted bool
	imported          bool

	// Of a stub that was read with its texts, for a deletion:

	body     *string  // what the search index has of it; nil for nothing
	earlier  []string // the texts that it had before, the latest first
	to       int64    // the author of the parent
	marks    int64    // how many likes and reposts it counts
	unmarked bool     // the script that deleted it has seen neither
}

// places are the lists of the post before it was deleted.
func (s stub) places() storage.Places {
	return storage.Places{Author: s.author, Parent: s.parent, Root: s.root, RepostOf: s.repostOf, Imported: s.imported, Tags: s.tags}
}

// deleteKind is the kind of tasks that delete a post: "delete:<id>:<author>:<time>".
// A post that a server lost in a failover, and whose id was assigned again, is not
// taken for the new one.
const deleteKind = "delete"

// Deletions delete posts.
type Deletions struct {
	db
	writer *writer
}

// isGone reports whether a post is deleted, or erased with its stub.
func (s stub) isGone() bool { return !s.exists || s.isDeleted }

func (s stub) argument() string { return identity(s.id, s.author, s.time) }

// Delete deletes a post: first its text, so that nobody sees it any more, then its
// place on every list but home timelines, which readers look past; many likes and reposts
// are removed in the background. It can be repeated from its start; repeating it for a post
// whose fan-out went on meanwhile removes it from the lists again. A post that does not
// exist is no error.
func (d *Deletions) Delete(ctx context.Context, post int64) error {
	s, err := d.read(ctx, post)
	if err != nil || !s.exists {
		return err
	}
	return d.delete(ctx, s)
}

// delete is Delete of a post that was read with its texts.
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

// read reads a post with its texts: those that it had before only where it says that there are
// some.
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

// readTexts reads a post with its text and, with that command, the earlier ones. edited reports
// whether it can have some.
func (d *Deletions) readTexts(ctx context.Context, post int64, earlier ...rueidis.Completed) (s stub, edited bool, err error) {
	read := d.client.B().Hmget().Key(storage.PostKey(post)).
		Field(slices.Concat(stubFields, []string{"to", "likes", "reposts", "edited", "body", "deleted_body"})...).Build()
	res := d.client.DoMulti(ctx, append(rueidis.Commands{read}, earlier...)...)
	fields, err := reply.Fields(res[0])
	if err != nil {
		return stub{}, false, fmt.Errorf("social: read a post: %w", err)
	}
	s = parseStub(post, fields)
	more := fields[len(stubFields):]
	s.to, _ = storage.ParseID(more[0])
	for _, count := range more[1:3] {
		n, _ := strconv.ParseInt(count, 10, 64)
		s.marks += n
	}
	edited = more[3] != ""
	if values, err := res[0].ToArray(); err == nil { // a text can be empty
		for i, value := range values[len(values)-2:] {
			if text, err := value.ToString(); err == nil {
				s.body = &text
				edited = edited || i == 1 // the deletion was cut short
			}
		}
	}
	if len(earlier) > 0 {
		s.earlier, err = earlierTexts(res[1])
	}
	return s, edited, err
}

// hide makes a stub of a post that was read with its texts, removes it from all lists but
// those of its likes and reposts, and returns the stub.
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

// unpin takes a deleted post off the top of the profile of its author.
func (d *Deletions) unpin(ctx context.Context, s stub) error {
	author, id := storage.UserKey(s.author), storage.Itoa(s.id)
	pinned, err := reply.TextOrEmpty(d.client.Do(ctx, d.client.B().Hget().Key(author).Field("pinned").Build()))
	if err == nil && pinned == id {
		_, err = storage.DeleteFieldIf(ctx, d.client, author, "pinned", id)
	}
	return err
}

// deleteTask is a task of deleteKind.
func (d *Deletions) deleteTask(ctx context.Context, argument string) error {
	post, _, _, ok := parseIdentity(argument)
	if !ok {
		return nil
	}
	s, err := d.read(ctx, post)
	if err != nil || !s.exists || s.argument() != argument { // another post has its id by now
		return err
	}
	if s, err = d.hide(ctx, s); err != nil {
		return err
	}
	return d.clear(ctx, s)
}

// clear removes what hide has left of a post: its words, its reposts and likes, its pictures.
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

// removePictures deletes the pictures of a deleted post, and then the fields that name them, so
// that repeating finds those that a crash has left.
func (d *Deletions) removePictures(ctx context.Context, s stub) error {
	if s.media == "" || d.pictures == nil {
		return nil
	}
	if err := d.pictures.Remove(ctx, s.id, s.media); err != nil {
		return err
	}
	return d.client.Do(ctx, d.client.B().Hdel().Key(storage.PostKey(s.id)).Field("media", "sensitive").Build().ToRetryable()).Error()
}

// makeStub hides the text of a post, as it was read, and returns the stub; see unindex.
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

func (w *writer) readStub(ctx context.Context, post int64) (stub, error) {
	fields, err := reply.Fields(w.client.Do(ctx, w.client.B().Hmget().Key(storage.PostKey(post)).Field(stubFields...).Build()))
	if err != nil {
		return stub{}, fmt.Errorf("social: read a post: %w", err)
	}
	return parseStub(post, fields), nil
}

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

// stubOf reads the post that a task names. Its id is 0 where the task names none, or another
// post has its id by now.
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

// removeOwn removes a deleted post from the lists of its author and of its tags, and
// from the public timeline.
func (d *Deletions) removeOwn(ctx context.Context, s stub) error {
	places := s.places()
	places.Root = 0 // detach takes it out of its conversation
	var cmds rueidis.Commands
	for _, key := range places.Entries() {
		cmds = append(cmds, d.take(key, s.id))
	}
	if places.OnTimeline() {
		cmds = append(cmds, d.takeOffTimeline(s.id))
	}
	defer d.celebrities.Wrote(s.author)
	if err := writeAll(ctx, d.client, cmds); err != nil {
		return err
	}
	return d.writer.changedTags(ctx, s.tags)
}

// detach removes a deleted post from its conversation, or from the post that it
// repeats.
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

// drop removes users with these scores from a sorted set of a post, and counts those
// that are left.
func (w *writer) drop(ctx context.Context, post int64, set, counter string, members ...string) error {
	return dropMembersScript.RunFenced(ctx, w.client, []string{storage.PostKey(post), set}, append([]string{counter}, members...)).Error()
}

// removeStub takes a deleted reply out of its conversation. As long as it has replies
// itself, it stays there as a stub: its parent has it in `stubs`. With its last reply
// a stub leaves too.
func (w *writer) removeStub(ctx context.Context, s stub) error {
	for s.parent != 0 {
		has, err := w.hasReplies(ctx, s.id)
		if err != nil {
			return err
		}
		if has {
			if _, err := w.removeReply(ctx, s, true); err != nil {
				return err
			}
			// Its last reply may have left meanwhile, and not have seen this.
			if has, err = w.hasReplies(ctx, s.id); err != nil || has {
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

// keepStub brings a deleted post that has a reply again back into its conversation, and
// the deleted posts above it.
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

// hasReplies reports whether a post has replies, or stubs that have.
func (w *writer) hasReplies(ctx context.Context, post int64) (bool, error) {
	n, err := w.client.Do(ctx, w.client.B().Exists().Key(storage.RepliesKey(post), storage.StubsKey(post)).Build()).AsInt64()
	return n > 0, err
}

// removeReply removes a deleted reply from its parent, which remembers a stub that
// has replies. It reports whether the parent is a stub that has none any more.
func (w *writer) removeReply(ctx context.Context, s stub, isStub bool) (bool, error) {
	stays := "0"
	if isStub {
		stays = "1"
	}
	return removeReplyScript.RunFenced(ctx, w.client,
		[]string{storage.PostKey(s.parent), storage.RepliesKey(s.parent), storage.StubsKey(s.parent)},
		[]string{storage.Itoa(s.id), stays}).AsBool()
}
