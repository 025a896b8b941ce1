// Package backup has the commands that back up the database of the site and restore it.
package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social/backup"
)

// Commands returns the commands.
func Commands(env shell.Env, version string) []*cobra.Command {
	return []*cobra.Command{newBackup(env, version), newRestore(env)}
}

func newBackup(env shell.Env, version string) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "backup [flags] FILE",
		Short: "Write the whole site to a file while it is in use",
		Long: `Writes the database of the site to one compressed file, - for standard output, while the
site is in use. It writes a file of that name only when the backup is complete, and never
over another one; only you can read it, as it holds password hashes and sessions.

FILE may be a directory: the backup in it is named retwis-TIME.backup, with the time in
UTC. Then --keep 14 removes old backups when the new one is complete, and leaves the
latest 14, the new one included. It removes nothing but backups with such a name. Sites
need a directory each.

The pictures of a site are files beside its database (see "retwis serve --media").
--pictures writes them to another file, after the database: so all pictures of the posts in
the backup are there, but for those whose posts are deleted meanwhile.

The time of the backup is recorded in the database, for "retwis doctor" and monitoring.

The database sends a snapshot of itself, as it does to a replica: its state at one
moment. That needs the rights REPLCONF and SYNC. Where a server refuses them, or holds
other databases too, the keys are read one after another instead, with the rights that
the site has. This, and the masters of a Cluster, which are read one after another, give
a backup whose keys are not all of the same moment: "retwis restore" makes them agree.
In each case, everything that was acknowledged before the backup began is in it.`,
		Example: `  retwis backup /var/backups/retwis-$(date +%F).backup
  retwis backup --keep 14 /var/backups/retwis
  retwis backup --pictures pictures.tar site.backup
  retwis backup site.backup --redis redis+cluster://n1,n2,n3 --json
  retwis backup - | ssh backup.example.com 'cat > retwis.backup'`,
		Args: shell.Arguments(1, 1, ""),
	})
	method := c.AddChoice("method", "how the keys are read", string(backup.Auto), string(backup.Snapshot), string(backup.Scan))
	var keep int
	c.Flags().IntVar(&keep, "keep", 0, "leave this `NUMBER` of the latest backups in the directory FILE, and remove older ones; 0 leaves all")
	pictures := ""
	c.Flags().StringVar(&pictures, "pictures", "", "also write the pictures, to this `FILE`, a tar archive")
	c.AddJSON("print what was written as JSON")
	c.AddRedis()
	site.AddMedia(c)
	c.FromEnv("method", "keep")
	return c.Build(func(ctx context.Context, args []string) error {
		name, dir := args[0], ""
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			name, dir = filepath.Join(name, nameAt(time.Now())), name
		}
		switch {
		case name == "-" && c.JSON:
			return shell.Usage(errors.New("--json and the backup cannot both go to standard output"))
		case keep < 0:
			return shell.Usage(fmt.Errorf("--keep: %d is negative", keep))
		case keep > 0 && dir == "":
			return shell.Usage(fmt.Errorf("--keep needs a directory, in which retwis names the backups: %s is not one", name))
		}
		out, err := create(c, name)
		if err != nil {
			return err
		}
		defer out.discard()
		return site.With(ctx, c, func(db *site.Database) error {
			if pictures != "" && db.Media == nil {
				return errNoMedia()
			}
			err := write(ctx, c, db, out, retention{dir, keep}, backup.Options{Method: backup.Method(method.Value), Version: version})
			if err == nil && pictures != "" {
				err = writePictures(ctx, c, db, pictures)
			}
			return err
		})
	})
}

func write(ctx context.Context, c *shell.Command, db *site.Database, out *output, old retention, opt backup.Options) error {
	draw, wipe := bar(c.Stderr, "backing up", -1)
	if draw != nil {
		opt.Progress = func(bytes, _, _ int64) { draw(bytes) }
	}
	start := time.Now()
	result, err := backup.Write(ctx, source(db), out.w, opt)
	if err == nil {
		err = out.commit()
	}
	wipe()
	switch {
	case errors.Is(err, backup.ErrRestoring):
		return shell.Hint(&located{db.String(), err}, "Repeat the restore first.")
	case err != nil:
		return err
	}
	took := time.Since(start).Seconds()
	if err := db.Social.RecordBackup(ctx, result.Created); err != nil {
		fmt.Fprintf(c.Stderr, "retwis: the backup is complete, but the database does not record its time: %s\n", shell.OneLine(err))
	}
	removed, failed := old.apply()
	if failed != nil {
		failed = fmt.Errorf("the backup is complete, but older ones could not be removed: %w", failed)
	}
	return errors.Join(report(c, db, written{result, out.name, took, removed}), failed)
}

// written is what a backup has written.
type written struct {
	backup.Result
	File    string   `json:"file"`
	Seconds float64  `json:"seconds"`
	Removed []string `json:"removed,omitempty"` // older backups
}

// report prints what was written.
func report(c *shell.Command, db *site.Database, w written) error {
	if c.JSON {
		return json.NewEncoder(c.Stdout).Encode(w)
	}
	to := c.Stdout
	if w.File == "-" {
		to = c.Stderr
	}
	if w.Reason != "" {
		fmt.Fprintf(c.Stderr, "retwis: read the keys one after another: %s\n", shell.ForTerminal(w.Reason))
	}
	_, err := fmt.Fprintf(to, "backed up %s to %s: %s bytes in %.1f s, %s\n", db, shell.ForTerminal(w.File), shell.Thousands(w.Written), w.Seconds, moment(w.Manifest))
	if len(w.Removed) > 0 {
		_, more := fmt.Fprintf(to, "removed %s\n", shell.Plural(int64(len(w.Removed)), "older backup", "older backups"))
		err = errors.Join(err, more)
	}
	return err
}

// moment says of when the keys are.
func moment(m backup.Manifest) string {
	switch {
	case m.AtOneMoment():
		return "the state at one moment"
	case m.Method == backup.Snapshot:
		return fmt.Sprintf("%d servers, each at one moment", m.Parts)
	}
	return "each key at some moment meanwhile"
}

func source(db *site.Database) backup.Source {
	return backup.Source{Client: db.Client(), Options: db.ClientOption()}
}

// output is the file of a backup. It has its name only when it is complete.
type output struct {
	name string
	w    io.Writer
	file *os.File // nil for standard output
}

// create opens a file next to the one to write.
func create(c *shell.Command, name string) (*output, error) {
	if name == "-" {
		if shell.IsTerminal(c.Stdout) {
			return nil, shell.Usage(errors.New("standard output is a terminal: name a file, or write to a pipe"))
		}
		return &output{name: name, w: c.Stdout}, nil
	}
	if _, err := os.Lstat(name); err == nil {
		return nil, exists(name)
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".part-*") // with mode 0600
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", name, err)
	}
	return &output{name, file, file}, nil
}

func exists(name string) error {
	return shell.Hint(fmt.Errorf("%s exists already", name), "A backup never replaces a file: choose another name, or remove it first.")
}

// commit forces the file to the disk and names it.
func (o *output) commit() error {
	if o.file == nil {
		return nil
	}
	if err := errors.Join(o.file.Sync(), o.file.Close()); err != nil {
		return err
	}
	// A link, unlike a rename, does not replace a file that has appeared meanwhile. Not
	// all file systems have links.
	err := os.Link(o.file.Name(), o.name)
	switch {
	case errors.Is(err, os.ErrExist):
		return exists(o.name)
	case err != nil:
		if _, statErr := os.Lstat(o.name); statErr == nil {
			return exists(o.name)
		}
		if err := os.Rename(o.file.Name(), o.name); err != nil {
			return err
		}
	}
	dir, err := os.Open(filepath.Dir(o.name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// discard removes what has no name yet.
func (o *output) discard() {
	if o.file != nil {
		o.file.Close()
		os.Remove(o.file.Name())
	}
}
