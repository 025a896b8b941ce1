// Package store opens the database that a URL names.
//
// A developer on a laptop wants to start the program and have a database; an operator
// wants to name an existing one. Open supports both: "embedded:" runs a real server in
// a directory, and redis://, rediss://, unix://, redis+sentinel:// and redis+cluster://
// connect to a running one. In either case it returns a client that has been tested.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/redis/rueidis"

	"retwis/internal/redis/redisurl"
)

// Embedded is the kind of a database that this process runs.
const Embedded = redisurl.Embedded

// Parse parses the URL of a database; see package redisurl.
func Parse(rawURL string) (redisurl.Config, error) {
	config, err := redisurl.Parse(rawURL)
	if err != nil {
		return config, fmt.Errorf("store: %w", err)
	}
	return config, nil
}

// Options are the settings of Open. The zero value is a good default.
type Options struct {
	// Logger receives the events of an embedded server. Default: slog.Default().
	Logger *slog.Logger
	// Getenv reads HOME, XDG_DATA_HOME and RETWIS_REDIS_SERVER. Default:
	// os.Getenv.
	Getenv func(string) string
	// Create makes an embedded database where there is none. Without it Open returns
	// ErrNoDatabase: a mistyped directory must not look like an empty database.
	Create bool
	// Fsync is when an embedded server forces its writes to the disk:
	// "everysec" (the default: a power cut or a crash loses a second at most)
	// or "always" (nothing that was acknowledged).
	Fsync string
	// MaxMemory is how many bytes of memory an embedded server may use before it
	// refuses writes. Default: DefaultMaxMemory. NoMemoryLimit: no limit.
	MaxMemory int64
	// CacheBytes is how much memory the client-side cache may take, for all servers
	// together: on a Cluster each connection to a master gets its part. Default:
	// DefaultCacheBytes.
	CacheBytes int64
	// Wrap returns the client to use in place of a new one, to measure it for example.
	Wrap func(rueidis.Client) rueidis.Client
	// Connected is called after each connection of the client was opened.
	Connected func()
}

// wrap returns the client of a Store.
func (o *Options) wrap(client rueidis.Client) rueidis.Client {
	if o.Wrap == nil {
		return client
	}
	return o.Wrap(client)
}

// DefaultCacheBytes is the default of Options.CacheBytes.
const DefaultCacheBytes = 128 << 20

// leastCache is the smallest part of the cache that a connection gets: with less it
// would forget a page before the next one is shown.
const leastCache = 1 << 20

func (o *Options) prepare() error {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.MaxMemory < NoMemoryLimit {
		return fmt.Errorf("store: Options.MaxMemory: %d is negative", o.MaxMemory)
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.CacheBytes < leastCache {
		return fmt.Errorf("store: Options.CacheBytes: %d is less than %d", o.CacheBytes, leastCache)
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
	embedded *embedded // nil for a database that another process runs
	changes  *Invalidations
}

// Open opens the database of a URL (see Parse) and checks that it answers and is new
// enough. It fails within five seconds if the server cannot be reached.
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
	changes := new(Invalidations)
	client, option, err := dial(ctx, config, changes, opt)
	if err != nil {
		return nil, err
	}
	return &Store{client: opt.wrap(client), option: option, where: config.String(), changes: changes}, nil
}

// Client returns the client of the database. It keeps one connection to each server,
// so that the reply to a command is always read after the invalidations of the keys
// that earlier commands have changed.
func (s *Store) Client() rueidis.Client { return s.client }

// ClientOption returns the options for further connections to the database.
func (s *Store) ClientOption() rueidis.ClientOption { return s.option }

// Invalidations reports which of the keys that the client has cached have changed.
func (s *Store) Invalidations() *Invalidations { return s.changes }

// String returns where the data is, without secrets.
func (s *Store) String() string { return s.where }

// Joined reports whether another process ran the embedded server when this one opened it:
// a site, or another command.
func (s *Store) Joined() bool { return s.embedded != nil && s.embedded.joined }

// Embedded reports whether retwis runs the server itself.
func (s *Store) Embedded() bool { return s.embedded != nil }

// Close closes the client. It stops an embedded server after its data is saved.
func (s *Store) Close() error {
	s.client.Close()
	if s.embedded == nil {
		return nil
	}
	return s.embedded.close()
}
