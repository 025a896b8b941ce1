package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// clusterPosts compares posts, each to about twenty followers, on a Cluster of three masters
// and three programs with those on three sites of one master and one program. As many
// processes share the machine on both sides, so a command takes as long.
func clusterPosts(ctx context.Context, binary, dir string, opt options) (string, error) {
	start := func(name string, masters int) (*cluster, error) {
		c, err := startCluster(ctx, filepath.Join(dir, name), masters)
		if err != nil {
			return nil, err
		}
		return c, c.serve(ctx, binary, masters, opt)
	}
	var sites []*cluster
	for i := range scaleMasters {
		c, err := start(fmt.Sprint("site", i), 1)
		if c != nil {
			defer c.stop()
		}
		if err != nil {
			return "", err
		}
		sites = append(sites, c)
	}
	whole, err := start("whole", scaleMasters)
	if whole != nil {
		defer whole.stop()
	}
	if err != nil {
		return "", err
	}
	var one, three postCosts
	for round := range opt.rounds + 1 {
		for _, side := range []struct {
			clusters []*cluster
			costs    *postCosts
		}{{sites, &one}, {[]*cluster{whole}, &three}} {
			if err := side.costs.measure(ctx, side.clusters, opt.length, round > 0); err != nil {
				return "", err
			}
		}
		fmt.Printf("posts: round %d of %d\n", round, opt.rounds)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `## Posts a second

%d people post at once, each to about twenty followers: on %d sites of one master and one
program, and on one site of %[2]d masters and %[2]d programs. What a post costs, with its
fan-out. A site takes as many posts a second as its busiest master.

| masters of a site | all its masters, each post | the busiest, each post | programs, each post | posts a second with a core for each master |
| --- | ---: | ---: | ---: | ---: |
`, connections, scaleMasters)
	for i, costs := range []postCosts{one, three} {
		fmt.Fprintf(&b, "| %d | %.0f µs | %.0f µs | %.0f µs | %s |\n", []int{1, scaleMasters}[i], medianValue(costs.all), medianValue(costs.busiest), medianValue(costs.web),
			thousands(int(1e6/medianValue(costs.busiest))))
	}
	fmt.Fprintf(&b, "| ratio | | | | **%.2f** |\n\n", ratioOfRounds(one.busiest, three.busiest))
	return b.String(), nil
}

// postCosts is the time that a post takes, in µs, a value for each round.
type postCosts struct{ all, busiest, web []float64 }

// measure posts to all programs of clusters at once.
func (p *postCosts) measure(ctx context.Context, clusters []*cluster, length time.Duration, counts bool) error {
	before := make([]spent, len(clusters))
	for i, c := range clusters {
		var err error
		if before[i], err = c.spent(ctx); err != nil {
			return err
		}
	}
	posts := make([]float64, len(clusters))
	errs := make([]error, len(clusters))
	var wg sync.WaitGroup
	for i, c := range clusters {
		wg.Go(func() {
			posts[i], errs[i] = c.loadAll(ctx, connections/len(clusters), 303, length, func(cookie string) request {
				return post("/post", cookie, "status=To+those+who+follow+me.")
			})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var all, busiest, web, written float64
	for i, c := range clusters {
		if err := c.idle(ctx); err != nil {
			return err
		}
		after, err := c.spent(ctx)
		if err != nil {
			return err
		}
		spent := after.since(before[i])
		top := 0.0
		for _, master := range spent.masters {
			top = max(top, master)
		}
		all, busiest, web, written = all+spent.all(), busiest+top, web+spent.web, written+posts[i]
	}
	if counts {
		p.all, p.busiest, p.web = append(p.all, all/written), append(p.busiest, busiest/written), append(p.web, web/written)
	}
	return nil
}

// clusterPages measures home timelines: with more and more programs, with followed
// celebrities, and one that has expired.
func clusterPages(ctx context.Context, binary, dir string, opt options) (string, error) {
	c, err := startCluster(ctx, filepath.Join(dir, "pages"), scaleMasters)
	if err != nil {
		return "", err
	}
	defer c.stop()
	if err := c.serve(ctx, binary, 1, opt); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, part := range []func(ctx context.Context, c *cluster, binary string, opt options) (string, error){mergedHomes, morePrograms} {
		text, err := part(ctx, c, binary, opt)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// mergedHomes compares the home of a reader who follows celebrities with that of one who
// follows none, and measures how long one takes that has expired.
func mergedHomes(ctx context.Context, c *cluster, _ string, opt options) (string, error) {
	const followed = 200
	const since = 1_600_000_000
	merged, err := c.userID(ctx, c.names[1])
	if err != nil {
		return "", err
	}
	plain, err := c.userID(ctx, c.names[2])
	if err != nil {
		return "", err
	}
	expired, err := c.userID(ctx, c.names[3])
	if err != nil {
		return "", err
	}
	var cmds rueidis.Commands
	for i := range followed {
		celebrity, other := strconv.Itoa(opt.users-1-i), strconv.Itoa(opt.users-1-followed-i)
		for follower, author := range map[string]string{merged: celebrity, expired: other} {
			cmds = append(cmds,
				c.client.B().Zadd().Key("following:"+follower).ScoreMember().ScoreMember(since, author).Build(),
				c.client.B().Zadd().Key("followers:"+author).ScoreMember().ScoreMember(since, follower).Build())
		}
		cmds = append(cmds,
			c.client.B().Zadd().Key("celebrities").ScoreMember().ScoreMember(1, celebrity).Build(),
			c.client.B().Zrem().Key("following:"+plain).Member(celebrity).Build(),
			c.client.B().Zrem().Key("followers:"+celebrity).Member(plain).Build())
	}
	for _, res := range c.client.DoMulti(ctx, cmds...) {
		if err := res.Error(); err != nil {
			return "", err
		}
	}
	sides := []string{c.cookies[2], c.cookies[1]}
	costs := make([][]float64, len(sides))
	var again []time.Duration
	for round := range opt.rounds + 1 {
		for i, cookie := range sides {
			before := processSeconds(c.web[0])
			perSecond, err := drivePage(ctx, c.addr, "/home", []string{cookie}, opt.length)
			if err != nil {
				return "", err
			}
			if round > 0 {
				costs[i] = append(costs[i], (processSeconds(c.web[0])-before)*1e6/(perSecond*opt.length.Seconds()))
			}
		}
		for range 20 {
			if err := c.client.Do(ctx, c.client.B().Del().Key("posts:"+expired).Build()).Error(); err != nil {
				return "", err
			}
			took, err := drive(ctx, c.addr, get("/home", c.cookies[3]), 200, time.Now(), onlyOnce)
			if err != nil {
				return "", err
			}
			if round > 0 {
				again = append(again, took...)
			}
		}
		fmt.Printf("homes: round %d of %d\n", round, opt.rounds)
	}
	return fmt.Sprintf(`## Home timelines on a Cluster

What the first page of /home costs the program: for a reader who follows %d authors whose
posts are merged with the timeline, and for one who follows none of them. Then how long
the page takes when the timeline of a reader of %d others has expired.

| | |
| --- | ---: |
| none of them followed | %.0f µs |
| %d followed | %.0f µs |
| ratio, median of %d rounds | **%.2f** |
| expired: made again within the request, median | %s |

`, followed, followed, medianValue(costs[0]), followed, medianValue(costs[1]), opt.rounds, ratioOfRounds(costs[1], costs[0]),
		milliseconds(medianTime(again))), nil
}

// morePrograms measures the same pages with one, two and three programs; each visitor stays
// with one of them, as behind a load balancer that looks at the cookie.
func morePrograms(ctx context.Context, c *cluster, binary string, opt options) (string, error) {
	var b strings.Builder
	fmt.Fprint(&b, `## More programs

The readers open the first page of /home, and each stays with one of the programs: what a
page costs. Pages a second grow with the programs as long as a page costs the same.

| programs | programs, each page | masters, each page |
| --- | ---: | ---: |
`)
	for n := 1; n <= 3; n++ {
		if n > 1 {
			if err := c.serveOne(binary); err != nil {
				return "", err
			}
		}
		var web, masters []float64
		for round := range opt.rounds + 1 {
			before, err := c.spent(ctx)
			if err != nil {
				return "", err
			}
			pages, err := c.loadAll(ctx, len(c.cookies), 200, opt.length, func(cookie string) request { return get("/home", cookie) })
			if err != nil {
				return "", err
			}
			after, err := c.spent(ctx)
			if err != nil {
				return "", err
			}
			if round > 0 {
				spent := after.since(before)
				web, masters = append(web, spent.web/pages), append(masters, spent.all()/pages)
			}
		}
		fmt.Printf("%d programs: %.0f µs a page\n", n, medianValue(web))
		fmt.Fprintf(&b, "| %d | %.0f µs | %.1f µs |\n", n, medianValue(web), medianValue(masters))
	}
	return b.String() + "\n", nil
}

// loadAll loads all programs at once, by n connections, each of which stays with one of them
// and is another user. It returns how many answers there were.
func (c *cluster) loadAll(ctx context.Context, n, status int, length time.Duration, make func(cookie string) request) (answers float64, err error) {
	requests := map[string][]request{}
	for i, cookie := range c.cookies[:n] {
		addr := c.addrs[i%len(c.addrs)]
		requests[addr] = append(requests[addr], make(cookie))
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for addr, some := range requests {
		wg.Go(func() {
			began := time.Now()
			r, failed := load(ctx, addr, some, status, length, 0)
			mu.Lock()
			defer mu.Unlock()
			answers += r.perSecond * time.Since(began).Seconds()
			err = errors.Join(err, failed)
		})
	}
	wg.Wait()
	return answers, err
}
