package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/store"
	"retwis/internal/social/backup"
	"retwis/internal/social/check"
	"retwis/maintain"
)

func newRestore(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "restore [flags] FILE",
		Short: "Load a backup into an empty database",
		Long: `Loads a file written by "retwis backup", or standard input if FILE is -, into an empty
database. The server may differ: any version from 6.2 on, a single server or a Cluster.
Then interrupted operations are completed and inconsistencies repaired, as by "retwis check
--repair".

The file is first read completely and verified, unless it comes from standard input. A
damaged file changes nothing.

--pictures also restores the pictures from a file written by "retwis backup --pictures",
after the check that the database is empty.

An interrupted restore can be repeated with the same file; until then no site is served on
the database. Sessions are restored, too: users who were logged in at the time of the
backup are logged in again.`,
		Example: `  retwis restore site.backup
  retwis restore site.backup --redis redis+cluster://n1,n2,n3
  retwis restore site.backup --replace
  retwis restore site.backup --verify`,
		Args: shell.Arguments(1, 1, ""),
	})
	var r restoration
	var verify bool
	f := c.Flags()
	f.BoolVar(&r.replace, "replace", false, "delete every key of the database first")
	f.StringVar(&r.pictures, "pictures", "", "also read the pictures, from this `FILE`")
	f.BoolVar(&verify, "verify", false, "verify the file and change nothing")
	c.AddJSON("print the result as JSON")
	c.AddRedis()
	site.AddMedia(c)
	c.Creates = true
	c.FromEnv("replace", "verify")
	return c.Build(func(ctx context.Context, args []string) (err error) {
		switch {
		case r.replace && verify:
			return shell.Usage(errors.New("--replace and --verify cannot be combined"))
		case r.pictures == "-":
			return errStdio()
		}
		in, size, err := shell.OpenFile(c.Stdin, args[0])
		if err != nil {
			return err
		}
		defer in.Close()
		r.in, r.size = in, size
		file, seekable := in.(io.Seeker)
		seekable = seekable && size >= 0
		if seekable || verify {
			if err := verifyFile(ctx, c, args[0], in, size, verify); err != nil {
				return err
			}
		}
		if r.pictures != "" {
			if err := verifyPictures(ctx, c, r.pictures, verify); err != nil {
				return err
			}
		}
		if verify {
			return nil
		}
		if seekable {
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}
		// Look runs no jobs: a restored job that ran before all keys are loaded would miss data.
		return site.Look(ctx, c, func(db *site.Database) error {
			if r.pictures != "" && db.Media == nil {
				return errNoMedia()
			}
			return r.restore(ctx, c, db)
		})
	})
}

// restoration holds the input and the options of a restore.
type restoration struct {
	in       io.Reader
	size     int64
	pictures string // file name of the picture archive; empty for none
	replace  bool
}

// verifyFile reads and verifies a backup. If report is set, verifyFile prints a summary.
func verifyFile(ctx context.Context, c *shell.Command, name string, in io.Reader, size int64, report bool) error {
	counted, erase := withProgress(c, "verifying", in, size)
	m, keys, err := backup.Verify(ctx, counted)
	erase()
	switch {
	case err != nil:
		return &located{name, err}
	case !report:
		return nil
	case c.JSON:
		return json.NewEncoder(c.Stdout).Encode(struct {
			backup.Manifest
			Keys int64 `json:"keys"`
		}{m, keys})
	}
	_, err = fmt.Fprintf(c.Stdout, "%s is intact: %s, created %s by retwis %s from %s, %s\n", shell.ForTerminal(name), shell.Plural(keys, "key", "keys"),
		m.Created.Format(time.RFC3339), shell.ForTerminal(m.Retwis), shell.ForTerminal(m.Server), moment(m))
	return err
}

func (r restoration) restore(ctx context.Context, c *shell.Command, db *site.Database) error {
	if r.replace && db.Joined() {
		return explain(db, backup.ErrInUse)
	}
	opt := backup.RestoreOptions{Replace: r.replace}
	if r.pictures != "" {
		opt.Begun = func() error { return readPictures(ctx, c, r.pictures, db.Media) }
	}
	counted, erase := withProgress(c, "restoring", r.in, r.size)
	result, err := backup.Restore(ctx, source(db), counted, opt)
	erase()
	if err != nil {
		return explain(db, err)
	}
	checked, err := repair(ctx, c, db)
	if err != nil {
		return shell.Hint(err, "The backup is restored, but may be inconsistent. Repair it: retwis check --repair")
	}
	if c.JSON {
		return json.NewEncoder(c.Stdout).Encode(struct {
			backup.Restored
			Repaired  int64 `json:"repaired"`
			Remaining int64 `json:"remaining"`
		}{result, checked.Repaired, checked.Remaining})
	}
	_, err = fmt.Fprintf(c.Stdout, "restored %s of %s into %s in %.1f s: %s, %s; %d repaired, %s left\n",
		shell.Plural(result.Keys, "key", "keys"), result.Created.Format(time.RFC3339), db, result.Seconds,
		shell.Plural(checked.Users, "user", "users"), shell.Plural(checked.Posts, "post", "posts"),
		checked.Repaired, shell.Plural(checked.Remaining, "problem", "problems"))
	if err == nil && checked.Remaining > 0 {
		return shell.Hint(errors.New("some problems need a decision"), "List them with: retwis check")
	}
	return err
}

// repair completes interrupted operations and makes the keys consistent. No site uses the database
// yet.
func repair(ctx context.Context, c *shell.Command, db *site.Database) (check.Result, error) {
	if err := db.Adopt(ctx, false, c.Log()); err != nil {
		return check.Result{}, err
	}
	opt := check.Options{Exclusive: true}
	draw, erase := shell.Bar(c.Stderr, "checking")
	if draw != nil {
		opt.Progress = func(p maintain.Progress) { draw(int(min(p.Checked, p.Total)), int(p.Total)) }
	}
	result, err := check.Repair(ctx, db.Social, opt)
	erase()
	return result, err
}

// located is an error prefixed with the name of a database or file.
type located struct {
	name string
	err  error
}

func (l *located) Error() string { return l.name + ": " + shell.OneLine(l.err) }
func (l *located) Unwrap() error { return l.err }

// explain adds a hint to the error of a restore.
func explain(db *site.Database, err error) error {
	wrapped := &located{db.String(), err}
	switch {
	case errors.Is(err, backup.ErrNotEmpty):
		return shell.Hint(wrapped, "Restore into an empty database, such as --redis embedded:DIR, or delete the existing data with --replace.")
	case errors.Is(err, backup.ErrOther):
		return shell.Hint(wrapped, "Repeat that restore with the same file, or delete the existing data with --replace.")
	case errors.Is(err, backup.ErrInUse):
		return shell.Hint(wrapped, "Stop the site first. If it has just been killed, wait half a minute.")
	case errors.Is(err, backup.ErrDamaged):
		return shell.Hint(wrapped, "The database now holds part of the backup, and no site is served on it: restore another file with --replace.")
	case rediserr.Of(err) == rediserr.Denied:
		return shell.Hint(wrapped, "A restore needs the rights of the site, and +flushdb for --replace.")
	case store.IsLoading(err), rediserr.Of(err) == rediserr.Unavailable:
		return shell.Hint(wrapped, "Repeat the restore with the same file.")
	}
	return wrapped
}

// withProgress counts the bytes read from in and draws them as a progress bar.
func withProgress(c *shell.Command, what string, in io.Reader, size int64) (counted io.Reader, erase func()) {
	draw, erase := bar(c.Stderr, what, size)
	if draw == nil {
		return in, erase
	}
	return &counter{in, new(atomic.Int64), draw}, erase
}

type counter struct {
	r    io.Reader
	n    *atomic.Int64
	draw func(int64)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.draw(c.n.Add(int64(n)))
	return n, err
}

// bar returns functions to draw and remove a progress bar of bytes. If to is not a terminal, draw
// is nil. size is -1 if unknown.
func bar(to io.Writer, what string, size int64) (draw func(bytes int64), erase func()) {
	if !shell.IsTerminal(to) {
		return nil, func() {}
	}
	b := progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(to), progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(), progressbar.OptionSpinnerType(14),
		progressbar.OptionThrottle(50*time.Millisecond))
	return func(bytes int64) { _ = b.Set64(bytes) }, func() { _ = b.Clear() }
}
