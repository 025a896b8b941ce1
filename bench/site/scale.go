package site

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"retwis/bench/measure"
)

// scaleMasters is how many masters the Clusters have.
const scaleMasters = 3

// scaled is a version that is measured on a Cluster.
type scaled struct {
	version
	cluster *cluster
	readers load

	// A value for each round: µs for each follower of a fan-out and for each post, the time
	// until all have it, and the p99 of other requests during fan-outs, to that without.
	fanMasters, fanWeb     []float64
	masters, busiest, web  []float64
	elapsed                []time.Duration
	ratios                 []float64
	withoutFan, besideFans measure.Result // of the last round
}

// Scale measures Retwis on a Cluster of masters on this machine: how much each post costs, by
// processor time, since the machine is as large for one master as for three.
func Scale(ctx context.Context, opt measure.Options) (string, error) {
	binary, err := measure.Build(ctx, opt.Dir)
	if err != nil {
		return "", err
	}
	sides := []*scaled{{version: version{"this version", binary, []string{"--celebrity-followers", "100000000"}}}} // all posts are pushed
	if opt.Before != "" {
		sides = append(sides, &scaled{version: version{name: "the version before", binary: opt.Before}})
	}
	for i, s := range sides {
		s.cluster, err = startCluster(ctx, filepath.Join(opt.Dir, fmt.Sprint("side", i)), scaleMasters)
		defer s.cluster.stop()
		if err != nil {
			return "", err
		}
		if err := s.cluster.serve(ctx, s.version, 2, opt); err != nil {
			return "", err
		}
		if s.readers, err = s.cluster.gather(ctx, opt.Followers); err != nil {
			return "", err
		}
		s.readers.addr, s.readers.pace = s.cluster.addrs[1], connections*time.Second/200
	}
	for round := range opt.Rounds + 1 {
		for _, s := range sides {
			if round == 1 { // the first warms up, and makes the timelines
				*s = scaled{version: s.version, cluster: s.cluster, readers: s.readers}
			}
			if err := s.fanOut(ctx, opt); err != nil {
				return "", fmt.Errorf("%s: %w", s.name, err)
			}
			if err := s.post(ctx, opt); err != nil {
				return "", fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return scaleText(sides, opt), nil
}

// fanOut measures posts to all followers, and other requests without and with them.
func (s *scaled) fanOut(ctx context.Context, opt measure.Options) error {
	const posts = 3 // the system counts the time of a program in hundredths of a second
	began := time.Now()
	spent, err := s.cluster.spending(ctx, measure.Times(posts, func() error { return s.cluster.postToAll(ctx) }))
	if err != nil {
		return err
	}
	s.elapsed = append(s.elapsed, time.Since(began)/posts)
	s.fanMasters = append(s.fanMasters, spent.all()/float64(posts*opt.Followers))
	s.fanWeb = append(s.fanWeb, spent.web/float64(posts*opt.Followers))
	if s.withoutFan, err = s.readers.during(ctx, opt.Length); err != nil {
		return err
	}
	s.besideFans, err = beside(ctx, s.readers, opt.Length, func() error { return s.cluster.postToAll(ctx) })
	s.ratios = append(s.ratios, float64(s.besideFans.P99)/float64(s.withoutFan.P99))
	return err
}

// post measures posts of all but the first user through all programs.
func (s *scaled) post(ctx context.Context, opt measure.Options) error {
	loads := make([]load, len(s.cluster.addrs))
	for i, cookie := range s.cluster.cookies[1:] {
		one := &loads[i%len(loads)]
		one.addr, one.status = s.cluster.addrs[i%len(loads)], 303
		one.requests = append(one.requests, post("/post", cookie, "status=To+those+who+follow+me."))
	}
	var posts atomic.Int64
	spent, err := s.cluster.spending(ctx, func() error {
		err := measure.Concurrently(len(loads), len(loads), func(i int) error {
			r, err := loads[i].during(ctx, opt.Length)
			posts.Add(int64(r.Count))
			return err
		})
		return errors.Join(err, s.cluster.idle(ctx))
	})
	n := float64(posts.Load())
	s.masters, s.web = append(s.masters, spent.all()/n), append(s.web, spent.web/n)
	s.busiest = append(s.busiest, slices.Max(append(spent.masters, 0))/n)
	return err
}

func scaleText(sides []*scaled, opt measure.Options) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## A post on a Cluster

%d masters on this machine and two programs; the post is by a user with %s followers, who
all have a home timeline. Others read the second page of /home from the second program,
200 times a second. Processor time of all masters and of both programs, with what they do
in any case; medians of %d rounds, in which the sides take turns.

`, scaleMasters, measure.Thousands(opt.Followers), opt.Rounds)
	measure.Head(&b, "", "masters, each follower", "programs, each follower", "until all have it", "p99 of others without", "during it", "ratio")
	for _, s := range sides {
		fmt.Fprintf(&b, "| %s | %.2f µs | %.2f µs | %s | %s | %s | **%.2f** |\n", s.name, measure.Median(s.fanMasters), measure.Median(s.fanWeb),
			measure.Median(s.elapsed).Round(time.Millisecond), measure.Milliseconds(s.withoutFan.P99), measure.Milliseconds(s.besideFans.P99), measure.Median(s.ratios))
	}
	fmt.Fprintf(&b, `
## Posts a second

%d people post at once through both programs, each to about twenty followers. What a post
costs, with its fan-out. The Cluster takes as many posts a second as its busiest master.

`, connections-1)
	measure.Head(&b, "", "all masters, each post", "the busiest, each post", "programs, each post", "posts a second with a core for each master")
	for _, s := range sides {
		fmt.Fprintf(&b, "| %s | %.0f µs | %.0f µs | %.0f µs | %s |\n", s.name, measure.Median(s.masters), measure.Median(s.busiest), measure.Median(s.web),
			measure.Thousands(int(1e6/measure.Median(s.busiest))))
	}
	return b.String()
}
