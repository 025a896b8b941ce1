package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"retwis/internal/cli/shell"
	"retwis/internal/rediserr"
	"retwis/internal/social"
	"retwis/internal/social/adopt"
	"retwis/internal/store"
)

// database is an open database, and Retwis on it.
type database struct {
	*store.Store
	social *social.Service
}

// open opens the database of a command.
func open(ctx context.Context, c *shell.Command, opt store.Options) (*database, error) {
	// A command that was stopped reports that, not what a database answers in the
	// same moment.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	opt.Getenv = c.Getenv
	db, err := store.Open(ctx, c.Redis, opt)
	if err != nil {
		return nil, err
	}
	server := db.ClientOption()
	service, err := social.New(db.Client(), social.Options{Logger: opt.Logger, Server: &server, Invalidations: db.Invalidations()})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &database{Store: db, social: service}, nil
}

// withDatabase opens the database for as long as do runs. It logs warnings only.
func withDatabase(ctx context.Context, c *shell.Command, do func(db *database) error) (err error) {
	db, err := open(ctx, c, store.Options{Logger: c.Log()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db)
}

const (
	// startTimeout is how long a site waits for its database when it starts.
	startTimeout = 10 * time.Second
	// startPause is the pause between two attempts.
	startPause = 500 * time.Millisecond
)

// openWaiting opens the database of a site that may start together with it. It does not
// wait for a server that it starts itself: a directory or program that is missing then
// stays missing.
func openWaiting(ctx context.Context, c *shell.Command, opt store.Options) (*database, error) {
	if config, err := store.Parse(c.Redis); err == nil && config.Kind == store.Embedded {
		return open(ctx, c, opt)
	}
	start, reported := time.Now(), false
	for {
		db, err := open(ctx, c, opt)
		late := time.Since(start) > startTimeout && !store.IsLoading(err)
		if err == nil || rediserr.Of(err) != rediserr.Unavailable || late {
			return db, err
		}
		if !reported {
			reported = true
			opt.Logger.Warn("cannot reach the database; trying again", "error", shell.OneLine(err), "for", startTimeout.String())
		}
		select {
		case <-time.After(startPause):
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

// warn logs what makes a database unsuitable for a site, although it can be reached.
func warn(ctx context.Context, db *store.Store, log *slog.Logger) {
	if err := store.ProbeWrite(ctx, db.Client()); err != nil {
		log.Warn("the database takes no writes; pages can be read only", "error", shell.OneLine(err))
	} else if err := store.ProbeScript(ctx, db.Client()); err != nil {
		log.Warn("the database runs no scripts; nothing can be posted", "error", shell.OneLine(err))
	}
	if policy := store.Evicts(ctx, db.Client()); policy != "" {
		log.Warn("the database deletes keys when it is full; set maxmemory-policy to noeviction", "maxmemory-policy", policy)
	}
}

// adopt converts a database that another version of Retwis wrote, which may take some
// time, and refuses one that holds keys of other programs.
func (d *database) adopt(ctx context.Context, share bool, log *slog.Logger) error {
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
			// It counts each key once for every scan, so a number of keys would mislead.
			log.Info("converting a database of the original Retwis", "done", fmt.Sprintf("%d%%", 100*done/max(total, 1)))
		}
	})
	if errors.Is(err, adopt.ErrForeign) {
		return shell.Hint(
			fmt.Errorf("%s: %w", d, err),
			"Use an empty database, such as redis://HOST/1, or let Retwis keep its keys among the others with --share-database.",
		)
	}
	return err
}

func addShare(c *shell.Command, share *bool) {
	c.Flags().BoolVar(share, "share-database", false, "use a database in which other programs keep keys")
}

// Close ends the work in the background, then closes the database.
func (d *database) Close() error {
	return errors.Join(d.social.Close(), d.Store.Close())
}
