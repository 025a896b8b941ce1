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

// read answers cmd from memory where that is allowed.
func (s *Service) read(ctx context.Context, cmd rueidis.Cacheable) rueidis.RedisResult {
	if isFresh(ctx) {
		return s.client.Do(ctx, rueidis.Completed(cmd))
	}
	return s.client.DoCache(ctx, cmd, cacheTTL)
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
		timed[i] = rueidis.CT(cmd, cacheTTL)
	}
	return s.client.DoMultiCache(ctx, timed...)
}
