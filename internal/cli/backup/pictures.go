package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/files"
)

func errNoMedia() error {
	return shell.Usage(errors.New("--pictures: it is not known where the pictures of the site are: name the place with --media"))
}

// pictures is what was copied.
type pictures struct {
	Pictures string `json:"pictures"` // the file
	files.Copied
}

// writePictures writes the pictures of a site to a file.
func writePictures(ctx context.Context, c *shell.Command, db *site.Database, name string) error {
	out, err := create(c, name)
	if err != nil {
		return err
	}
	defer out.discard()
	done, err := files.Export(ctx, db.Media, out.w)
	if err == nil {
		err = out.commit()
	}
	if err != nil {
		return fmt.Errorf("the backup of the database is complete, but not that of the pictures: %w", err)
	}
	return reportPictures(c, "backed up", name, done)
}

// readPictures reads the pictures of a site from a file; to nil, it verifies the file.
func readPictures(ctx context.Context, c *shell.Command, name string, to files.Store) error {
	in, _, err := shell.OpenFile(c.Stdin, name)
	if err != nil {
		return err
	}
	defer in.Close()
	done, err := files.Import(ctx, in, to)
	if err != nil {
		return fmt.Errorf("%s: %w", shell.ForTerminal(name), err)
	}
	if to == nil {
		return reportPictures(c, "verified", name, done)
	}
	return reportPictures(c, "restored", name, done)
}

func reportPictures(c *shell.Command, what, name string, done files.Copied) error {
	if c.JSON {
		return json.NewEncoder(c.Stdout).Encode(pictures{name, done})
	}
	_, err := fmt.Fprintf(c.Stderr, "%s %s of pictures, %s bytes: %s\n", what, shell.Plural(done.Files, "file", "files"), shell.Thousands(done.Bytes), shell.ForTerminal(name))
	return err
}
