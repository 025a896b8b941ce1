// Package backup implements the commands that back up a site's database and restore it.
package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/files"
	"retwis/internal/owner"
	"retwis/internal/social/backup"
)

// Commands returns the backup and restore commands.
func Commands(env shell.Env, version string) []*cobra.Command {
	return []*cobra.Command{newBackup(env, version), newRestore(env)}
}

func newBackup(env shell.Env, version string) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "backup [flags] FILE",
		Short: "Write the whole site to a file while it is in use",
		Long: `Writes the database of a site to a compressed file, or to standard output if FILE is -,
while the site is in use. The file appears only when the backup is complete, and never
replaces an existing file. Only its owner can read the file, because it holds password
hashes and sessions. If root writes the file, it belongs to the owner of the directory.

If FILE is a directory, the backup is written to it as retwis-TIME.backup, with the time
in UTC. --keep 14 then keeps the latest 14 backups, including the new one, and removes
older ones when the new backup is complete. Files with other names and backups that cannot
be read are not removed. Each site needs a separate directory.

The pictures of a site are stored outside its database (see "retwis serve --media").
--pictures writes them to a second file, after the database: all pictures of the posts in
the backup, except those of posts deleted in the meantime. If --pictures is a directory,
which may be the same as FILE, the file is named retwis-TIME.pictures.tar. --keep removes
such a file once no remaining backup needs it, unless a backup cannot be read.

The time of the backup is recorded in the database, for "retwis doctor" and monitoring.

By default the server sends a snapshot of its state at one moment, as it does to a replica.
This needs permission for REPLCONF and SYNC. If the server refuses them, or also holds
other databases, the keys are read one after another instead, with the permissions of the
site. In that case the keys are not all from the same moment, and neither are those of a
Cluster, whose masters are read one after another; "retwis restore" makes them consistent.
In each case, the backup has everything that was acknowledged before it began.`,
		Example: `  retwis backup /var/backups/retwis-$(date +%F).backup
  retwis backup --keep 14 /var/backups/retwis
  retwis backup --pictures pictures.tar site.backup
  retwis backup --keep 14 --pictures /var/backups/retwis /var/backups/retwis
  retwis backup site.backup --redis redis+cluster://n1,n2,n3 --json
  retwis backup - | ssh backup.example.com 'cat > retwis.backup'`,
		Args: shell.Arguments(1, 1, ""),
	})
	method := c.AddChoice("method", "how the keys are read", string(backup.Auto), string(backup.Snapshot), string(backup.Scan))
	var keep int
	c.Flags().IntVar(&keep, "keep", 0, "keep this `NUMBER` of the latest backups in the directory FILE, and remove older ones; 0 keeps all")
	pictures := ""
	c.Flags().StringVar(&pictures, "pictures", "", "also write the pictures, to this tar `FILE` or directory")
	c.AddJSON("print what was written as JSON")
	c.AddRedis()
	site.AddMedia(c)
	c.FromEnv("method", "keep")
	return c.Build(func(ctx context.Context, args []string) error {
		to, err := open(c, args[0], pictures, keep)
		if err != nil {
			return err
		}
		defer to.discard()
		return site.Look(ctx, c, func(db *site.Database) error {
			if to.pictures != nil && db.Media == nil {
				return errNoMedia()
			}
			return to.write(ctx, c, db, backup.Options{Method: backup.Method(method.Value), Version: version})
		})
	})
}

// target is the destination of a backup.
type target struct {
	database *output
	pictures *output // nil without pictures
	old      retention
}

// open creates the files of a backup. Files in a directory are named after the time.
func open(c *shell.Command, name, pictures string, keep int) (to target, err error) {
	now := time.Now()
	inDir, dir := inDirectory(name, now, databaseExt)
	picturesIn, picturesDir := inDirectory(pictures, now, picturesExt)
	switch {
	case name == "-" && c.JSON:
		return to, shell.Usage(errors.New("--json and the backup cannot both go to standard output"))
	case pictures == "-":
		return to, errStdio()
	case keep < 0:
		return to, shell.Usage(fmt.Errorf("--keep: %d is negative", keep))
	case keep > 0 && dir == "":
		return to, shell.Usage(fmt.Errorf("--keep needs a directory: %s is not a directory", name))
	}
	to.old = retention{dir: dir, pictures: cmp.Or(picturesDir, dir), keep: keep, made: inDir}
	if to.database, err = create(c, inDir); err != nil || pictures == "" {
		return to, err
	}
	if to.pictures, err = create(c, picturesIn); err != nil {
		to.discard()
	}
	return to, err
}

func (to *target) discard() {
	to.database.discard()
	if to.pictures != nil {
		to.pictures.discard()
	}
}

// write writes a backup. Once the backup is complete, write removes older backups.
func (to *target) write(ctx context.Context, c *shell.Command, db *site.Database, opt backup.Options) error {
	draw, erase := bar(c.Stderr, "backing up", -1)
	if draw != nil {
		opt.Progress = func(bytes, _, _ int64) { draw(bytes) }
	}
	start := time.Now()
	result, err := backup.Write(ctx, source(db), to.database.w, opt)
	if err == nil {
		err = to.database.commit()
	}
	erase()
	if err != nil {
		return err
	}
	done := written{Result: result, File: to.database.name, Seconds: time.Since(start).Seconds()}
	if err := db.Social.RecordBackup(ctx, result.Created); err != nil {
		fmt.Fprintf(c.Stderr, "retwis: the backup is complete, but its time could not be recorded in the database: %s\n", shell.OneLine(err))
	}
	var copied files.Copied
	if to.pictures != nil {
		if copied, err = to.pictures.writeFiles(ctx, db.Media); err != nil {
			err = fmt.Errorf("the database was backed up, but the pictures were not: %w", err)
			return errors.Join(report(c, db, done), err)
		}
	}
	removed, unread, failed := to.old.apply()
	if unread != nil {
		fmt.Fprintf(c.Stderr, "retwis: kept an unreadable backup and all picture archives: %s\n", shell.ForTerminal(shell.OneLine(unread)))
	}
	if failed != nil {
		failed = fmt.Errorf("the backup is complete, but older ones could not be removed: %w", failed)
	}
	done.Removed = removed
	err = report(c, db, done)
	switch {
	case to.pictures != nil:
		err = errors.Join(err, reportPictures(c, "backed up", to.pictures.name, copied))
	case hasPictures(ctx, db.Media):
		fmt.Fprintf(c.Stderr, "retwis: the pictures are not in this backup: see --pictures (%s)\n", shell.ForTerminal(db.Media.String()))
	}
	return errors.Join(err, failed)
}

// written describes a finished backup.
type written struct {
	backup.Result
	File    string   `json:"file"`
	Seconds float64  `json:"seconds"`
	Removed []string `json:"removed,omitempty"` // older backups and their pictures
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
	return errors.Join(err,
		w.reportRemoved(to, databaseExt, "older backup", "older backups"),
		w.reportRemoved(to, picturesExt, "older picture archive", "older picture archives"))
}

func (w written) reportRemoved(to io.Writer, ext, singular, plural string) error {
	n := int64(0)
	for _, name := range w.Removed {
		if strings.HasSuffix(name, ext) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	_, err := fmt.Fprintf(to, "removed %s\n", shell.Plural(n, singular, plural))
	return err
}

// moment describes whether the backup is a point-in-time snapshot.
func moment(m backup.Manifest) string {
	switch {
	case m.AtOneMoment():
		return "the state at one moment"
	case m.Method == backup.Snapshot:
		return fmt.Sprintf("%d servers, each at one moment", m.Parts)
	}
	return "keys read at different moments"
}

func source(db *site.Database) backup.Source {
	return backup.Source{Client: db.Client(), Options: db.ClientOption()}
}

// output is a file of a backup. commit gives it its name.
type output struct {
	name string
	w    io.Writer
	file *os.File // nil for standard output
}

// inDirectory returns the name of the file to write and, if name is a directory, that directory.
// Files in a directory are named after the time.
func inDirectory(name string, now time.Time, ext string) (file, dir string) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return filepath.Join(name, nameAt(now, ext)), name
	}
	return name, ""
}

// create returns an output for a file, or for standard output if name is "-". Until commit, the
// file has a temporary name in the same directory.
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
	o := &output{name, file, file}
	if err := owner.Inherit(file); err != nil {
		o.discard()
		return nil, fmt.Errorf("cannot write %s: %w", name, err)
	}
	return o, nil
}

func exists(name string) error {
	return shell.Hint(fmt.Errorf("%s already exists", name), "A backup never replaces a file: choose another name, or remove the file first.")
}

// commit syncs the file to disk and gives the file its name.
func (o *output) commit() error {
	if o.file == nil {
		return nil
	}
	if err := errors.Join(o.file.Sync(), o.file.Close()); err != nil {
		return err
	}
	// Unlike Rename, Link does not replace a file that was created in the meantime. Not all file
	// systems support links.
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

// discard removes the file if it has not been committed.
func (o *output) discard() {
	if o.file != nil {
		o.file.Close()
		os.Remove(o.file.Name())
	}
}
