package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/internal/app"
	socialload "retwis/internal/social/load"
)

const (
	scaleMasters  = 3
	scalePrograms = 2
)

// cluster is a site on a Cluster. Others read pages while the first user posts.
type cluster struct {
	site
	opt     measure.Options
	nodes   *measure.Cluster
	readers load
}

// Scale measures Retwis on a Cluster of masters on this machine: how much each post costs, by
// processor time, since the machine is as large for one master as for three.
func Scale(ctx context.Context, opt measure.Options) (string, error) {
	binary, err := measure.Build(ctx, opt.Dir)
	if err != nil {
		return "", err
	}
	c := &cluster{opt: opt}
	c.nodes, err = measure.StartCluster(ctx, opt.Dir, scaleMasters, appendOnly...)
	defer c.nodes.Stop()
	defer c.stop()
	if err != nil {
		return "", err
	}
	if c.client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: c.nodes.Addresses, PipelineMultiplex: -1}); err != nil {
		return "", err
	}
	url := "redis+cluster://" + strings.Join(c.nodes.Addresses, ",")
	if err := c.start(ctx, binary, url, scalePrograms, opt, "--limit", "off", "--celebrity-followers", "100000000"); err != nil { // all posts are pushed
		return "", err
	}
	if err := c.gather(ctx); err != nil {
		return "", err
	}
	sides := []measure.Side{{Name: "fan-out", Measure: func() ([]float64, error) { return c.fanOut(ctx) }}, {Name: "posts", Measure: func() ([]float64, error) { return c.posts(ctx) }}}
	if _, err := measure.InTurn(1, sides); err != nil { // warms up, and makes the timelines
		return "", err
	}
	rounds, err := measure.InTurn(opt.Rounds, sides)
	if err != nil {
		return "", err
	}
	return c.report(rounds), nil
}

// gather gives the first user followers, and finds pages after the first, which are not cached.
func (c *cluster) gather(ctx context.Context) error {
	service, err := app.New(c.client, app.Options{})
	if err != nil {
		return err
	}
	defer service.Close()
	star, err := service.Users.UserByName(ctx, c.names[0])
	if err != nil {
		return err
	}
	follows := make([]socialload.NewFollow, c.opt.Followers)
	for i := range follows {
		follows[i] = socialload.NewFollow{From: 1_000_000 + int64(i), To: star.ID, Time: time.Now()}
	}
	if err := socialload.New(service).AddFollows(ctx, follows); err != nil {
		return err
	}
	page, err := service.Timelines.Home(ctx, star.ID, 0, 10)
	c.readers = load{addr: c.web[1].Addr, status: http.StatusOK, pace: connections * time.Second / 200}
	for _, cookie := range c.cookies {
		c.readers.requests = append(c.readers.requests, get(fmt.Sprintf("/home?before=%d", page.Next), cookie))
	}
	return err
}

// postToAll posts as the first user, and waits until all followers have the post.
func (c *cluster) postToAll(ctx context.Context) error {
	if err := once(ctx, c.web[0].Addr, post("/post", c.cookies[0], "status=To+all+of+you."), http.StatusSeeOther); err != nil {
		return err
	}
	return c.idle(ctx)
}

// fanOut measures posts to all followers: µs of the masters and of the programs for each, and ms
// until all have it; and the p99 of other requests without and with them, and its ratio.
func (c *cluster) fanOut(ctx context.Context) ([]float64, error) {
	const posts = 3 // the system counts the time of a program in hundredths of a second
	began := time.Now()
	masters, programs, err := c.spending(ctx, measure.Times(posts, func() error { return c.postToAll(ctx) }))
	if err != nil {
		return nil, err
	}
	took := float64(time.Since(began).Milliseconds()) / posts
	n := float64(posts * c.opt.Followers)
	without, err := c.readers.during(ctx, c.opt.Length)
	if err != nil {
		return nil, err
	}
	reading, stop := context.WithCancel(ctx)
	posting := make(chan error, 1)
	go func() {
		var err error
		for reading.Err() == nil && err == nil {
			err = c.postToAll(ctx)
		}
		posting <- err
	}()
	with, err := c.readers.during(ctx, c.opt.Length)
	stop()
	return []float64{sum(masters) / n, programs / n, took, without.P99, with.P99, with.P99 / without.P99}, errors.Join(err, <-posting)
}

// posts measures posts of all but the first user through all programs: µs of all masters, of the
// busiest and of the programs for each.
func (c *cluster) posts(ctx context.Context) ([]float64, error) {
	loads := make([]load, len(c.web))
	for i, cookie := range c.cookies[1:] {
		one := &loads[i%len(loads)]
		one.addr, one.status = c.web[i%len(loads)].Addr, http.StatusSeeOther
		one.requests = append(one.requests, post("/post", cookie, "status=To+those+who+follow+me."))
	}
	var count atomic.Int64
	masters, programs, err := c.spending(ctx, func() error {
		err := measure.Concurrently(len(loads), len(loads), func(i int) error {
			r, err := loads[i].during(ctx, c.opt.Length)
			count.Add(int64(r.Count))
			return err
		})
		return errors.Join(err, c.idle(ctx))
	})
	if err != nil {
		return nil, err
	}
	n := float64(count.Load())
	return []float64{sum(masters) / n, slices.Max(masters) / n, programs / n}, nil
}

// spending returns how many µs each master and all programs compute during a run.
func (c *cluster) spending(ctx context.Context, run func() error) (masters []float64, programs float64, err error) {
	spent := func(sign float64) error {
		for i, node := range c.nodes.Clients {
			micros, err := measure.ServerMicros(ctx, node)
			if err != nil {
				return err
			}
			masters[i] += sign * micros
		}
		for _, program := range c.web {
			programs += sign * program.Micros()
		}
		return nil
	}
	masters = make([]float64, len(c.nodes.Clients))
	for _, step := range []func() error{func() error { return spent(-1) }, run, func() error { return spent(1) }} {
		if err := step(); err != nil {
			return nil, 0, err
		}
	}
	return masters, programs, nil
}

func sum(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

func (c *cluster) report(rounds [][][]float64) string {
	fan := func(i int) float64 { return measure.Median(rounds[0][i]) }
	one := func(i int) float64 { return measure.Median(rounds[1][i]) }
	var b strings.Builder
	fmt.Fprintf(&b, `## A post on a Cluster

%d masters on this machine and two programs; the post is by a user with %s followers, who
all have a home timeline. Others read the second page of /home from the second program,
200 times a second. Processor time of all masters and of both programs, with what they do
in any case; medians of %d rounds.

`, scaleMasters, measure.Thousands(c.opt.Followers), c.opt.Rounds)
	measure.Head(&b, "", "masters, each follower", "programs, each follower", "until all have it", "p99 of others without", "during it", "ratio")
	fmt.Fprintf(&b, "| this version | %.2f µs | %.2f µs | %.0f ms | %.2f ms | %.2f ms | **%.2f** |\n", fan(0), fan(1), fan(2), fan(3), fan(4), fan(5))
	fmt.Fprintf(&b, `
## Posts a second

%d people post at once through both programs, each to about twenty followers. What a post
costs, with its fan-out. The Cluster takes as many posts a second as its busiest master.

`, connections-1)
	measure.Head(&b, "", "all masters, each post", "the busiest, each post", "programs, each post", "posts a second with a core for each master")
	fmt.Fprintf(&b, "| this version | %.0f µs | %.0f µs | %.0f µs | %s |\n", one(0), one(1), one(2), measure.Thousands(int(1e6/one(1))))
	return b.String()
}
