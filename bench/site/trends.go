package site

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/internal/app"
	"retwis/internal/social"
	"retwis/internal/social/trends"
)

const (
	trendPeople = 20_000
	trendTags   = 5_000
	trendPosts  = 20_000 // a round of what is counted
)

// trendCount is a way in which people are counted.
type trendCount struct {
	name  string
	batch int // what a process writes together
	count func(c *trends.Counter, user social.User, tag uint64)
}

func countTag(c *trends.Counter, user social.User, tag uint64) {
	c.Posted(user, fmt.Sprintf("Hello from #topic%d.", tag))
}

var trendCounts = []trendCount{
	{"a post with a tag, written alone", 1, countTag},
	{"a post with a tag, written with 9 others", 10, countTag},
	{"a post with a tag, written with 99 others", 100, countTag},
	{"a post with a tag, written with 999 others", 1000, countTag},
	{"a like, written with 999 others", 1000, func(c *trends.Counter, user social.User, post uint64) {
		c.Reacted(user, social.Post{ID: int64(post) + 1})
	}},
	{"a post with a tag by one and the same account, written alone", 1, func(c *trends.Counter, _ social.User, _ uint64) {
		c.Posted(social.User{ID: 1}, "Hello from #topic1.")
	}},
}

// Trends measures what the server computes to count people for trends, and to merge them.
func Trends(ctx context.Context, opt measure.Options) (text string, err error) {
	err = measure.OnServer(ctx, opt.Dir, func(client rueidis.Client, _ string) error {
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		pick := rand.New(rand.NewPCG(1, 2))
		zipf := rand.NewZipf(pick, 1.1, 20, trendTags-1)
		at := time.Now().Add(-48 * time.Hour)
		counter := trends.NewCounter(client, log, func() time.Time { return at })
		defer counter.Close()
		count := func(of trendCount, n int) error {
			for i := range n {
				of.count(counter, social.User{ID: pick.Int64N(trendPeople) + 1}, zipf.Uint64())
				if (i+1)%of.batch == 0 {
					if err := counter.Flush(ctx); err != nil {
						return err
					}
				}
			}
			return nil
		}
		costs, err := measure.InTurn(opt.Rounds, trendCounts, func(of trendCount, _ int) (float64, error) {
			at = at.Add(time.Hour) // each in an hour that has counted nobody yet
			return measure.ServerTime(ctx, client, trendPosts)(func() error { return count(of, trendPosts) })
		})
		if err != nil {
			return err
		}
		service, err := app.New(client, app.Options{Logger: log})
		if err != nil {
			return err
		}
		defer service.Close()
		for at = time.Now().Add(-47 * time.Hour); at.Before(time.Now()); at = at.Add(time.Hour) {
			if err := count(trendCounts[3], trendPosts); err != nil {
				return err
			}
		}
		merge := [2][]float64{}
		for range opt.Rounds {
			began := time.Now()
			micros, err := measure.ServerTime(ctx, client, 1)(func() error { return service.Trends.Merge(ctx) })
			if err != nil {
				return err
			}
			merge[0], merge[1] = append(merge[0], micros/1000), append(merge[1], time.Since(began).Seconds()*1000)
		}
		text = trendReport(opt, costs, merge)
		return nil
	})
	return text, err
}

func trendReport(opt measure.Options, costs [][]float64, merge [2][]float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## Trends

What the server computes to count people for trends, its sockets included (`+"`used_cpu`"+`):
%s posts each by %s people with %s tags, of which a few are in most posts. A process
counts in memory and writes every five seconds, all that it has together. Medians of %d rounds, in
turn.

`, measure.Thousands(trendPosts), measure.Thousands(trendPeople), measure.Thousands(trendTags), opt.Rounds)
	measure.Head(&b, "", "time of the server each")
	for i, of := range trendCounts {
		fmt.Fprintf(&b, "| %s | %.1f µs |\n", of.name, measure.Median(costs[i]))
	}
	fmt.Fprintf(&b, `
One process merges two days of that once a minute: %.0f ms of the server, in short commands,
and %.0f ms until the result is there.
`, measure.Median(merge[0]), measure.Median(merge[1]))
	return b.String()
}
