package site

import (
	"context"
	"errors"
	"path/filepath"

	"retwis/internal/app"
	"retwis/internal/cli/shell"
	"retwis/internal/files"
	"retwis/internal/redis/store"
	"retwis/internal/social/media"
)

// noMedia is the value of --media of a site without pictures.
const noMedia = "none"

// AddMedia adds the flag that names the place of pictures.
func AddMedia(c *shell.Command) {
	c.Flags().StringVar(&c.Media, "media", "", "where pictures are: a `DIRECTORY`, s3://[KEY:SECRET@]HOST/BUCKET[/PREFIX], or none; the default is the directory media in that of our own server, and none with another server")
}

// openMedia opens the place of pictures; nil for none.
func openMedia(c *shell.Command) (files.Store, error) {
	place := setting(c, "media", c.Media)
	if place == "" {
		config, err := store.Parse(c.Redis)
		if err != nil || config.Kind != store.Embedded {
			return nil, nil // another database does not say where pictures could be
		}
		dir := config.Dir
		if dir == "" {
			if dir, err = store.DefaultDir(c.Getenv); err != nil {
				return nil, nil // the database reports it
			}
		}
		place = filepath.Join(dir, "media")
	}
	if place == noMedia {
		return nil, nil
	}
	opened, err := files.Open(place, c.Getenv)
	if err != nil {
		return nil, shell.Usage(err)
	}
	return opened, nil
}

// AddQuota adds the flag that bounds the pictures of a user.
func AddQuota(c *shell.Command, quota *shell.ByteSize) {
	*quota = media.DefaultQuota
	c.Flags().Var(quota, "media-quota", "how much space the pictures of a user may take")
}

// CheckQuota refuses a quota that leaves no room.
func CheckQuota(quota shell.ByteSize) error {
	if quota < 1 {
		return errors.New("--media-quota: use at least one byte, or --media none for a site without pictures")
	}
	return nil
}

// OperatePictures is Operate for a command that adds pictures.
func OperatePictures(ctx context.Context, c *shell.Command, quota shell.ByteSize, do func(db *Database) error) (err error) {
	db, err := Open(ctx, c, store.Options{}, app.Options{MediaQuota: int64(quota)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Require(ctx); err != nil {
		return err
	}
	if err := db.Adopt(ctx, false, c.Log()); err != nil {
		return err
	}
	return do(db)
}
