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

// cluster is a site on a Redis Cluster. The readers request pages while the first user posts.
type cluster struct {
	site
	opt     measure.Options
	nodes   []*measure.Server
	readers load
}

// Scale measures the CPU time of posts on a Cluster. It does not measure throughput, because all
// masters share this machine.
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
	if err := measure.CreateCluster(ctx, 0, addresses, c.nodes...); err != nil {
		return "", err
	}
	if c.client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: addresses, PipelineMultiplex: -1}); err != nil {
		return "", err
	}
	url := "redis+cluster://" + strings.Join(addresses, ",")
	if err := c.start(ctx, binary, url, scalePrograms, opt, "--limit", "off", "--celebrity-followers", "100000000"); err != nil { // all posts are pushed
		return "", err
	}
	if err := c.prepare(ctx); err != nil {
		return "", err
	}
	fanOut := measure.Side{Name: "Retwis", Base: -1, Measure: func() ([]float64, error) { return c.fanOut(ctx) }}
	posts := measure.Side{Name: "Retwis", Base: -1, Measure: func() ([]float64, error) { return c.posts(ctx) }}
	if _, err := measure.InTurn(1, []measure.Side{fanOut, posts}); err != nil { // warm-up; creates the timelines
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `## A post on a Cluster

%d masters and two web processes share this machine. The author has %s followers, who
all have a home timeline. Other users request the second page of /home from the second
process, 200 times per second. CPU time of all masters and of both processes, including
their idle load; medians of %d rounds.

`, scaleMasters, measure.Thousands(opt.Followers), opt.Rounds)
	err = measure.Table{
		Rounds: opt.Rounds, Sides: []measure.Side{fanOut},
		Head:    []string{"", "masters, per follower", "processes, per follower", "delivered to all after", "p99 of readers, before", "during fan-out", "slowdown"},
		Formats: []string{"%.2f µs", "%.2f µs", "%.0f ms", measure.Milliseconds, measure.Milliseconds, "**%.2f**"},
	}.Write(&b)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, `## Posts per second

%d users post at the same time through both processes, each to about 20 followers. CPU time
per post, including its fan-out. The busiest master limits the throughput of the Cluster.

`, connections-1)
	err = measure.Table{
		Rounds: opt.Rounds, Sides: []measure.Side{posts},
		Head:    []string{"", "all masters, per post", "busiest master, per post", "processes, per post", "posts/s with one core per master"},
		Formats: []string{"%.0f µs", "%.0f µs", "%.0f µs", ""},
	}.Write(&b)
	return b.String(), err
}

// prepare adds the followers of the first user, and the load of readers. Readers request the second
// page, because the first page is cached.
func (c *cluster) prepare(ctx context.Context) error {
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

// postToAll posts as the first user and waits until all followers have the post.
func (c *cluster) postToAll(ctx context.Context) error {
	if err := measure.Accepted(c.visitors[0].Post(ctx, "To all of you.")); err != nil {
		return fmt.Errorf("post to all: %w", err)
	}
	return c.waitIdle(ctx)
}

// fanOut measures posts to all followers. It returns the CPU time of the masters and of the
// processes per follower in µs, the time until all followers have a post in ms, the p99 of other
// requests without and with concurrent posts, and the ratio of these p99 values.
func (c *cluster) fanOut(ctx context.Context) ([]float64, error) {
	const posts = 3 // the CPU time of a process has a resolution of 10 ms
	began := time.Now()
	masters, programs, err := c.cpu(ctx, measure.Repeat(posts, func() error { return c.postToAll(ctx) }))
	if err != nil {
		return nil, err
	}
	delivery := float64(time.Since(began).Milliseconds()) / posts
	n := float64(posts * c.opt.Followers)
	without, err := c.readers.run(ctx, c.opt.Length)
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
	with, err := c.readers.run(ctx, c.opt.Length)
	stop()
	return []float64{sum(masters) / n, programs / n, delivery, without.P99, with.P99, with.P99 / without.P99}, errors.Join(err, <-posting)
}

// posts measures posts by all users but the first. It returns the CPU time per post of all masters,
// of the busiest master and of the processes in µs, and the posts per second that the busiest
// master allows.
func (c *cluster) posts(ctx context.Context) ([]float64, error) {
	all := c.from(true, "/post", "status=To+those+who+follow+me.")[1:]
	var loads []load
	for chunk := range slices.Chunk(all, (len(all)+1)/len(c.web)) {
		loads = append(loads, load{addr: c.web[len(loads)].Addr, status: http.StatusSeeOther, requests: chunk})
	}
	var count atomic.Int64
	masters, programs, err := c.cpu(ctx, func() error {
		err := measure.Concurrently(len(loads), len(loads), func(i int) error {
			r, err := loads[i].run(ctx, c.opt.Length)
			count.Add(int64(r.Count))
			return err
		})
		return errors.Join(err, c.waitIdle(ctx))
	})
	if err != nil {
		return nil, err
	}
	n := float64(count.Load())
	busiest := slices.Max(masters) / n
	return []float64{sum(masters) / n, busiest, programs / n, 1e6 / busiest}, nil
}

// cpu returns the CPU time of each master and of all processes together during a run, in µs.
func (c *cluster) cpu(ctx context.Context, run func() error) (masters []float64, programs float64, err error) {
	var meters []measure.Meter
	for _, node := range c.nodes {
		meters = append(meters, measure.ServerCPU(ctx, node.Client))
	}
	for _, program := range c.web {
		meters = append(meters, program.CPU)
	}
	costs, err := measure.PerOp(1, run, meters...)()
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
