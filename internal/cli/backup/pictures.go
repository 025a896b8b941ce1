package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"retwis/internal/cli/shell"
	"retwis/internal/files"
)

func errNoMedia() error {
	return shell.Usage(errors.New("--pictures: the location of the site's pictures is unknown: set --media"))
}

// pictures describes the pictures that were backed up, verified or restored.
type pictures struct {
	Pictures string `json:"pictures"` // name of the archive
	files.Copied
}

// hasPictures reports whether a site has pictures.
func hasPictures(ctx context.Context, from files.Store) bool {
	if from == nil {
		return false
	}
	for _, err := range from.List(ctx) {
		return err == nil
	}
	return false
}

// errStdio is the error for --pictures set to "-": standard input and output are reserved for the
// database.
func errStdio() error {
	return shell.Usage(errors.New("--pictures cannot be standard input or output: name a file"))
}

// writeFiles writes the pictures of a site to an archive.
func (o *output) writeFiles(ctx context.Context, from files.Store) (files.Copied, error) {
	done, err := files.Export(ctx, from, o.w)
	if err == nil {
		err = o.commit()
	}
	return done, err
}

// verifyPictures reads a picture archive to its end. A stream, which can be read only once, is
// verified only if verifyOnly is set.
func verifyPictures(ctx context.Context, c *shell.Command, name string, verifyOnly bool) error {
	in, size, err := shell.OpenFile(c.Stdin, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if size < 0 && !verifyOnly {
		return nil
	}
	done, err := files.Import(ctx, in, nil)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", shell.ForTerminal(name), err)
	case !verifyOnly:
		return nil
	}
	return reportPictures(c, "verified", name, done)
}

// readPictures copies pictures from an archive to a site.
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
	return reportPictures(c, "restored", name, done)
}

func reportPictures(c *shell.Command, what, name string, done files.Copied) error {
	if c.JSON {
		return json.NewEncoder(c.Stdout).Encode(pictures{name, done})
	}
	_, err := fmt.Fprintf(c.Stderr, "%s %s, %s bytes: %s\n", what, shell.Plural(done.Files, "picture file", "picture files"), shell.Thousands(done.Bytes), shell.ForTerminal(name))
	return err
}
