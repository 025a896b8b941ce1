package storage

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/store"
	"retwis/internal/social"

	"retwis/internal/watched"
)

// CacheTTL limits the age of a read that is answered from memory after an invalidation message was
// lost, for example because of a cut cable.
const CacheTTL = time.Minute

// Database is a client whose reads can be answered from its cache.
type Database struct {
	Client  rueidis.Client
	Cluster bool
	Link    *watched.Link // whether the cache can be trusted
}

// Parts are the dependencies of almost every part of the application. All are required.
type Parts struct {
	DB  Database
	Log *slog.Logger
	Now func() time.Time
}

// NewDatabase returns the database of a client. isWatched must be set if the server reports changes
// to the client.
func NewDatabase(client rueidis.Client, isWatched bool) Database {
	probe := func(ctx context.Context) error { return store.ProbeRead(ctx, client) }
	return Database{Client: client, Cluster: client.Mode() == rueidis.ClientModeCluster, Link: watched.NewLink(isWatched, probe)}
}

// Changed records that a key has changed, or that any key may have changed if key is empty. It does
// not block.
func (d Database) Changed(key string) {
	prefix, id, ok := ParseKey(key)
	switch {
	case key == "":
		d.Link.Lost()
	case ok:
		d.Link.Changed(prefix, id)
	default:
		d.Link.Changed(key, 0)
	}
}

// NewMap returns a map of values that are read from the database. opt.Link and opt.WithFresh must
// be unset; IsFresh defaults to social.IsFresh.
func NewMap[V any](db Database, opt watched.Options[V]) (*watched.Map[V], error) {
	opt.Link, opt.WithFresh = db.Link, func(ctx context.Context) context.Context { return social.WithFresh(ctx) }
	if opt.IsFresh == nil {
		opt.IsFresh = func(ctx context.Context, _ int64) bool { return social.IsFresh(ctx) }
	}
	return watched.NewMap(opt)
}

// Read answers cmd from the cache unless ctx asks for a fresh read. ToStaticTTL tells the client
// not to read the TTL of the key: that needs a transaction, which a server that is out of memory
// refuses, and five commands instead of two.
func (d Database) Read(ctx context.Context, cmd rueidis.Cacheable) rueidis.RedisResult {
	if social.IsFresh(ctx) {
		return d.Client.Do(ctx, rueidis.Completed(cmd))
	}
	return d.Client.DoCache(ctx, cmd.ToStaticTTL(), CacheTTL)
}

// ReadMany is like Read, for several commands in at most one round trip.
func (d Database) ReadMany(ctx context.Context, cmds ...rueidis.Cacheable) []rueidis.RedisResult {
	if social.IsFresh(ctx) {
		plain := make(rueidis.Commands, len(cmds))
		for i, cmd := range cmds {
			plain[i] = rueidis.Completed(cmd)
		}
		return d.Client.DoMulti(ctx, plain...)
	}
	return d.ReadCached(ctx, cmds)
}

// ReadCached is like ReadMany, for reads that may be answered from the cache in any context.
func (d Database) ReadCached(ctx context.Context, cmds []rueidis.Cacheable) []rueidis.RedisResult {
	timed := make([]rueidis.CacheableTTL, len(cmds))
	for i, cmd := range cmds {
		timed[i] = rueidis.CT(cmd.ToStaticTTL(), CacheTTL)
	}
	return d.Client.DoMultiCache(ctx, timed...)
}

// NextID increments an ID counter.
func (d Database) NextID(ctx context.Context, counter string) (int64, error) {
	return d.Client.Do(ctx, d.Client.B().Incr().Key(counter).Build().ToRetryable()).AsInt64()
}
