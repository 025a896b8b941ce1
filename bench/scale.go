package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// scaleMasters is how many masters the Clusters have.
const scaleMasters = 3

// fanSide is a version whose fan-out on a Cluster is measured.
type fanSide struct {
	name    string
	cluster *cluster

	masters, web []float64 // µs for each follower, a value for each round
	elapsed      []time.Duration
	ratios       []float64 // p99 of other requests during fan-outs, to that without
	idle, busy   result    // of the last round
}

// measureScale measures Retwis on Clusters of masters on this machine: how much each post
// and each page costs, by processor time, since the machine is as large for one master as
// for three.
func measureScale(ctx context.Context, dir string, opt options) (string, error) {
	binary := filepath.Join(dir, "retwis")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/retwis")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	var text strings.Builder
	for _, part := range []func(ctx context.Context, binary, dir string, opt options) (string, error){
		clusterFanOut, clusterPosts, clusterPages,
	} {
		some, err := part(ctx, binary, dir, opt)
		if err != nil {
			return "", err
		}
		fmt.Print(some)
		text.WriteString(some)
	}
	return text.String(), nil
}

// clusterFanOut compares posts to very many followers with those of the version before.
func clusterFanOut(ctx context.Context, binary, dir string, opt options) (string, error) {
	sides := []*fanSide{{name: "this version"}}
	programs := []string{binary}
	flags := [][]string{{"--celebrity-followers", "100000000"}} // all posts are pushed
	if opt.before != "" {
		sides = append(sides, &fanSide{name: "the version before"})
		programs, flags = append(programs, opt.before), append(flags, nil)
	}
	for i, side := range sides {
		var err error
		if side.cluster, err = startCluster(ctx, filepath.Join(dir, fmt.Sprint("fan", i)), scaleMasters); err != nil {
			return "", err
		}
		defer side.cluster.stop()
		if err := side.cluster.serve(ctx, programs[i], 2, opt, flags[i]...); err != nil {
			return "", err
		}
		if err := side.cluster.addFollowers(ctx, opt.followers); err != nil {
			return "", err
		}
	}
	for round := range opt.rounds + 1 {
		for _, side := range sides {
			if err := side.measure(ctx, opt, round > 0); err != nil {
				return "", fmt.Errorf("%s: %w", side.name, err)
			}
		}
		fmt.Printf("fan-out: round %d of %d\n", round, opt.rounds)
	}
	return fanText(sides, opt), nil
}

// addFollowers gives the first user followers, who have home timelines.
func (c *cluster) addFollowers(ctx context.Context, n int) error {
	star, err := c.userID(ctx, c.names[0])
	if err != nil {
		return err
	}
	const page = 1000
	for first := 0; first < n; first += page {
		follows := c.client.B().Zadd().Key("followers:"+star).ScoreMember().ScoreMember(1_600_000_000, strconv.Itoa(1_000_000+first))
		cmds := make(rueidis.Commands, 0, page+1)
		for i := first; i < min(n, first+page); i++ {
			id := strconv.Itoa(1_000_000 + i)
			follows = follows.ScoreMember(1_600_000_000, id)
			cmds = append(cmds, c.client.B().Lpush().Key("posts:"+id).Element("1").Build())
		}
		for _, res := range c.client.DoMulti(ctx, append(cmds, follows.Build())...) {
			if err := res.Error(); err != nil {
				return err
			}
		}
	}
	return nil
}

// userID returns the id of a user, as text. It looks at one user after the other: where the
// names are differs between versions.
func (c *cluster) userID(ctx context.Context, name string) (string, error) {
	for id := 1; id < 100_000; id++ {
		got, err := c.client.Do(ctx, c.client.B().Hget().Key(fmt.Sprint("user:", id)).Field("username").Build()).ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return "", err
		}
		if got == name {
			return strconv.Itoa(id), nil
		}
	}
	return "", fmt.Errorf("there is no user %s", name)
}

// measure is one round.
func (f *fanSide) measure(ctx context.Context, opt options, counts bool) error {
	const posts = 3 // the system counts the time of a program in hundredths of a second
	before, err := f.cluster.spent(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	for range posts {
		if err := f.cluster.postToAll(ctx); err != nil {
			return err
		}
	}
	elapsed := time.Since(began) / posts
	after, err := f.cluster.spent(ctx)
	if err != nil {
		return err
	}
	readers := make([]request, 0, len(f.cluster.cookies))
	for _, cookie := range f.cluster.cookies {
		readers = append(readers, get("/home?before=1000000", cookie))
	}
	other := f.cluster.addrs[1]
	idle, err := load(ctx, other, readers, 200, opt.length, connections*time.Second/200)
	if err != nil {
		return err
	}
	busy, err := f.readBeside(ctx, func() (result, error) {
		return load(ctx, other, readers, 200, opt.length, connections*time.Second/200)
	})
	if err != nil || !counts {
		return err
	}
	spent := after.since(before)
	f.masters = append(f.masters, spent.all()/float64(posts*opt.followers))
	f.web = append(f.web, spent.web/float64(posts*opt.followers))
	f.elapsed = append(f.elapsed, elapsed)
	f.ratios = append(f.ratios, float64(busy.p99)/float64(idle.p99))
	f.idle, f.busy = idle, busy
	return nil
}

// readBeside reads while one fan-out follows the other.
func (f *fanSide) readBeside(ctx context.Context, read func() (result, error)) (result, error) {
	posting, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() {
		for posting.Err() == nil && failed == nil {
			failed = f.cluster.postToAll(ctx)
		}
	})
	r, err := read()
	stop()
	wg.Wait()
	return r, errors.Join(err, failed)
}

// postToAll posts as the first user and waits until all followers have the post.
func (c *cluster) postToAll(ctx context.Context) error {
	if _, err := drive(ctx, c.addr, post("/post", c.cookies[0], "status=To+all+of+you."), 303, time.Now(), onlyOnce); err != nil {
		return err
	}
	return c.idle(ctx)
}

func fanText(sides []*fanSide, opt options) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## A post on a Cluster

%d masters on this machine and two programs; the post is by a user with %s followers, who
all have a home timeline. Others read the second page of /home from the second program,
200 times a second. Processor time of all masters and of both programs, with what they do
in any case; medians of %d rounds, in which the sides take turns.

| | masters, each follower | programs, each follower | until all have it | p99 of others without | during it | ratio |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
`, scaleMasters, thousands(opt.followers), opt.rounds)
	for _, side := range sides {
		fmt.Fprintf(&b, "| %s | %.2f µs | %.2f µs | %s | %s | %s | **%.2f** |\n", side.name, medianValue(side.masters), medianValue(side.web),
			medianTime(side.elapsed).Round(time.Millisecond), milliseconds(side.idle.p99), milliseconds(side.busy.p99), medianValue(side.ratios))
	}
	if len(sides) > 1 {
		fmt.Fprintf(&b, "| ratio | **%.2f** | **%.2f** | | | | |\n", ratioOfRounds(sides[0].masters, sides[1].masters), ratioOfRounds(sides[0].web, sides[1].web))
	}
	return b.String() + "\n"
}

// ratioOfRounds is the median of the rounds' ratios.
func ratioOfRounds(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return medianValue(ratios)
}
