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

// CacheTTL bounds how long a read may be answered from memory when the server's
// invalidation message was lost on the way (a cut cable, say).
const CacheTTL = time.Minute

// Database is a client whose reads can be answered from memory.
type Database struct {
	Client  rueidis.Client
	Cluster bool
	Link    *watched.Link // whether what is in memory can be trusted
}

// Parts are what nearly all of the application needs. All are required.
type Parts struct {
	DB  Database
	Log *slog.Logger
	Now func() time.Time
}

// NewDatabase returns the database behind a client, which reports changes if it is watched.
func NewDatabase(client rueidis.Client, isWatched bool) Database {
	probe := func(ctx context.Context) error { return store.ProbeRead(ctx, client) }
	return Database{Client: client, Cluster: client.Mode() == rueidis.ClientModeCluster, Link: watched.NewLink(isWatched, probe)}
}

// Changed notes that a key has changed; any key may have if it is empty. It does not wait.
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

// NewMap returns a map of values that are read from the database; opt has neither a Link nor what
// makes a context fresh. IsFresh defaults to social.IsFresh.
func NewMap[V any](db Database, opt watched.Options[V]) (*watched.Map[V], error) {
	opt.Link, opt.WithFresh = db.Link, func(ctx context.Context) context.Context { return social.WithFresh(ctx) }
	if opt.IsFresh == nil {
		opt.IsFresh = func(ctx context.Context, _ int64) bool { return social.IsFresh(ctx) }
	}
	return watched.NewMap(opt)
}

// Read answers cmd from memory where that is allowed. No key has a TTL, so the
// client need not ask for it (ToStaticTTL). It would do so in a transaction,
// which a server that is out of memory refuses, and send five commands in place
// of two.
func (d Database) Read(ctx context.Context, cmd rueidis.Cacheable) rueidis.RedisResult {
	if social.IsFresh(ctx) {
		return d.Client.Do(ctx, rueidis.Completed(cmd))
	}
	return d.Client.DoCache(ctx, cmd.ToStaticTTL(), CacheTTL)
}

// ReadMany is read for several commands, in one round trip at most.
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

// ReadCached is readMany for reads that may come from memory in any context.
func (d Database) ReadCached(ctx context.Context, cmds []rueidis.Cacheable) []rueidis.RedisResult {
	timed := make([]rueidis.CacheableTTL, len(cmds))
	for i, cmd := range cmds {
		timed[i] = rueidis.CT(cmd.ToStaticTTL(), CacheTTL)
	}
	return d.Client.DoMultiCache(ctx, timed...)
}

// NextID increments a counter of ids.
func (d Database) NextID(ctx context.Context, counter string) (int64, error) {
	return d.Client.Do(ctx, d.Client.B().Incr().Key(counter).Build().ToRetryable()).AsInt64()
}
