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
	return shell.Usage(errors.New("--pictures: it is not known where the pictures of the site are: name the place with --media"))
}

// pictures is what was copied.
type pictures struct {
	Pictures string `json:"pictures"` // the file
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

// errStandard: a command has another file or report for standard input and output.
func errStandard() error {
	return shell.Usage(errors.New("--pictures cannot be standard input or output: name a file"))
}

// writeFiles writes the pictures of a site to a file.
func (o *output) writeFiles(ctx context.Context, from files.Store) (files.Copied, error) {
	done, err := files.Export(ctx, from, o.w)
	if err == nil {
		err = o.commit()
	}
	return done, err
}

// verifyPictures reads a file of pictures to its end, unless it can be read once only and is needed
// again.
func verifyPictures(ctx context.Context, c *shell.Command, name string, all bool) error {
	in, size, err := shell.OpenFile(c.Stdin, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if size < 0 && !all {
		return nil
	}
	done, err := files.Import(ctx, in, nil)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", shell.ForTerminal(name), err)
	case !all:
		return nil
	}
	return reportPictures(c, "verified", name, done)
}

// readPictures reads the pictures of a site from a file.
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
	_, err := fmt.Fprintf(c.Stderr, "%s %s of pictures, %s bytes: %s\n", what, shell.Plural(done.Files, "file", "files"), shell.Thousands(done.Bytes), shell.ForTerminal(name))
	return err
}
