package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// clusterPosts measures posts, each to about twenty followers, on one master and on three.
func clusterPosts(ctx context.Context, binary, dir string, opt options) (string, error) {
	sizes := []int{1, scaleMasters}
	clusters := make([]*cluster, len(sizes))
	for i, masters := range sizes {
		var err error
		if clusters[i], err = startCluster(ctx, filepath.Join(dir, fmt.Sprint("posts", masters)), masters); err != nil {
			return "", err
		}
		defer clusters[i].stop()
		if err := clusters[i].serve(ctx, binary, 1, opt); err != nil {
			return "", err
		}
	}
	all, busiest, web := make([][]float64, len(sizes)), make([][]float64, len(sizes)), make([][]float64, len(sizes))
	for round := range opt.rounds + 1 {
		for i, c := range clusters {
			requests := make([]request, len(c.cookies))
			for n, cookie := range c.cookies {
				requests[n] = post("/post", cookie, "status=To+those+who+follow+me.")
			}
			before, err := c.spent(ctx)
			if err != nil {
				return "", err
			}
			began := time.Now()
			done, err := load(ctx, c.addr, requests, 303, opt.length, 0)
			if err != nil {
				return "", err
			}
			posts := done.perSecond * time.Since(began).Seconds()
			if err := c.idle(ctx); err != nil {
				return "", err
			}
			after, err := c.spent(ctx)
			if err != nil {
				return "", err
			}
			if round == 0 {
				continue // warms up
			}
			spent := after.since(before)
			top := 0.0
			for _, master := range spent.masters {
				top = max(top, master)
			}
			all[i] = append(all[i], spent.all()/posts)
			busiest[i] = append(busiest[i], top/posts)
			web[i] = append(web[i], spent.web/posts)
		}
		fmt.Printf("posts: round %d of %d\n", round, opt.rounds)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `## Posts a second

%d people post at once, each to about twenty followers; what a post costs, with its
fan-out. A Cluster takes as many posts a second as its busiest master.

| masters | all masters, each post | the busiest, each post | program, each post | posts a second of one core for each master |
| --- | ---: | ---: | ---: | ---: |
`, connections)
	for i, masters := range sizes {
		fmt.Fprintf(&b, "| %d | %.0f µs | %.0f µs | %.0f µs | %s |\n", masters, medianValue(all[i]), medianValue(busiest[i]), medianValue(web[i]),
			thousands(int(1e6/medianValue(busiest[i]))))
	}
	fmt.Fprintf(&b, "| ratio | | | | **%.2f** |\n\n", ratioOfRounds(busiest[0], busiest[1]))
	return b.String(), nil
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
			pages, err := c.readFrom(ctx, opt.length)
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

// readFrom reads home timelines from all programs at once, and returns how many.
func (c *cluster) readFrom(ctx context.Context, length time.Duration) (pages float64, err error) {
	n := len(c.addrs)
	requests := make([][]request, n)
	for i, cookie := range c.cookies {
		requests[i%n] = append(requests[i%n], get("/home", cookie))
	}
	counts, errs := make([]float64, n), make([]error, n)
	done := make(chan bool)
	for i, addr := range c.addrs {
		go func() {
			began := time.Now()
			r, err := load(ctx, addr, requests[i], 200, length, 0)
			counts[i], errs[i] = r.perSecond*time.Since(began).Seconds(), err
			done <- true
		}()
	}
	for range n {
		<-done
	}
	for i := range n {
		pages += counts[i]
		if errs[i] != nil {
			err = errs[i]
		}
	}
	return pages, err
}
