// Package store opens the database that a URL names.
//
// A person at a laptop wants to start the program and have a database; an
// operator wants to name the one that is there. Open does both: "embedded:"
// runs a real server of its own in a directory, and redis://, rediss://,
// unix://, redis+sentinel:// and redis+cluster:// reach one that is running.
// Whatever the URL, what comes back is a client that has been tried.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/redis/rueidis"

	"retwis/internal/redisurl"
)

// Embedded is the kind of a database that this process runs.
const Embedded = redisurl.Embedded

// Parse reads the URL of a database; see package redisurl.
func Parse(rawURL string) (redisurl.Config, error) {
	config, err := redisurl.Parse(rawURL)
	if err != nil {
		return config, fmt.Errorf("store: %w", err)
	}
	return config, nil
}

// Options are the settings of Open. The zero value is a good default.
type Options struct {
	// Logger is told what happens to an embedded server. Default:
	// slog.Default().
	Logger *slog.Logger
	// Getenv reads HOME, XDG_DATA_HOME and RETWIS_REDIS_SERVER. Default:
	// os.Getenv.
	Getenv func(string) string
	// Fsync is when an embedded server forces its writes to the disk:
	// "everysec" (the default: a power cut or a crash loses a second at most)
	// or "always" (nothing that was acknowledged).
	Fsync string
}

func (o *Options) prepare() error {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	switch o.Fsync {
	case "":
		o.Fsync = "everysec"
	case "everysec", "always":
	default:
		return fmt.Errorf(`store: Options.Fsync: %q is neither "everysec" nor "always"`, o.Fsync)
	}
	return nil
}

// Store is an open database.
type Store struct {
	client   rueidis.Client
	option   rueidis.ClientOption
	where    string
	embedded *embedded // nil for a database of somebody else's
}

// Open opens the database that a URL names (see Parse) and makes sure that it
// answers and is new enough. A server that cannot be reached is an error
// within five seconds.
func Open(ctx context.Context, rawURL string, opt Options) (*Store, error) {
	if err := opt.prepare(); err != nil {
		return nil, err
	}
	config, err := Parse(rawURL)
	if err != nil {
		return nil, err
	}
	if config.Kind == Embedded {
		return openEmbedded(ctx, config, opt)
	}
	client, option, err := dial(ctx, config)
	if err != nil {
		return nil, err
	}
	return &Store{client: client, option: option, where: config.String()}, nil
}

// Client is the client of the database. It keeps one connection to each
// server, so that the reply to a command is always read after the server's
// word on which keys earlier commands have changed.
func (s *Store) Client() rueidis.Client { return s.client }

// ClientOption describes the database for those who make connections of their own.
func (s *Store) ClientOption() rueidis.ClientOption { return s.option }

// String says where the data is, without secrets.
func (s *Store) String() string { return s.where }

// Close closes the client, and stops an embedded server with its data saved.
func (s *Store) Close() error {
	s.client.Close()
	if s.embedded == nil {
		return nil
	}
	return s.embedded.close()
}
