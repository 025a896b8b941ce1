package social

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// cacheTTL bounds how long a read may be answered from memory when the
// server's word that it changed was lost on the way (a cut cable, say).
const cacheTTL = time.Minute

type freshKey struct{}

// WithFresh returns a context whose reads are answered by the server and not
// by the client's memory: for a reader who has just written elsewhere.
func WithFresh(ctx context.Context) context.Context {
	return context.WithValue(ctx, freshKey{}, true)
}

func isFresh(ctx context.Context) bool { return ctx.Value(freshKey{}) != nil }

// read answers cmd from memory where that is allowed. No key expires by itself,
// so the client need not ask for how long a reply is good (ToStaticTTL). It
// would do so in a transaction, which a server that is out of memory refuses,
// and send five commands in place of two.
func (s *Service) read(ctx context.Context, cmd rueidis.Cacheable) rueidis.RedisResult {
	if isFresh(ctx) {
		return s.client.Do(ctx, rueidis.Completed(cmd))
	}
	return s.client.DoCache(ctx, cmd.ToStaticTTL(), cacheTTL)
}

// readMany is read for several commands, in one round trip at most.
func (s *Service) readMany(ctx context.Context, cmds ...rueidis.Cacheable) []rueidis.RedisResult {
	if isFresh(ctx) {
		plain := make(rueidis.Commands, len(cmds))
		for i, cmd := range cmds {
			plain[i] = rueidis.Completed(cmd)
		}
		return s.client.DoMulti(ctx, plain...)
	}
	timed := make([]rueidis.CacheableTTL, len(cmds))
	for i, cmd := range cmds {
		timed[i] = rueidis.CT(cmd.ToStaticTTL(), cacheTTL)
	}
	return s.client.DoMultiCache(ctx, timed...)
}
