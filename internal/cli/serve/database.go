package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/rediserr"
	"retwis/internal/social"
	"retwis/internal/store"
)

// database is an open database, and Retwis on it.
type database struct {
	*store.Store
	social *social.Service
}

// open opens the database of a command.
func open(cmd *cobra.Command, env shell.Env, url string, fsync string, log *slog.Logger) (*database, error) {
	// A command that was stopped by now tells that, not what a database answers
	// in the same moment.
	if err := cmd.Context().Err(); err != nil {
		return nil, err
	}
	db, err := store.Open(cmd.Context(), url, store.Options{Logger: log, Getenv: env.Getenv, Fsync: fsync})
	if err != nil {
		return nil, err
	}
	server := db.ClientOption()
	service, err := social.New(db.Client(), social.Options{Logger: log, Server: &server})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &database{Store: db, social: service}, nil
}

const (
	// startPatience is how long a site that starts waits for its database, which
	// may be starting too.
	startPatience = 10 * time.Second
	// startPause is the pause between two tries.
	startPause = 500 * time.Millisecond
)

// openPatiently is open for a site that starts, perhaps together with its
// database.
func openPatiently(cmd *cobra.Command, env shell.Env, url, fsync string, log *slog.Logger) (*database, error) {
	began, reported := time.Now(), false
	for {
		db, err := open(cmd, env, url, fsync, log)
		late := time.Since(began) > startPatience && !store.IsLoading(err)
		if err == nil || rediserr.Of(err) != rediserr.Unavailable || late {
			return db, err
		}
		if !reported {
			reported = true
			log.Warn("cannot reach the database; trying again", "error", shell.OneLine(err), "for", startPatience.String())
		}
		select {
		case <-time.After(startPause):
		case <-cmd.Context().Done():
			return nil, errors.Join(err, cmd.Context().Err())
		}
	}
}

// warn logs what a database can be reached with and still does not suit a site.
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

// Close ends what goes on in the background, then the database.
func (d *database) Close() error {
	return errors.Join(d.social.Close(), d.Store.Close())
}
