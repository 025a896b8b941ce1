package site

import (
	"path/filepath"

	"retwis/internal/cli/shell"
	"retwis/internal/files"
	"retwis/internal/redis/store"
	"retwis/internal/social/media"
)

// noMedia is the value of --media for a site without pictures.
const noMedia = "none"

// AddMedia adds the flag that sets the media store.
func AddMedia(c *shell.Command) {
	c.Flags().StringVar(&c.Media, "media", "", "where pictures are stored: a `DIRECTORY`, s3://[KEY:SECRET@]HOST/BUCKET[/PREFIX], or none; the default is the directory media in the data directory of the embedded server, and none with another server")
}

// openMedia opens the media store, or returns nil if there is none.
func openMedia(c *shell.Command) (files.Store, error) {
	location := setting(c, "media", c.Media)
	if location == "" {
		config, err := store.Parse(c.Redis)
		if err != nil || config.Kind != store.Embedded {
			return nil, nil // with another database, no default location is known
		}
		dir := config.Dir
		if dir == "" {
			if dir, err = store.DefaultDir(c.Getenv); err != nil {
				return nil, nil // the database reports the error
			}
		}
		location = filepath.Join(dir, "media")
	}
	if location == noMedia {
		return nil, nil
	}
	opened, err := files.Open(location, c.Getenv)
	if err != nil {
		return nil, shell.Usage(err)
	}
	return opened, nil
}

// AddQuota adds the flag that limits the pictures of a user.
func AddQuota(c *shell.Command) {
	c.Quota = media.DefaultQuota
	c.Flags().Var(&c.Quota, "media-quota", "how much space the pictures of a user may take")
}
