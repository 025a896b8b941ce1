// Package store opens the database that a URL names.
//
// [Open] runs a real server in a directory for "embedded:", which needs no setup, or connects to a
// running server for redis://, rediss://, unix://, redis+sentinel:// and redis+cluster://. In both
// cases Open checks that the server is usable before it returns a client.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/redis/rueidis"

	"retwis/internal/redis/redisurl"
)

// Embedded is the kind of database that this process runs.
const Embedded = redisurl.Embedded

// Parse parses the URL of a database; see package redisurl.
func Parse(rawURL string) (redisurl.Config, error) {
	config, err := redisurl.Parse(rawURL)
	if err != nil {
		return config, fmt.Errorf("store: %w", err)
	}
	return config, nil
}

// Options configure Open. The zero value is a good default.
type Options struct {
	// Logger receives the events of an embedded server. Default: slog.Default().
	Logger *slog.Logger
	// Getenv reads HOME, XDG_DATA_HOME and RETWIS_REDIS_SERVER. Default:
	// os.Getenv.
	Getenv func(string) string
	// Create creates a missing embedded database. Otherwise Open returns ErrNoDatabase: a
	// mistyped directory must not look like an empty database.
	Create bool
	// Fsync is when an embedded server forces its writes to disk: "everysec" (the default: a
	// power failure or a crash loses at most a second) or "always" (nothing that was acknowledged
	// is lost).
	Fsync string
	// MaxMemory is how many bytes an embedded server may use before it refuses writes. Default:
	// DefaultMaxMemory. NoMemoryLimit: no limit.
	MaxMemory int64
	// CacheBytes is how much memory the client-side cache may use, for all servers together: on a
	// Cluster each connection to a master gets a share. Default: DefaultCacheBytes.
	CacheBytes int64
	// Wrap, if set, returns the client to use in place of a new client, for example to measure the
	// commands.
	Wrap func(rueidis.Client) rueidis.Client
	// Connected, if set, is called after each connection that the client opens.
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

// minCache is the minimum share of the cache per connection: a smaller cache would evict the keys of
// a page before the next page is shown.
const minCache = 1 << 20

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
	if o.CacheBytes < minCache {
		return fmt.Errorf("store: Options.CacheBytes: %d is less than %d", o.CacheBytes, minCache)
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
	embedded *embedded // nil unless the database is embedded
	changes  *Invalidations
}

// Open opens the database of a URL (see Parse) and checks that the server answers and is new enough.
// It fails within five seconds if the server cannot be reached.
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

// Client returns the client of the database. It keeps one connection to each server, so that the
// reply to a command is always read after the invalidations of the keys that earlier commands
// have changed.
func (s *Store) Client() rueidis.Client { return s.client }

// ClientOption returns the options for further connections to the database.
func (s *Store) ClientOption() rueidis.ClientOption { return s.option }

// Invalidations reports which of the keys that the client has cached have changed.
func (s *Store) Invalidations() *Invalidations { return s.changes }

// String returns the location of the data, without secrets.
func (s *Store) String() string { return s.where }

// Joined reports whether another process, a site or another command, was running the embedded server
// when this process opened the database.
func (s *Store) Joined() bool { return s.embedded != nil && s.embedded.joined }

// Embedded reports whether the database is embedded, so that this or another process of retwis runs
// the server.
func (s *Store) Embedded() bool { return s.embedded != nil }

// Close closes the client. If this process runs an embedded server, Close also makes the server save
// its data and exit.
func (s *Store) Close() error {
	s.client.Close()
	if s.embedded == nil {
		return nil
	}
	return s.embedded.close()
}
