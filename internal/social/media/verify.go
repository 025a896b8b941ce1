package media

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/maintain"
	"retwis/model"
)

// Findings checks all pictures: each has files, and a post or a user that uses it; and each file
// belongs to a picture. It checks files only if this process has the store. Files that this site
// does not use may belong to another site: a repair deletes them only if deletes is set.
func (s *Store) Findings(ctx context.Context, deletes bool) iter.Seq2[storage.Finding, error] {
	return func(yield func(storage.Finding, error) bool) {
		v := verifier{s, deletes}
		_ = v.findModel(ctx, yield) && v.findRecords(ctx, yield) && v.findOrphans(ctx, yield)
	}
}

// restoreFiles is the advice for a picture without its files.
const restoreFiles = "none: restore the files"

// verifier finds inconsistencies.
type verifier struct {
	store   *Store
	deletes bool // whether repairs delete unused files
}

// deletion returns the repair for unused pictures.
func (v verifier) deletion() string {
	if v.deletes {
		return "delete it"
	}
	return "delete it, with --delete-files"
}

// findModel compares the records with the bookkeeping of package model. findRecords reports
// unreadable ones.
func (v verifier) findModel(ctx context.Context, yield func(storage.Finding, error) bool) bool {
	return v.store.all.FindModel(ctx, "pictures", func(f storage.Finding, err error) bool {
		return f.Kind == maintain.Invalid || yield(f, err)
	})
}

func (v verifier) findRecords(ctx context.Context, yield func(storage.Finding, error) bool) bool {
	for r, err := range v.store.All(ctx) {
		var damaged *model.RecordError
		if errors.As(err, &damaged) {
			f := storage.Finding{Kind: maintain.Invalid, Key: storage.MediaKey(damaged.ID), Detail: damaged.Error(), Repair: "delete it, if no post has the picture"}
			if v.store.Files != nil { // the pictures of posts were rewritten before
				f.Fix = func(ctx context.Context) (bool, error) { return true, deleteRecord(ctx, v.store.all, damaged.ID) }
			}
			if !yield(f, nil) {
				return false
			}
			continue
		}
		if err != nil {
			return yield(storage.Finding{}, err)
		}
		found, err := v.findOf(ctx, r)
		if err != nil {
			return yield(storage.Finding{}, err)
		}
		for _, finding := range found {
			if !yield(finding, nil) {
				return false
			}
		}
	}
	return true
}

// findOf checks one picture.
func (v verifier) findOf(ctx context.Context, r Record) (found []storage.Finding, err error) {
	use, err := v.store.Use(ctx, r)
	if err != nil {
		return nil, err
	}
	if v.store.IsOutdated(r, use) {
		f := storage.Finding{Kind: maintain.Stale, Key: storage.MediaKey(r.ID), Leftover: true, Detail: fmt.Sprintf("is used by %q, and says %q", use, r.Use), Repair: "write it again"}
		if use == "" {
			f.Kind, f.Detail, f.Repair = maintain.Dangling, "is a picture that nothing uses", v.deletion()
		}
		if v.store.Files != nil && (use != "" || v.deletes) {
			f.Fix = func(ctx context.Context) (bool, error) { return v.store.Resolve(ctx, r.ID) }
		}
		found = append(found, f)
	}
	missing, err := v.store.Missing(ctx, r)
	if r.Use = use; err != nil || !r.isUsed() {
		return found, err
	}
	for _, name := range missing {
		found = append(found, storage.Finding{Kind: maintain.Missing, Key: storage.MediaKey(r.ID), Detail: "lacks its file " + name, Repair: restoreFiles})
	}
	return found, nil
}

func (v verifier) findOrphans(ctx context.Context, yield func(storage.Finding, error) bool) bool {
	for name, err := range v.store.Orphans(ctx) {
		f := storage.Finding{
			Kind: maintain.Dangling, Key: name, Leftover: true, Detail: "is a file that belongs to no picture", Repair: v.deletion(),
		}
		if v.deletes {
			f.Fix = func(ctx context.Context) (bool, error) { return v.store.RemoveOrphan(ctx, name) }
		}
		if !yield(f, err) || err != nil {
			return false
		}
	}
	return true
}

// FindingsOf checks that the pictures of a post have records.
func (s *Store) FindingsOf(ctx context.Context, post, author int64, media social.Media) (found []storage.Finding, err error) {
	for _, p := range media.Pictures() {
		f := storage.Finding{Kind: maintain.Missing, Key: storage.PostKey(post), Detail: "has picture " + p.ID + ", which has no record", Repair: "write the record again"}
		var damaged *model.RecordError
		switch _, err := s.get(ctx, p.ID); {
		case err == nil:
			continue // Findings reports its problem
		case errors.As(err, &damaged):
			f.Kind, f.Detail = maintain.Invalid, "has picture "+p.ID+": "+damaged.Error()
		case !errors.Is(err, social.ErrNotFound):
			return nil, err
		}
		missing, err := s.Missing(ctx, Record{Picture: p})
		switch {
		case err != nil:
			return nil, err
		case len(missing) > 0:
			f.Detail, f.Repair = f.Detail+"; it lacks its file "+strings.Join(missing, " and "), restoreFiles
		case s.Files != nil:
			f.Fix = func(ctx context.Context) (bool, error) { return s.Restore(ctx, post, author, p) }
		}
		found = append(found, f)
	}
	return found, nil
}
