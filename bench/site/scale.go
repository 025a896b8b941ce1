package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
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
	nodes   []*measure.Server
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
	defer c.stop()
	var addresses []string
	for i := range scaleMasters {
		port, err := measure.FreePort()
		if err != nil {
			return "", err
		}
		addresses = append(addresses, fmt.Sprint("127.0.0.1:", port))
		node := measure.NewServer(filepath.Join(opt.Dir, fmt.Sprint("node", i)), port, append(appendOnly, "cluster-enabled yes")...)
		defer node.End()
		if err := node.Start(ctx); err != nil {
			return "", err
		}
		c.nodes = append(c.nodes, node)
	}
	if err := measure.Join(ctx, 0, addresses, c.nodes...); err != nil {
		return "", err
	}
	if c.client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: addresses, PipelineMultiplex: -1}); err != nil {
		return "", err
	}
	url := "redis+cluster://" + strings.Join(addresses, ",")
	if err := c.start(ctx, binary, url, scalePrograms, opt, "--limit", "off", "--celebrity-followers", "100000000"); err != nil { // all posts are pushed
		return "", err
	}
	if err := c.gather(ctx); err != nil {
		return "", err
	}
	fanOut := measure.Side{Name: "this version", Base: -1, Measure: func() ([]float64, error) { return c.fanOut(ctx) }}
	posts := measure.Side{Name: "this version", Base: -1, Measure: func() ([]float64, error) { return c.posts(ctx) }}
	if _, err := measure.InTurn(1, []measure.Side{fanOut, posts}); err != nil { // warms up, and makes the timelines
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `## A post on a Cluster

%d masters on this machine and two programs; the post is by a user with %s followers, who
all have a home timeline. Others read the second page of /home from the second program,
200 times a second. Processor time of all masters and of both programs, with what they do
in any case; medians of %d rounds.

`, scaleMasters, measure.Thousands(opt.Followers), opt.Rounds)
	err = measure.Table{
		Rounds: opt.Rounds, Sides: []measure.Side{fanOut},
		Head:    []string{"", "masters, each follower", "programs, each follower", "until all have it", "p99 of others without", "during it", "times slower"},
		Formats: []string{"%.2f µs", "%.2f µs", "%.0f ms", measure.Milliseconds, measure.Milliseconds, "**%.2f**"},
	}.Write(&b)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, `## Posts a second

%d people post at once through both programs, each to about twenty followers. What a post
costs, with its fan-out. The Cluster takes as many posts a second as its busiest master.

`, connections-1)
	err = measure.Table{
		Rounds: opt.Rounds, Sides: []measure.Side{posts},
		Head:    []string{"", "all masters, each post", "the busiest, each post", "programs, each post", "posts a second with a core for each master"},
		Formats: []string{"%.0f µs", "%.0f µs", "%.0f µs", ""},
	}.Write(&b)
	return b.String(), err
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
	second := fmt.Sprintf("/home?before=%d", page.Next)
	c.readers = load{addr: c.web[1].Addr, status: http.StatusOK, pace: connections * time.Second / 200, requests: c.from(true, second, "")}
	return err
}

// postToAll posts as the first user, and waits until all followers have the post.
func (c *cluster) postToAll(ctx context.Context) error {
	if err := measure.Accepted(c.visitors[0].Post(ctx, "To all of you.")); err != nil {
		return fmt.Errorf("post to all: %w", err)
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
	all := c.from(true, "/post", "status=To+those+who+follow+me.")[1:]
	var loads []load
	for some := range slices.Chunk(all, (len(all)+1)/len(c.web)) {
		loads = append(loads, load{addr: c.web[len(loads)].Addr, status: http.StatusSeeOther, requests: some})
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
	busiest := slices.Max(masters) / n
	return []float64{sum(masters) / n, busiest, programs / n, 1e6 / busiest}, nil
}

// spending returns how many µs each master and all programs compute during a run.
func (c *cluster) spending(ctx context.Context, run func() error) (masters []float64, programs float64, err error) {
	var meters []measure.Meter
	for _, node := range c.nodes {
		meters = append(meters, measure.ServerTime(ctx, node.Client))
	}
	for _, program := range c.web {
		meters = append(meters, program.Micros)
	}
	costs, err := measure.By(1, run, meters...)()
	if err != nil {
		return nil, 0, err
	}
	masters = costs[:len(c.nodes)]
	return masters, sum(costs[len(masters):]), nil
}

func sum(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}
