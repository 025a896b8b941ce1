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

// Findings checks that each picture has files and is used by a post or a user, and that each file
// belongs to a picture. It checks files only if this process has the picture store. Unused files
// may belong to another site, so a repair deletes them only if deleteFiles is set.
func (s *Store) Findings(ctx context.Context, deleteFiles bool) iter.Seq2[storage.Finding, error] {
	return func(yield func(storage.Finding, error) bool) {
		v := verifier{s, deleteFiles}
		_ = v.findModel(ctx, yield) && v.findRecords(ctx, yield) && v.findOrphans(ctx, yield)
	}
}

// restoreFile is the advice for a picture without its files, which no repair can write again.
const restoreFile = ": restore from a backup"

// verifier finds inconsistencies.
type verifier struct {
	store       *Store
	deleteFiles bool // whether repairs delete unused files
}

// deletion returns the repair for unused pictures.
func (v verifier) deletion() string {
	if v.deleteFiles {
		return "delete it"
	}
	return "delete it, with --delete-files"
}

// findModel compares the records with the bookkeeping of package model. It skips unreadable
// records, which findRecords reports.
func (v verifier) findModel(ctx context.Context, yield func(storage.Finding, error) bool) bool {
	return v.store.records.FindModel(ctx, "pictures", func(f storage.Finding, err error) bool {
		return f.Kind == maintain.Invalid || yield(f, err)
	})
}

// findRecords checks all records.
func (v verifier) findRecords(ctx context.Context, yield func(storage.Finding, error) bool) bool {
	for r, err := range v.store.All(ctx) {
		var damaged *model.RecordError
		if errors.As(err, &damaged) {
			f := storage.Finding{Kind: maintain.Invalid, Key: storage.MediaKey(damaged.ID), Detail: damaged.Error(), Repair: "delete it, if no post has the picture"}
			if v.store.Files != nil { // the records of pictures in posts were rewritten before
				f.Fix = func(ctx context.Context) (bool, error) { return true, deleteRecord(ctx, v.store.records, damaged.ID) }
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
		f := storage.Finding{Kind: maintain.Stale, Key: storage.MediaKey(r.ID), Leftover: true, Detail: fmt.Sprintf("is used by %q, but has the use %q", use, r.Use), Repair: "write it again"}
		if use == "" {
			f.Kind, f.Detail, f.Repair = maintain.Dangling, "is an unused picture", v.deletion()
		}
		if v.store.Files != nil && (use != "" || v.deleteFiles) {
			f.Fix = func(ctx context.Context) (bool, error) { return v.store.Resolve(ctx, r.ID) }
		}
		found = append(found, f)
	}
	missing, err := v.store.Missing(ctx, r)
	if r.Use = use; err != nil || !r.isUsed() {
		return found, err
	}
	for _, name := range missing {
		found = append(found, storage.Finding{Kind: maintain.Missing, Key: storage.MediaKey(r.ID), Detail: "lacks its file " + name + restoreFile})
	}
	return found, nil
}

// findOrphans reports the files that belong to no picture.
func (v verifier) findOrphans(ctx context.Context, yield func(storage.Finding, error) bool) bool {
	for name, err := range v.store.Orphans(ctx) {
		f := storage.Finding{
			Kind: maintain.Dangling, Key: name, Leftover: true, Detail: "is a file that belongs to no picture", Repair: v.deletion(),
		}
		if v.deleteFiles {
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
			continue // Findings checks the record
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
			f.Detail, f.Repair = f.Detail+"; it lacks its file "+strings.Join(missing, " and ")+restoreFile, ""
		case s.Files != nil:
			f.Fix = func(ctx context.Context) (bool, error) { return s.Restore(ctx, post, author, p) }
		}
		found = append(found, f)
	}
	return found, nil
}
