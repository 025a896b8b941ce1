package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"retwis/ratelimit"
)

const (
	limitCallers = 64
	limitKeys    = 1000
	limitTakes   = 100_000 // a round
)

// limitSide is one way to decide about an event.
type limitSide struct {
	name string
	take func(ctx context.Context, key string) (allowed bool, err error)
	rate []float64 // decisions a second, by round
	cost []float64 // seconds of the server for a decision, by round
}

// measureRateLimit compares package ratelimit with redis_rate.
func measureRateLimit(ctx context.Context, dir string, opt options) (text string, err error) {
	err = onServer(ctx, dir, "ratelimit", func(client rueidis.Client) error {
		limiter, err := ratelimit.New(client, ratelimit.Options{Timeout: time.Minute})
		if err != nil {
			return err
		}
		other := redis.NewClient(&redis.Options{Network: "unix", Addr: filepath.Join(dir, "ratelimit", "redis.sock")})
		defer other.Close()
		theirs := redis_rate.NewLimiter(other)
		perMinute := ratelimit.Limit{Rate: 600, Per: time.Minute, Burst: 100}
		sides := []*limitSide{
			{name: "`ratelimit`", take: func(ctx context.Context, key string) (bool, error) {
				r, err := limiter.Take(ctx, key, perMinute)
				return r.Allowed, err
			}},
			{name: "`redis_rate`", take: func(ctx context.Context, key string) (bool, error) {
				r, err := theirs.Allow(ctx, key, redis_rate.Limit{Rate: 600, Period: time.Minute, Burst: 100})
				if err != nil {
					return false, err
				}
				return r.Allowed > 0, nil
			}},
		}
		for range opt.rounds {
			for _, side := range sides {
				if err := side.round(ctx, client); err != nil {
					return fmt.Errorf("%s: %w", side.name, err)
				}
			}
		}
		text = limitReport(opt, sides)
		return nil
	})
	return text, err
}

// round decides about events of random keys, from many callers at once.
func (s *limitSide) round(ctx context.Context, client rueidis.Client) error {
	before, err := serverSeconds(ctx, client)
	if err != nil {
		return err
	}
	var failed atomic.Pointer[error]
	var callers sync.WaitGroup
	began := time.Now()
	for caller := range limitCallers {
		callers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(caller), 7))
			for range limitTakes / limitCallers {
				if _, err := s.take(ctx, "user:"+strconv.Itoa(random.IntN(limitKeys))); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	callers.Wait()
	took := time.Since(began).Seconds()
	if err := failed.Load(); err != nil {
		return *err
	}
	after, err := serverSeconds(ctx, client)
	if err != nil {
		return err
	}
	s.rate = append(s.rate, limitTakes/took)
	s.cost = append(s.cost, (after-before)/limitTakes)
	return nil
}

func limitReport(opt options, sides []*limitSide) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## Rate limits

%d callers ask about events of %s keys, on one server: package `+"`ratelimit` beside `go-redis/redis_rate`"+`.
Medians of %d rounds of %s decisions for each side, in turn.

| | decisions/s | time of the server each |
| --- | ---: | ---: |
`, limitCallers, thousands(limitKeys), opt.rounds, thousands(limitTakes))
	var rates []float64
	for _, side := range sides {
		slices.Sort(side.rate)
		slices.Sort(side.cost)
		rate, cost := side.rate[len(side.rate)/2], side.cost[len(side.cost)/2]
		rates = append(rates, rate)
		fmt.Fprintf(&b, "| %s | %s | %.1f µs |\n", side.name, thousands(int(rate)), cost*1e6)
	}
	fmt.Fprintf(&b, "\nRatio of the decisions: **%.2f**.\n", rates[0]/rates[1])
	return b.String()
}
