package takeout

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/limits"
	"retwis/internal/social/people"
	"retwis/internal/social/posts"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
	"retwis/internal/social/work"
)

// taskKind is the kind of the tasks: "import:<uid>:<id>".
const taskKind = "import"

// ImportsOptions configure Imports; all are required.
type ImportsOptions struct {
	timeline.Parts
	Store     Store
	Tasks     *work.Engine
	Follows   *people.Follows
	Relations *people.Relations
	Reactions *posts.Reactions
	Limits    *limits.Limits
}

// Imports imports lists. It is safe for concurrent use.
type Imports struct{ opt ImportsOptions }

// NewImports returns Imports whose tasks run on opt.Tasks.
func NewImports(opt ImportsOptions) *Imports {
	s := &Imports{opt}
	opt.Tasks.Handle(taskKind, s.task)
	return s
}

// Task returns the task of an import.
func Task(uid int64, id string) string { return taskKind + ":" + storage.Itoa(uid) + ":" + id }

// Begin imports entries, as returned by Parse, in the background. It returns *InvalidError if the
// user has another import running. Three round trips.
func (s *Imports) Begin(ctx context.Context, user social.User, kind Kind, entries []string) error {
	p := Progress{ID: strings.ToLower(rand.Text()[:10]), Kind: kind, Began: s.opt.Now()}
	member := Task(user.ID, p.ID)
	if err := s.opt.Tasks.Note(ctx, member); err != nil {
		return err
	}
	begun, err := s.opt.Store.begin(ctx, user.ID, p, entries)
	if err != nil {
		return err // the import may have started; its task checks
	}
	if !begun {
		if err := s.opt.Tasks.Forget(ctx, member); err != nil {
			return err
		}
		return social.Invalid("file", "Another import is running. Wait until it is done, or stop it.")
	}
	s.opt.Tasks.Queue(member)
	return nil
}

// Resume queues the running import of a user, in case its task was lost.
func (s *Imports) Resume(ctx context.Context, uid int64) (bool, error) {
	p, err := s.opt.Store.Get(ctx, uid)
	if err != nil || p.State != Running {
		return false, err
	}
	return true, s.opt.Tasks.Add(ctx, Task(uid, p.ID))
}

// Stop stops the import of a user; what was imported stays. One round trip.
func (s *Imports) Stop(ctx context.Context, user social.User) error {
	return s.opt.Store.stop(ctx, user.ID)
}

// Get returns the progress of a user's import and, once it has ended, the entries that were not
// imported. One or two round trips.
func (s *Imports) Get(ctx context.Context, user social.User) (p Progress, left []Entry, err error) {
	p, err = s.opt.Store.Get(ctx, user.ID)
	if err != nil || p.State == Running || p.State == "" {
		return p, nil, err
	}
	all, err := s.opt.Store.entries(ctx, user.ID, 0, MaxEntries)
	for _, entry := range all {
		text, notRead := strings.CutPrefix(entry[1:], unparsedPrefix)
		if !notRead {
			text, _, _ = strings.Cut(text, " ")
		}
		left = append(left, Entry{Mark: Mark(entry[0]), Text: text})
	}
	return p, left, err
}

// Entry is an entry and its result.
type Entry struct {
	Mark Mark
	Text string
}

// importPageSize is how many entries are read at a time.
const importPageSize = 50

// task runs a task of taskKind. It ends with the import, or when another import has started.
func (s *Imports) task(ctx context.Context, argument string) error {
	text, id, _ := strings.Cut(argument, ":")
	uid, ok := storage.ParseID(text)
	if !ok {
		return nil
	}
	for {
		p, err := s.opt.Store.Get(ctx, uid)
		if err != nil || p.State != Running || p.ID != id {
			return err
		}
		rec, err := s.opt.Users.Record(social.WithFresh(ctx), uid)
		if errors.Is(err, social.ErrNotFound) {
			return nil // the account is being deleted, and the import with it
		}
		if err != nil {
			return err
		}
		if rec.Standing.Hidden() {
			return s.opt.Store.stop(ctx, uid)
		}
		more, err := s.page(ctx, rec.User, p)
		if err != nil || !more {
			return err
		}
	}
}

// page imports the next entries, and reports whether there are more. It returns work.ErrLater if
// the limits allow no more entries for now (a long import can take days), and work.ErrAgain if an
// entry was already recorded, so that the progress has to be read again.
func (s *Imports) page(ctx context.Context, user social.User, p Progress) (more bool, err error) {
	entries, err := s.opt.Store.entries(ctx, user.ID, p.Done, p.Done+importPageSize)
	if err != nil {
		return false, err
	}
	if len(entries) == 0 { // damaged: the list is shorter than the total in the hash
		return false, s.opt.Store.stop(ctx, user.ID)
	}
	for _, entry := range entries {
		var limit *limits.Error
		if err := s.opt.Limits.Take(ctx, limits.Import, limits.By{Account: user.ID}); errors.As(err, &limit) {
			return false, work.ErrLater
		} else if err != nil {
			return false, err
		}
		mark, err := s.do(ctx, user, p.Kind, entry[1:])
		if err != nil {
			return false, err
		}
		noted, err := s.opt.Store.note(ctx, user.ID, p, mark, entry[1:])
		if err != nil {
			return false, err
		}
		if !noted { // a concurrent process may have recorded the entry
			return false, work.ErrAgain
		}
		p.Done++
	}
	return p.Done < p.Total, nil
}

// do performs the action of an entry, if it has one. After an error, the entry is tried again.
func (s *Imports) do(ctx context.Context, user social.User, kind Kind, entry string) (Mark, error) {
	if strings.HasPrefix(entry, unparsedPrefix) {
		return Unread, nil
	}
	err := s.relate(ctx, user, kind, entry)
	var invalid *social.InvalidError
	switch {
	case err == nil:
		return Done, nil
	case errors.Is(err, social.ErrNotFound), errors.Is(err, people.ErrBlocked):
		// An import must not reveal who has blocked the user.
		return NotFound, nil
	case errors.Is(err, social.ErrSelfFollow), errors.As(err, &invalid):
		return Refused, nil
	}
	return 0, err
}

// bookmark saves the post at a path of this site, if the path names no author, or the author of the
// post.
func (s *Imports) bookmark(ctx context.Context, user social.User, path string) error {
	name, post, ok := parsePath(path)
	if !ok {
		return social.ErrNotFound
	}
	if name != "" {
		author, err := s.opt.Users.UserByName(ctx, name)
		if err != nil {
			return err
		}
		authorID, err := reply.TextOrEmpty(s.opt.DB.Client.Do(ctx, s.opt.DB.Client.B().Hget().Key(storage.PostKey(post)).Field("user_id").Build()))
		if err != nil {
			return failed(err)
		}
		if authorID != storage.Itoa(author.ID) {
			return social.ErrNotFound
		}
	}
	return s.opt.Reactions.Bookmark(ctx, user, post)
}

func (s *Imports) relate(ctx context.Context, user social.User, kind Kind, entry string) error {
	if kind == Bookmarks {
		return s.bookmark(ctx, user, entry)
	}
	name, until := nameOf(entry)
	other, err := s.opt.Users.UserByName(ctx, name)
	if err != nil {
		return err
	}
	v, err := s.opt.Viewers.Get(ctx, user)
	if err != nil {
		return err
	}
	if v.Sees(other.ID) == social.Hidden && !v.Blocked.Has(other.ID) {
		return social.ErrNotFound
	}
	switch kind {
	case Follows:
		return s.opt.Follows.Follow(ctx, user, other)
	case Mutes, Blocks:
		relate, key := s.opt.Relations.Mute, storage.MutedKey(user.ID)
		if kind == Blocks {
			relate, key = s.opt.Relations.Block, storage.BlockedKey(user.ID)
		}
		if later, err := s.opt.Relations.Outlasts(ctx, key, other.ID, until); later || err != nil {
			return err
		}
		return relate(ctx, user, other, until)
	}
	return social.Invalid("kind", "unknown")
}
