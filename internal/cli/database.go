package cli

import (
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"retwis/internal/social"
	"retwis/internal/store"
)

// redisFlag is the flag with which every command names its database.
func redisFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("redis", "embedded:",
		"the `URL` of the database: embedded:[DIR], redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
}

// database is an open database, and Retwis on it.
type database struct {
	*store.Store
	social *social.Service
}

// open opens the database of a command.
func open(cmd *cobra.Command, env Env, url string, fsync string, log *slog.Logger) (*database, error) {
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

// Close ends what goes on in the background, then the database.
func (d *database) Close() error {
	return errors.Join(d.social.Close(), d.Store.Close())
}
