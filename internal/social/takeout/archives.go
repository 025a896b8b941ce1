package takeout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"retwis/internal/picture"
	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/blocklist"
	"retwis/internal/social/media"
	"retwis/internal/social/posts"
	"retwis/internal/social/storage"
)

// ArchivesOptions configure Archives; all are required.
type ArchivesOptions struct {
	storage.Parts
	FanOut    *posts.Engine
	Media     *media.Service
	Blocklist *blocklist.List
}

// Archives imports archives.
type Archives struct{ ArchivesOptions }

// NewArchives returns Archives.
func NewArchives(opt ArchivesOptions) *Archives { return &Archives{opt} }

const (
	// batch is how many posts are written at a time.
	batch = 100
	// batchPictures limits the pictures that are stored before their posts are written: an import
	// that is killed has stored no more pictures in vain.
	batchPictures = 20
)

// Import imports an archive for a user; see the package documentation. It can be repeated after any
// interruption, and adds nothing twice. No two imports may run for the same user at the same time.
// It calls progress after each step. If dry is set, it only reports what it would do, without
// decoding the pictures.
func (s *Archives) Import(ctx context.Context, author int64, a *Archive, dry bool, progress func(done, total int)) (Report, error) {
	p, err := plan(ctx, a, s.Now(), func(post archivePost) (bool, error) { return s.allows(ctx, post) })
	if err != nil {
		return Report{}, err
	}
	slots, err := s.assign(ctx, author, p.entries, dry)
	if err != nil {
		return Report{}, err
	}
	w := &writer{Archives: s, author: author, archive: a, plan: p, slots: slots, report: p.report}
	step := w.write
	if dry {
		step = w.count
	}
	for next := 0; next < len(slots); {
		if next, err = step(ctx, next); err != nil {
			return w.report, err
		}
		progress(next, len(slots))
	}
	return w.report, nil
}

// allows reports whether the site allows the text of a post and the descriptions of its pictures.
func (s *Archives) allows(ctx context.Context, post archivePost) (bool, error) {
	texts := slices.Clone(post.parts)
	for _, file := range post.files {
		texts = append(texts, file.alt())
	}
	for _, text := range texts {
		err := s.Blocklist.CheckText(ctx, "status", text)
		if invalid := (*social.InvalidError)(nil); errors.As(err, &invalid) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// writer writes the posts of a plan.
type writer struct {
	*Archives
	author  int64
	archive *Archive
	plan    importPlan
	slots   []slot // of the entries
	report  Report
}

// count counts what write would do with an entry.
func (w *writer) count(ctx context.Context, i int) (next int, err error) {
	e, isNew := w.plan.entries[i], w.slots[i].state == free
	w.countEntry(e, isNew)
	if !isNew || e.part > 0 {
		return i + 1, ctx.Err()
	}
	post, err := w.post(e)
	if err != nil {
		return i, err
	}
	for _, file := range w.chosen(post) {
		if _, err := w.archive.picture(file.URL); err != nil {
			w.report.PicturesLeftOut[NoFile]++
		} else {
			w.report.Pictures++
		}
	}
	return i + 1, ctx.Err()
}

// countEntry counts an entry in the report.
func (w *writer) countEntry(e entry, isNew bool) {
	if isNew {
		w.report.Posts++
	} else {
		w.report.Present++
	}
	if e.part > 0 {
		w.report.Split++
	}
}

// write writes some entries, starting at from, and finishes those that an interrupted import has
// begun. It returns the index of the next entry.
func (w *writer) write(ctx context.Context, from int) (next int, err error) {
	var finish []int64
	var posts []posts.Imported
	var at item // the item of the post read last
	var post archivePost
	before, i := w.report.Pictures, from
	for ; i < min(from+batch, len(w.slots)) && w.report.Pictures < before+batchPictures; i++ {
		e, slot := w.plan.entries[i], w.slots[i]
		w.countEntry(e, slot.state == free)
		switch slot.state {
		case written:
			finish = append(finish, slot.id)
			continue
		case done:
			continue
		}
		if at != e.item {
			if post, err = w.post(e); err != nil {
				return i, err
			}
			at = e.item
		}
		imported, err := w.imported(ctx, i, post)
		if err != nil {
			return i, err
		}
		posts = append(posts, imported)
	}
	if err := w.mayPost(ctx); err != nil { // after storing the pictures, which may take longer than removal.Grace
		return from, err
	}
	if err := w.FanOut.Imports.Finish(ctx, finish); err != nil {
		return i, err
	}
	lost, err := w.FanOut.Imports.Write(ctx, posts)
	w.report.Posts -= len(lost)
	if len(lost) > 0 {
		w.report.LeftOut[Lost] += len(lost)
	}
	return i, err
}

// imported returns the post of an entry, after storing its pictures.
func (w *writer) imported(ctx context.Context, i int, post archivePost) (posts.Imported, error) {
	e, id := w.plan.entries[i], w.slots[i].id
	entry := posts.Entry{Author: w.author, To: w.author, Fields: []string{
		"user_id", storage.Itoa(w.author), "time", storage.Seconds(time.Unix(post.time, 0)), "source", e.source, "body", post.parts[e.part],
	}}
	if e.parent >= 0 {
		entry.Parent, entry.Root = w.slots[e.parent].id, w.slots[e.root].id
		entry.Fields = append(entry.Fields, "parent", storage.Itoa(entry.Parent), "root", storage.Itoa(entry.Root), "to", storage.Itoa(w.author))
	}
	if e.part == 0 {
		pictures, err := w.pictures(ctx, id, post)
		if err != nil {
			return posts.Imported{}, err
		}
		if pictures != "" {
			entry.Fields = append(entry.Fields, "media", string(pictures))
		}
		if pictures != "" && post.sensitive {
			entry.Fields = append(entry.Fields, "sensitive", "1")
		}
	}
	return posts.Imported{ID: id, Entry: entry}, nil
}

// mayPost returns social.ErrNotFound if the account is being deleted or is gone.
func (w *writer) mayPost(ctx context.Context) error {
	fields, err := reply.Fields(w.DB.Client.Do(ctx, w.DB.Client.B().Hmget().Key(storage.UserKey(w.author)).Field("username", "standing").Build()))
	if err == nil && (fields[0] == "" || fields[1] == storage.Closed) {
		err = social.ErrNotFound
	}
	return err
}

// post reads the post of an entry again.
func (w *writer) post(e entry) (archivePost, error) {
	raw, err := w.archive.read(e.item)
	if err != nil {
		return archivePost{}, err
	}
	post, reason := parse(raw, w.Now())
	if reason != "" || partOf(post.source, e.part) != e.source || e.part >= len(post.parts) {
		return archivePost{}, errors.New("the archive has changed while it was read")
	}
	return post, nil
}

// chosen returns the files of a post that can be its pictures.
func (w *writer) chosen(post archivePost) []attachment {
	var chosen []attachment
	for _, file := range post.files {
		switch {
		case !file.isPicture():
			w.report.PicturesLeftOut[NoPicture]++
		case !w.Media.IsOn():
			w.report.PicturesLeftOut[NoPlace]++
		case len(chosen) == social.MaxPictures:
			w.report.PicturesLeftOut[FourAtMost]++
		default:
			chosen = append(chosen, file)
		}
	}
	return chosen
}

// pictures stores the pictures of a post in the same way as an upload. If the import is
// interrupted, they are deleted with other unused pictures.
func (w *writer) pictures(ctx context.Context, id int64, post archivePost) (social.Media, error) {
	var stored []media.Chosen
	for _, file := range w.chosen(post) {
		record, err := w.upload(ctx, file)
		reason := pictureReason(err)
		switch {
		case reason != "":
			w.report.PicturesLeftOut[reason]++
			continue
		case err != nil:
			return "", fmt.Errorf("the picture %.200q: %w", file.URL, err)
		}
		x, y := file.focus()
		stored = append(stored, media.Chosen{ID: record.ID, Alt: file.alt(), FocusX: x, FocusY: y})
	}
	w.report.Pictures += len(stored)
	return w.Media.Store.Claim(ctx, w.author, id, stored)
}

func (w *writer) upload(ctx context.Context, file attachment) (media.Record, error) {
	data, err := w.archive.picture(file.URL)
	if err != nil {
		return media.Record{}, err
	}
	return w.Media.Upload(ctx, social.User{ID: w.author}, "import", data, media.Post)
}

// pictureReason returns why a picture is left out, or an empty Reason for an error that ends the
// import.
func pictureReason(err error) Reason {
	reasons := []struct {
		err    error
		reason Reason
	}{
		{errNoFile, NoFile}, {picture.ErrType, WrongType}, {picture.ErrTooLarge, TooLarge}, {picture.ErrDamaged, Damaged}, {picture.ErrTime, Damaged},
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	if quota := (*media.QuotaError)(nil); errors.As(err, &quota) {
		return NoRoom
	}
	return ""
}
