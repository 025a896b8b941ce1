// Package site opens the database of the site for the commands that serve, maintain and operate the
// site. The package also implements the retwis site commands, which show and change the settings.
package site

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"retwis/internal/cli/shell"
	"retwis/internal/files"
	"retwis/internal/mail"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/store"

	"retwis/internal/app"
	"retwis/internal/social/adopt"
	"retwis/internal/social/backup"
	"retwis/internal/social/import2009"
	"retwis/internal/social/storage"
)

// Database is an open database and the Retwis application on it.
type Database struct {
	*store.Store
	Social *app.App
	Media  files.Store  // nil for none
	Mail   *mail.Server // nil for none
}

// Open opens the database of a command, and the application on that database with appOpt.
func Open(ctx context.Context, c *shell.Command, opt store.Options, appOpt app.Options) (*Database, error) {
	// An interrupted command reports the interruption, not an error of the database.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	opt = shell.Configure(c, opt)
	media, err := openMedia(c)
	if err != nil {
		return nil, err
	}
	if c.Flags().Lookup("media-quota") != nil && c.Quota < 1 {
		return nil, shell.Usage(errors.New("--media-quota: use at least one byte, or --media none for a site without pictures"))
	}
	sender, err := openMail(c)
	if err != nil {
		return nil, err
	}
	db, err := c.OpenStore(ctx, opt)
	if err != nil {
		return nil, err
	}
	server := db.ClientOption()
	appOpt.Logger, appOpt.Server, appOpt.Invalidations, appOpt.Media = opt.Logger, &server, db.Invalidations(), media
	appOpt.Mail, appOpt.MediaQuota = sender, int64(c.Quota)
	if key := c.Getenv("RETWIS_SECRET_KEY"); key != "" {
		appOpt.SecretKey = []byte(key)
	}
	service, err := app.New(db.Client(), appOpt)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Database{Store: db, Social: service, Media: media, Mail: sender}, nil
}

// With opens the database of a site and calls do. Only warnings and errors are logged. For a
// database without a site With returns an error, unless the command fills databases: otherwise a
// command could succeed on the wrong database.
func With(ctx context.Context, c *shell.Command, do func(db *Database) error) error {
	return withOptions(ctx, c, app.Options{}, do)
}

// Look is like With for a command that leaves jobs in the queues, and unused pictures, to the
// processes of the site.
func Look(ctx context.Context, c *shell.Command, do func(db *Database) error) error {
	return withOptions(ctx, c, app.Options{NoJobs: true}, do)
}

func withOptions(ctx context.Context, c *shell.Command, appOpt app.Options, do func(db *Database) error) (err error) {
	db, err := Open(ctx, c, store.Options{}, appOpt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if !c.Creates {
		if err := db.Require(ctx); err != nil {
			return err
		}
	}
	return do(db)
}

// Require returns an error if the database holds no site, a site of 2009, or a site that is
// incompletely restored or imported.
func (d *Database) Require(ctx context.Context) error {
	exists, err := adopt.Exists(ctx, d.Client())
	if errors.Is(err, adopt.Err2009) {
		return d.refuse2009(err)
	}
	if err == nil && !exists {
		err = shell.Hint(fmt.Errorf("there is no site in %s", d), "Name the database with --redis or RETWIS_REDIS.")
	}
	if err == nil {
		err = d.refuseRestoring(ctx)
	}
	return err
}

// refuse2009 adds a hint to adopt.Err2009.
func (d *Database) refuse2009(err error) error {
	return shell.Hint(fmt.Errorf("%s: %w", d, err), "Import it into an empty database: retwis import-2009 --from "+d.String()+" --redis URL")
}

// refuseRestoring returns an error if the database holds only part of a backup or of an imported
// database of 2009.
func (d *Database) refuseRestoring(ctx context.Context) error {
	restoring, err := reply.TextOrEmpty(d.Client().Do(ctx, d.Client().B().Get().Key(storage.Restoring).Build()))
	if err != nil || restoring == "" {
		return err
	}
	if source := import2009.Unfinished(restoring); source != "" {
		return shell.Hint(fmt.Errorf("%s: an import into this database was interrupted, so it is incomplete", d), "Complete it with: retwis import-2009 --from "+source+" --redis "+d.String())
	}
	return shell.Hint(fmt.Errorf("%s: %w", d, backup.ErrRestoring), "Repeat the restore with the same file, or restore another file with: retwis restore FILE --replace")
}

// Operate opens the database of a site that may be in use and calls do. Like retwis serve, Operate
// upgrades a database of the original Retwis, and returns an error for a database that only holds
// keys of other programs.
func Operate(ctx context.Context, c *shell.Command, do func(db *Database) error) error {
	return With(ctx, c, func(db *Database) error {
		if err := db.Adopt(ctx, false, c.Log()); err != nil {
			return err
		}
		return do(db)
	})
}

// startPause is the pause between two attempts to open a database.
const startPause = 500 * time.Millisecond

// OpenWaiting opens the database of a site. If the database cannot be reached, OpenWaiting retries
// for up to wait, and longer if the database is loading its data. Opening an embedded server is not
// retried: a missing directory or program would stay missing.
func OpenWaiting(ctx context.Context, c *shell.Command, wait time.Duration, opt store.Options, appOpt app.Options) (*Database, error) {
	if config, err := store.Parse(c.Redis); err == nil && config.Kind == store.Embedded {
		return Open(ctx, c, opt, appOpt)
	}
	start, reported := time.Now(), false
	for {
		db, err := Open(ctx, c, opt, appOpt)
		late := time.Since(start) > wait && !store.IsLoading(err)
		if err == nil || rediserr.Of(err) != rediserr.Unavailable || late {
			return db, err
		}
		if !reported {
			reported = true
			opt.Logger.Warn("cannot reach the database; trying again", "error", shell.OneLine(err), "for", wait.String())
		}
		select {
		case <-time.After(startPause):
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

// Warn logs warnings about what makes a reachable database unsuitable for a site.
func Warn(ctx context.Context, db *store.Store, log *slog.Logger) {
	if err := store.ProbeWrite(ctx, db.Client()); err != nil {
		log.Warn("the database rejects writes; pages are read-only", "error", shell.OneLine(err))
	} else if err := store.ProbeScript(ctx, db.Client()); err != nil {
		log.Warn("the database runs no scripts; nothing can be posted", "error", shell.OneLine(err))
	}
	if policy := store.Evicts(ctx, db.Client()); policy != "" {
		log.Warn("the database deletes keys when it is full; set maxmemory-policy to noeviction", "maxmemory-policy", policy)
	}
	if address := store.NotAppending(ctx, db.Client()); address != "" {
		log.Warn("the database keeps no append-only file: a crash loses all writes after the last snapshot, if there is one; set appendonly to yes in its configuration (\"retwis doctor\" says how)", "server", address)
	}
}

// Adopt upgrades a database of the original Retwis, which may take some time. Adopt returns an
// error for a database of 2009 and, unless share is set, for a database that holds keys of other
// programs.
func (d *Database) Adopt(ctx context.Context, share bool, log *slog.Logger) error {
	if err := d.refuseRestoring(ctx); err != nil {
		return err
	}
	site := adopt.New(d.Client(), log)
	if share {
		if err := site.Share(ctx); err != nil {
			return err
		}
	}
	var reported time.Time
	err := site.Adopt(ctx, func(done, total int64) {
		if now := time.Now(); now.Sub(reported) > time.Second {
			reported = now
			// Each key is counted once per scan, so the number of keys would be misleading.
			log.Info("opening a database of the original Retwis", "done", fmt.Sprintf("%d%%", 100*done/max(total, 1)))
		}
	})
	if errors.Is(err, adopt.Err2009) {
		return d.refuse2009(adopt.Err2009)
	}
	if errors.Is(err, adopt.ErrForeign) {
		return shell.Hint(
			fmt.Errorf("%s: %w", d, err),
			"Use an empty database, such as redis://HOST/1, or let Retwis keep its keys among the others with --share-database.",
		)
	}
	return err
}

// AddShare adds the flag that lets Adopt share a database with other programs.
func AddShare(c *shell.Command, share *bool) {
	c.Flags().BoolVar(share, "share-database", false, "use a database in which other programs keep keys")
}

// Close ends background work, then closes the database.
func (d *Database) Close() error {
	return errors.Join(d.Social.Close(), d.Store.Close())
}
