package social

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/rediserr"
)

// cacheTTL bounds how long a read may be answered from memory when the server's
// invalidation message was lost on the way (a cut cable, say).
const cacheTTL = time.Minute

type freshKey struct{}

// WithFresh returns a context whose reads bypass the client's memory: for a
// reader who has just written through another process. Posts are read from memory
// all the same, except for these: those that the reader has changed.
func WithFresh(ctx context.Context, posts ...int64) context.Context {
	return context.WithValue(ctx, freshKey{}, posts)
}

func isFresh(ctx context.Context) bool { return ctx.Value(freshKey{}) != nil }

func isFreshPost(ctx context.Context, id int64) bool {
	posts, _ := ctx.Value(freshKey{}).([]int64)
	return slices.Contains(posts, id)
}

// database is a client whose reads can be answered from memory.
type database struct {
	client  rueidis.Client
	cluster bool
	away    *atomic.Int64 // until when a part of it counts as away, in unix nanoseconds
}

// A part of a Cluster can be away, for some seconds in a failover. What this process has
// in memory is then used although it may have changed, for as long as it would be if the
// report of a change were lost (maxDecoded). A page does not wait for each part of it:
// after a read that failed, nothing is read again for a moment where there is something
// in memory.
const (
	awayPatience = 250 * time.Millisecond
	awayFor      = 500 * time.Millisecond
)

// patient returns a context for a read that is not needed if has: there is something in
// memory.
func (d database) patient(ctx context.Context, has bool) (context.Context, context.CancelFunc) {
	if !has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, awayPatience)
}

// isAway reports whether a read that is not needed would probably fail.
func (d database) isAway() bool { return d.away != nil && time.Now().UnixNano() < d.away.Load() }

// failed reports whether a read failed because a part of the database is away.
func (d database) failed(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || rediserr.Of(err) != rediserr.Unavailable {
		return false
	}
	if d.away != nil {
		d.away.Store(time.Now().Add(awayFor).UnixNano())
	}
	return true
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
