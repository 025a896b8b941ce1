package media

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"retwis/internal/files"
	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/model"
)

// Use returns the value that Record.Use must have according to the posts and users. It is empty if
// the picture is unused. One round trip.
func (s *Store) Use(ctx context.Context, r Record) (string, error) {
	switch r.Kind {
	case Avatar, Header:
		field, err := reply.TextOrEmpty(s.DB.Client.Do(ctx, s.DB.Client.B().Hget().Key(storage.UserKey(r.Owner)).Field(string(r.Kind)).Build()))
		switch replaced := replacedKind + string(r.Kind); {
		case err != nil:
			return "", failed(err)
		case social.AvatarID(field) == r.ID:
			return string(r.Kind), nil
		case field != "" && (r.Use == string(r.Kind) || r.Use == replaced && s.isRecent(r.Created)):
			return replaced, nil
		}
		return "", nil
	}
	post := r.Post()
	if post == 0 {
		return "", nil
	}
	has, err := s.postHas(ctx, post, r.ID)
	if err != nil || !has {
		return "", err
	}
	return useOfPost(post), nil
}

// Resolve makes the record of a picture agree with the actual use of the picture. It deletes an
// unused picture, unless the picture was uploaded recently and has not been used; it deletes a
// replaced picture a day after its replacement. It reports whether there was anything to do.
// Resolve can be repeated.
func (s *Store) Resolve(ctx context.Context, id string) (changed bool, err error) {
	r, err := s.Get(ctx, id)
	if errors.Is(err, social.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	use, err := s.Use(ctx, r)
	switch {
	case err != nil || !s.IsOutdated(r, use):
		return false, err
	case use == "":
		return true, s.delete(ctx, r.Picture)
	}
	err = s.update(ctx, id, func(r *Record) error {
		if r.Use = use; r.isReplaced() {
			r.Created = s.Now().Unix()
		}
		return nil
	})
	if errors.Is(err, social.ErrNotFound) {
		err = nil
	}
	return true, err
}

// IsOutdated reports whether Resolve has anything to do, given the actual use of a picture.
func (s *Store) IsOutdated(r Record, use string) bool {
	if use != "" {
		return use != r.Use
	}
	return r.isUsed() || r.isReplaced() || !s.isRecent(r.Created)
}

// Restore rewrites the lost or unreadable record of a picture in a post, if its files exist, and
// reports whether it did.
func (s *Store) Restore(ctx context.Context, post, author int64, p social.Picture) (bool, error) {
	r := Record{ID: p.ID, Owner: author, Kind: Post, Use: useOfPost(post), Picture: p, Created: s.Now().Unix()}
	for _, name := range fileNames(&p) {
		file, err := s.Files.Open(ctx, name)
		if errors.Is(err, files.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		r.Bytes += file.Size
		_ = file.Close()
	}
	store, err := s.records.Open(ctx)
	if err != nil {
		return false, err
	}
	if _, err := s.get(ctx, p.ID); storage.IsDamaged(err) {
		if err := deleteRecord(ctx, s.records, p.ID); err != nil {
			return false, err
		}
	}
	_, err = store.Create(ctx, r)
	return err == nil, failed(err)
}

// isRecent reports whether a picture or file written at the given time may be about to be used.
func (s *Store) isRecent(seconds int64) bool {
	return s.Now().Sub(time.Unix(seconds, 0)) < Unused
}

// Sweep deletes the pictures that have been unused for a day after their upload or replacement, and
// returns their number. One or two round trips if there are none.
func (s *Store) Sweep(ctx context.Context) (removed int, err error) {
	store, err := s.records.Existing(ctx)
	if store == nil || s.Files == nil {
		return 0, err
	}
	for r, err := range store.Find(model.Below(unused, s.Now().Add(-Unused).Unix())).All(ctx) {
		if storage.IsDamaged(err) {
			continue // a check reports the record
		}
		if err != nil {
			return removed, failed(err)
		}
		changed, err := s.Resolve(ctx, r.ID)
		if err != nil {
			return removed, err
		}
		if changed {
			removed++
		}
	}
	return removed, nil
}

// All returns the records of all pictures.
func (s *Store) All(ctx context.Context) iter.Seq2[Record, error] {
	return s.records.Each(ctx, func(store *model.Store[Record]) iter.Seq2[Record, error] { return store.All(ctx) })
}

// Orphans returns the names of the files that belong to no picture and were written more than a day
// ago.
func (s *Store) Orphans(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if s.Files == nil {
			return
		}
		for file, err := range s.Files.List(ctx) {
			if err != nil {
				yield("", err)
				return
			}
			isOrphan, err := s.isOrphan(ctx, file)
			if err != nil || isOrphan {
				if !yield(file.Name, err) || err != nil {
					return
				}
			}
		}
	}
}

// isOrphan reports whether a file belongs to no picture and is not recent.
func (s *Store) isOrphan(ctx context.Context, file files.Info) (bool, error) {
	if s.isRecent(file.Modified.Unix()) {
		return false, nil
	}
	id, name, _ := strings.Cut(file.Name, "-")
	r, err := s.get(ctx, id)
	if errors.Is(err, social.ErrNotFound) {
		return true, nil
	}
	if storage.IsDamaged(err) {
		return false, nil // the unreadable record may have the file
	}
	if err != nil {
		return false, err
	}
	for _, f := range r.Picture.Files {
		if f.Name == name {
			return false, nil
		}
	}
	return true, nil
}

// RemoveOrphan deletes a file that still belongs to no picture, and reports whether it did.
func (s *Store) RemoveOrphan(ctx context.Context, name string) (bool, error) {
	isOrphan, err := s.isOrphan(ctx, files.Info{Name: name})
	if err != nil || !isOrphan {
		return false, err
	}
	return true, s.Files.Delete(ctx, name)
}

// Missing returns the names of the files that a picture lacks.
func (s *Store) Missing(ctx context.Context, r Record) ([]string, error) {
	var names []string
	if s.Files == nil {
		return nil, nil
	}
	for _, name := range fileNames(&r.Picture) {
		file, err := s.Files.Open(ctx, name)
		switch {
		case errors.Is(err, files.ErrNotFound):
			names = append(names, name)
		case err != nil:
			return nil, err
		default:
			_ = file.Close()
		}
	}
	return names, nil
}
