// Package ratelimit compares the package of that name with redis_rate.
package ratelimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/ratelimit"
)

const (
	callers = 64
	keys    = 1000
	takes   = 100_000 // a round
)

// side is one way to decide about an event.
type side struct {
	name string
	take func(ctx context.Context, key string) error
}

// costs are those of a round.
type costs struct{ rate, server float64 }

// RateLimits measures decisions.
func RateLimits(ctx context.Context, opt measure.Options) (text string, err error) {
	err = measure.OnServer(ctx, opt.Dir, func(client rueidis.Client, socket string) error {
		limiter, err := ratelimit.New(client, ratelimit.Options{Timeout: time.Minute})
		if err != nil {
			return err
		}
		other := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
		defer other.Close()
		theirs := redis_rate.NewLimiter(other)
		limit := ratelimit.Limit{Rate: 600, Per: time.Minute, Burst: 100}
		sides := []side{
			{"`ratelimit`", func(ctx context.Context, key string) error {
				_, err := limiter.Take(ctx, key, limit)
				return err
			}},
			{"`redis_rate`", func(ctx context.Context, key string) error {
				_, err := theirs.Allow(ctx, key, redis_rate.Limit{Rate: limit.Rate, Period: limit.Per, Burst: limit.Burst})
				return err
			}},
		}
		rounds, err := measure.InTurn(opt.Rounds, sides, func(s side, _ int) (c costs, err error) {
			c.server, err = measure.ServerTime(ctx, client, takes)(func() error {
				c.rate, err = measure.Rate(takes)(func() error { return s.decide(ctx) })
				return err
			})
			return c, err
		})
		if err == nil {
			text = report(opt, sides, rounds)
		}
		return err
	})
	return text, err
}

// decide decides about events of random keys, from many callers at once.
func (s side) decide(ctx context.Context) error {
	return measure.Concurrently(callers, takes, func(int) error {
		return s.take(ctx, "user:"+strconv.Itoa(rand.IntN(keys)))
	})
}

func report(opt measure.Options, sides []side, rounds [][]costs) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## Rate limits

%d callers ask about events of %s keys, on one server: package `+"`ratelimit` beside `go-redis/redis_rate`"+`.
Medians of %d rounds of %s decisions for each side, in turn.

`, callers, measure.Thousands(keys), opt.Rounds, measure.Thousands(takes))
	measure.Head(&b, "", "decisions/s", "time of the server each")
	rates := make([]float64, len(sides))
	for i, s := range sides {
		rates[i] = measure.Median(measure.Each(rounds[i], func(c costs) float64 { return c.rate }))
		fmt.Fprintf(&b, "| %s | %s | %.1f µs |\n", s.name, measure.Thousands(int(rates[i])),
			measure.Median(measure.Each(rounds[i], func(c costs) float64 { return c.server })))
	}
	fmt.Fprintf(&b, "\nRatio of the decisions: **%.2f**.\n", rates[0]/rates[1])
	return b.String()
}
