package takeout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"retwis/internal/files"
	"retwis/internal/social/media"
	"retwis/internal/social/storage"
)

// fileOf returns the name of a picture's largest file in the archive.
func fileOf(r media.Record) string { return "media/" + r.Picture.Stored(r.Picture.Large()) }

// pictures lists the pictures that the user has uploaded.
func (e *exporter) pictures(ctx context.Context, yield func(row ...any) error) error {
	return e.eachPicture(ctx, func(r media.Record) error {
		return yield(fileOf(r), time.Unix(r.Created, 0).UTC(), r.Use, r.Picture.Alt)
	})
}

func (e *exporter) eachPicture(ctx context.Context, do func(r media.Record) error) error {
	for r, err := range e.store.Of(ctx, e.uid) {
		if err == nil && len(r.Picture.Files) > 0 {
			err = do(r)
		}
		if err != nil && !storage.IsDamaged(err) {
			return err
		}
	}
	return nil
}

// files writes the picture files. A file that is deleted in the meantime is left out.
func (e *exporter) files(ctx context.Context, create func(name string) (io.Writer, error)) error {
	if e.store.Files == nil {
		return nil
	}
	return e.eachPicture(ctx, func(r media.Record) error {
		data, err := files.Read(ctx, e.store.Files, r.Picture.Stored(r.Picture.Large()))
		if errors.Is(err, files.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		file, err := create(fileOf(r))
		if err == nil {
			_, err = file.Write(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", fileOf(r), err)
		}
		return nil
	})
}
