package social

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/store"

	"retwis/internal/watched"
)

// cacheTTL bounds how long a read may be answered from memory when the server's
// invalidation message was lost on the way (a cut cable, say).
const cacheTTL = time.Minute

// database is a client whose reads can be answered from memory.
type database struct {
	client  rueidis.Client
	cluster bool
	link    *watched.Link // whether what is in memory can be trusted
}

// newDatabase returns the database behind a client, which reports changes if it is watched.
func newDatabase(client rueidis.Client, isWatched bool) database {
	probe := func(ctx context.Context) error { return store.ProbeRead(ctx, client) }
	return database{client: client, cluster: client.Mode() == rueidis.ClientModeCluster, link: watched.NewLink(isWatched, probe)}
}

// read answers cmd from memory where that is allowed. No key has a TTL, so the
// client need not ask for it (ToStaticTTL). It would do so in a transaction,
// which a server that is out of memory refuses, and send five commands in place
// of two.
func (d database) read(ctx context.Context, cmd rueidis.Cacheable) rueidis.RedisResult {
	if isFresh(ctx) {
		return d.client.Do(ctx, rueidis.Completed(cmd))
	}
	return d.client.DoCache(ctx, cmd.ToStaticTTL(), cacheTTL)
}

// readMany is read for several commands, in one round trip at most.
func (d database) readMany(ctx context.Context, cmds ...rueidis.Cacheable) []rueidis.RedisResult {
	if isFresh(ctx) {
		plain := make(rueidis.Commands, len(cmds))
		for i, cmd := range cmds {
			plain[i] = rueidis.Completed(cmd)
		}
		return d.client.DoMulti(ctx, plain...)
	}
	return d.readCached(ctx, cmds)
}

// readCached is readMany for reads that may come from memory in any context.
func (d database) readCached(ctx context.Context, cmds []rueidis.Cacheable) []rueidis.RedisResult {
	timed := make([]rueidis.CacheableTTL, len(cmds))
	for i, cmd := range cmds {
		timed[i] = rueidis.CT(cmd.ToStaticTTL(), cacheTTL)
	}
	return d.client.DoMultiCache(ctx, timed...)
}

// nextID increments a counter of ids.
func (d database) nextID(ctx context.Context, counter string) (int64, error) {
	return d.client.Do(ctx, d.client.B().Incr().Key(counter).Build().ToRetryable()).AsInt64()
}
