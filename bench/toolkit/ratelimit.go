package toolkit

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"retwis/bench/measure"
	"retwis/ratelimit"
)

// RateLimits compares package ratelimit with redis_rate.
func RateLimits(ctx context.Context, opt measure.Options) (string, error) {
	const callers, keys, takes = 64, 1000, 100_000
	return measure.OnServer(ctx, opt.Dir, func(text io.Writer, server *measure.Server) error {
		client := server.Client
		limiter, err := ratelimit.New(client, ratelimit.Options{Timeout: time.Minute})
		if err != nil {
			return err
		}
		goRedis := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket()})
		defer goRedis.Close()
		redisRate := redis_rate.NewLimiter(goRedis)
		limit := ratelimit.Limit{Rate: 600, Per: time.Minute, Burst: 100}
		decide := func(take func(key string) error) func() ([]float64, error) {
			run := func() error {
				return measure.Concurrently(callers, takes, func(int) error { return take("user:" + strconv.Itoa(rand.IntN(keys))) })
			}
			return measure.PerSecond(measure.PerOp(takes, run, measure.Clock, measure.ServerCPU(ctx, client)))
		}
		fmt.Fprintf(text, `## Rate limits

%d callers check the limits of %s keys on one server, with package `+"`ratelimit` and with `go-redis/redis_rate`"+`.
Medians of %d rounds of %s decisions per side.

`, callers, measure.Thousands(keys), opt.Rounds, measure.Thousands(takes))
		return measure.Table{
			Rounds: opt.Rounds, Head: []string{"", "decisions/s", "ratio", "server CPU per decision"}, Formats: []string{"", "%.1f µs"},
			Sides: []measure.Side{
				{Name: "`ratelimit`", Base: 1, Measure: decide(func(key string) error {
					_, err := limiter.Take(ctx, key, limit)
					return err
				})},
				{Name: "`redis_rate`", Base: 1, Measure: decide(func(key string) error {
					_, err := redisRate.Allow(ctx, key, redis_rate.Limit{Rate: limit.Rate, Period: limit.Per, Burst: limit.Burst})
					return err
				})},
			},
		}.Write(text)
	})
}
