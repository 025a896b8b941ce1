package media

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"retwis/internal/files"
	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/internal/social/work"
	"retwis/model"
)

const (
	// Unused is the time for which an unused picture is kept.
	Unused = 24 * time.Hour
	// postTime is the last part of Unused, in which posts can no longer claim the picture, so that
	// Sweep does not delete a picture that is about to be posted.
	postTime = time.Hour
	// Replaced is the time for which a replaced avatar or header remains visible. Other processes
	// may refer to it from their caches for up to a minute, and in pages that are being delivered.
	Replaced = 5 * time.Minute
)

// ErrNoPlace means that this process has no picture store.
var ErrNoPlace = errors.New("social: no picture store is configured")

// StoreOptions configure a Store. All are required but Files.
type StoreOptions struct {
	storage.Parts
	Files files.Store // nil if this process accepts, serves and deletes no pictures
}

// Store stores the records and files of all pictures. It is safe for concurrent use.
type Store struct {
	StoreOptions
	records *storage.Records[Record]
}

// NewStore returns the Store of a database. It sends no commands.
func NewStore(opt StoreOptions) *Store {
	return &Store{StoreOptions: opt, records: storage.NewRecords[Record](opt.DB.Client, storage.MediaMeta, model.Options{
		Name: storage.MediaModel, IDs: model.ClientAssigned, Partitions: storage.MediaPartitions, Cache: cacheTTL,
		// The records of a restored or damaged database can be deleted and repaired like other
		// records.
		Adopt: social.IsPictureID,
	})}
}

// cacheTTL limits the use of a cached record that the server has not reported as changed.
const cacheTTL = time.Minute

// failed adds the context "pictures" to an error.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("social: pictures: %w", err)
}

// Get returns a picture, or ErrNotFound. One round trip, or none if the picture is in memory.
func (s *Store) Get(ctx context.Context, id string) (Record, error) {
	r, err := s.get(ctx, id)
	if storage.IsDamaged(err) {
		return Record{}, social.ErrNotFound
	}
	return r, err
}

// get is Get, but returns an error if the record is unreadable.
func (s *Store) get(ctx context.Context, id string) (Record, error) {
	if !social.IsPictureID(id) {
		return Record{}, social.ErrNotFound
	}
	store, err := s.records.Existing(ctx)
	if err != nil {
		return Record{}, err
	}
	if store == nil {
		return Record{}, social.ErrNotFound
	}
	record, err := store.Get(ctx, id)
	if errors.Is(err, model.ErrNotFound) {
		return Record{}, social.ErrNotFound
	}
	return record, failed(err)
}

// update changes a picture. If change returns an error, nothing is written.
func (s *Store) update(ctx context.Context, id string, change func(*Record) error) error {
	store, err := s.records.Open(ctx)
	if err != nil {
		return err
	}
	var changeErr error // the error of change
	_, err = store.Update(ctx, id, func(r *Record) error {
		changeErr = change(r)
		return changeErr
	})
	switch {
	case changeErr != nil:
		return changeErr
	case errors.Is(err, model.ErrNotFound), storage.IsDamaged(err):
		return social.ErrNotFound
	}
	return failed(err)
}

// errSame aborts an update that would change nothing.
var errSame = errors.New("social: nothing to change")

// Chosen is a picture that a user adds to a post.
type Chosen struct {
	ID             string
	Alt            string
	FocusX, FocusY float64
}

// Looks returns a fingerprint of pictures that does not depend on their IDs, so that pictures that
// are uploaded again have the same fingerprint. It is empty if there are no pictures. One round
// trip per picture, or none if the picture is in memory.
func (s *Store) Looks(ctx context.Context, chosen []Chosen) (string, error) {
	if err := checkChosen(chosen); err != nil {
		return "", err
	}
	var looks strings.Builder
	for _, picture := range chosen {
		r, err := s.Get(ctx, picture.ID)
		if err != nil && !errors.Is(err, social.ErrNotFound) { // Claim reports a missing picture
			return "", err
		}
		fmt.Fprintf(&looks, "\x00%s %d", r.Picture.Blurhash, r.Bytes)
	}
	return looks.String(), nil
}

// Claim reserves pictures for a post of their owner that is about to be written, and returns the
// value of the post's field `media`. It can be repeated for the same post. It returns *InvalidError
// if a picture does not exist, belongs to another user or post, or has a description that is too
// long. Two round trips per picture.
func (s *Store) Claim(ctx context.Context, owner, post int64, chosen []Chosen) (social.Media, error) {
	if err := checkChosen(chosen); err != nil {
		return "", err
	}
	pictures := make([]social.Picture, 0, len(chosen))
	for _, picture := range chosen {
		p, err := s.claim(ctx, owner, post, picture)
		if err != nil {
			s.release(ctx, post, pictures)
			return "", err
		}
		pictures = append(pictures, p)
	}
	return social.FormatMedia(pictures), nil
}

// checkChosen rejects invalid choices before any picture is claimed, and cleans the descriptions.
func checkChosen(chosen []Chosen) error {
	if len(chosen) > social.MaxPictures {
		return social.Invalid("media", "A post can have up to {n} pictures.", social.MaxPictures)
	}
	for i := range chosen {
		var err error
		if chosen[i].Alt, err = CleanAlt(chosen[i].Alt); err != nil {
			return err
		}
		if !social.IsPictureID(chosen[i].ID) {
			return errGone()
		}
		if slices.ContainsFunc(chosen[:i], func(other Chosen) bool { return other.ID == chosen[i].ID }) {
			return social.Invalid("media", "You added the same picture twice. Please remove one.")
		}
	}
	return nil
}

// claim reserves one picture.
func (s *Store) claim(ctx context.Context, owner, post int64, picture Chosen) (claimed social.Picture, err error) {
	err = s.update(ctx, picture.ID, func(r *Record) error {
		if other := r.Post(); other != 0 && r.Use == useOfClaim(other) && other != post {
			// A post that could not be written leaves its claim.
			written, err := s.DB.Client.Do(ctx, s.DB.Client.B().Exists().Key(storage.PostKey(other)).Build()).AsInt64()
			if err != nil {
				return failed(err)
			}
			if written == 0 {
				r.Use = ""
			}
		}
		switch {
		case r.Owner != owner, r.Kind != Post, r.Use != "" && r.Use != useOfClaim(post) && r.Use != useOfPost(post),
			r.Use == "" && s.Now().Sub(time.Unix(r.Created, 0)) > Unused-postTime:
			return errGone()
		case r.Use == "":
			r.Use = useOfClaim(post)
		}
		r.Picture.Alt, r.Picture.FocusX, r.Picture.FocusY = picture.Alt, bounded(picture.FocusX), bounded(picture.FocusY)
		claimed = r.Picture
		return nil
	})
	if errors.Is(err, social.ErrNotFound) {
		err = errGone()
	}
	return claimed, err
}

// release undoes the claims of a post that was not written. If that fails, the pictures are deleted
// after a day.
func (s *Store) release(ctx context.Context, post int64, pictures []social.Picture) {
	for _, p := range pictures {
		err := s.update(ctx, p.ID, func(r *Record) error {
			if r.Use != useOfClaim(post) {
				return errSame
			}
			r.Use = ""
			return nil
		})
		if err != nil && !errors.Is(err, errSame) {
			s.Log.WarnContext(ctx, "cannot release a picture reserved for a post that was not written", "picture", p.ID, "error", err)
		}
	}
}

// errGone returns the error for a picture that a post cannot use.
func errGone() error {
	return social.Invalid("media", "A picture is no longer available. Please add it again.")
}

// bounded returns a coordinate of a focal point, or 0 if it is out of range or NaN.
func bounded(n float64) float64 {
	if !(n >= -1 && n <= 1) {
		return 0
	}
	return n
}

// CleanAlt returns a description in the form that is stored.
func CleanAlt(typed string) (string, error) {
	if len(typed) > social.MaxTyped {
		return "", social.TooLong("alt", social.MaxAlt)
	}
	text, _ := social.CleanLines(social.CleanRunes(typed))
	return social.BoundText(text, "alt", social.MaxAlt)
}

// Attach assigns claimed pictures, and pictures of a lost post, to a post. It ignores missing
// pictures. It returns *InvalidError if another post has a picture: two posts can claim the same
// picture if the first post was not yet written when the second one claimed it, but only one of the
// posts gets it. Attach can be repeated. One or two round trips per picture.
func (s *Store) Attach(ctx context.Context, post, author int64, media social.Media) error {
	for _, p := range media.Pictures() {
		err := s.update(ctx, p.ID, func(r *Record) error {
			if r.Owner != author || r.Use == useOfPost(post) {
				return errSame
			}
			if other := r.Post(); other != 0 && other != post {
				has, err := s.postHas(ctx, other, p.ID)
				if err != nil {
					return err
				}
				if has {
					return errGone()
				}
			}
			r.Use = useOfPost(post)
			return nil
		})
		if err != nil && !errors.Is(err, errSame) && !errors.Is(err, social.ErrNotFound) {
			return err
		}
	}
	return nil
}

// postHas reports whether a post that is not deleted has a picture.
func (s *Store) postHas(ctx context.Context, post int64, id string) (bool, error) {
	fields, err := reply.Fields(s.DB.Client.Do(ctx, s.DB.Client.B().Hmget().Key(storage.PostKey(post)).Field("media", "deleted").Build()))
	if err != nil {
		return false, failed(err)
	}
	return fields[1] == "" && social.Media(fields[0]).Has(id), nil
}

// Remove deletes the pictures of a deleted post: files first, then records. It can be repeated as
// long as the post has its field `media`.
func (s *Store) Remove(ctx context.Context, post int64, media social.Media) error {
	for _, p := range media.Pictures() {
		r, err := s.Get(ctx, p.ID)
		switch {
		case errors.Is(err, social.ErrNotFound): // an earlier attempt has deleted the record
		case err != nil:
			return err
		case r.Post() != post:
			continue
		default:
			p = r.Picture
		}
		if err := s.delete(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes the files of a picture, and then its record. If it fails, the record leads to the
// remaining files.
func (s *Store) delete(ctx context.Context, p social.Picture) error {
	if s.Files == nil {
		return fmt.Errorf("%w: %w", work.ErrElsewhere, ErrNoPlace)
	}
	if err := s.Files.Delete(ctx, fileNames(&p)...); err != nil {
		return err
	}
	return deleteRecord(ctx, s.records, p.ID)
}

// deleteRecord deletes the record of a picture, even if it is unreadable.
func deleteRecord(ctx context.Context, records *storage.Records[Record], id string) error {
	store, err := records.Open(ctx)
	if err == nil {
		err = store.Delete(ctx, id)
	}
	if errors.Is(err, model.ErrNotFound) {
		err = nil
	}
	return failed(err)
}

// findFiles returns the files of a picture whose record is unreadable, by listing all files in the
// store. If store is nil, it returns none.
func findFiles(ctx context.Context, store files.Store, id string) (social.Picture, error) {
	p := social.Picture{ID: id}
	if store == nil {
		return p, nil
	}
	for file, err := range store.List(ctx) {
		if err != nil {
			return p, err
		}
		if name, ok := strings.CutPrefix(file.Name, id+"-"); ok {
			p.Files = append(p.Files, social.PictureFile{Name: name})
		}
	}
	return p, nil
}

// Of returns the pictures of a user, latest first.
func (s *Store) Of(ctx context.Context, owner int64) iter.Seq2[Record, error] {
	return s.records.Each(ctx, func(store *model.Store[Record]) iter.Seq2[Record, error] {
		return store.Find(model.Eq("owner", owner)).OrderBy("created").Reverse().All(ctx)
	})
}

// Forget deletes all pictures of a user. It can be repeated.
func (s *Store) Forget(ctx context.Context, owner int64) error {
	for record, err := range s.Of(ctx, owner) {
		if damaged := (*model.RecordError)(nil); errors.As(err, &damaged) {
			record.Picture, err = findFiles(ctx, s.Files, damaged.ID)
		}
		if err == nil {
			err = s.delete(ctx, record.Picture)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// used returns the total size of a user's files in bytes. Unreadable records do not count.
func (s *Store) used(ctx context.Context, owner int64) (sum int64, err error) {
	store, err := s.records.Existing(ctx)
	if store == nil {
		return 0, err
	}
	for n, err := range model.Pluck[int64](ctx, store.Find(model.Eq("owner", owner)).OrderBy("created"), "bytes") {
		if err != nil && !storage.IsDamaged(err) {
			return 0, failed(err)
		}
		sum += n
	}
	return sum, nil
}
