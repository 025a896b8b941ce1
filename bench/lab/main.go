// Lab serves a site from three processes and a Cluster of three masters and three replicas,
// lets simulated people use it, breaks processes, nodes and links meanwhile, and decides
// from what the people have seen whether the site has kept its promises.
//
//	make cluster-lab ARGS='--for 30m --seed 7'
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"retwis/bench/lab/check"
	"retwis/bench/lab/history"
	"retwis/internal/social/layout"
)

// options are the settings of a run.
type options struct {
	program     string
	length      time.Duration
	seed        uint64
	webs        int
	workers     int
	people      int
	followers   int
	celebrity   int
	rate        float64
	rest        time.Duration
	minReplicas int
	noFaults    bool
	only        []string
	plants      []string
	serve       []string
	work        []string
	bounds      check.Bounds
	history     string
	json        bool
	log         io.Writer
}

// list is a flag that can be repeated.
type list struct{ to *[]string }

func (l list) String() string { return "" }

func (l list) Set(value string) error {
	*l.to = append(*l.to, value)
	return nil
}

func main() {
	opt := options{log: os.Stderr, bounds: check.Default}
	flag.StringVar(&opt.program, "retwis", "retwis", "the `program` to run")
	flag.DurationVar(&opt.length, "for", 90*time.Second, "how long people use the site")
	flag.Uint64Var(&opt.seed, "seed", 0, "what the faults and the people's acts depend on; 0: random")
	flag.IntVar(&opt.webs, "webs", 3, "processes that serve")
	flag.IntVar(&opt.workers, "workers", 0, "processes that only work (retwis work)")
	flag.IntVar(&opt.people, "people", 12, "simulated people")
	flag.IntVar(&opt.followers, "followers", 2500, "accounts that follow the first of them, and whose home timelines are read whole in the end; 0: none")
	flag.IntVar(&opt.celebrity, "celebrity-followers", 2600, "from more followers on, posts are merged when they are read: the second of them has more")
	flag.Float64Var(&opt.rate, "rate", 25, "what they do in a second, in all")
	flag.DurationVar(&opt.rest, "rest", 9*time.Second, "least time between two faults")
	flag.IntVar(&opt.minReplicas, "min-replicas", 1, "min-replicas-to-write of the masters; with 0 a master that is cut off goes on to acknowledge what is lost")
	flag.BoolVar(&opt.noFaults, "no-faults", false, "break nothing")
	flag.Var(list{&opt.only}, "only", "make only faults of this `kind`, such as 'kill master'; can be repeated")
	flag.Var(list{&opt.plants}, "plant", "break a promise on purpose; can be repeated: "+strings.Join(sortedKeys(plants), ", "))
	flag.Var(list{&opt.serve}, "serve", "a further `flag` of retwis serve; can be repeated")
	flag.Var(list{&opt.work}, "work", "a further `flag` of retwis work; can be repeated")
	flag.DurationVar(&opt.bounds.Quiet, "quiet-bound", opt.bounds.Quiet, "how old what others see may be without faults")
	flag.DurationVar(&opt.bounds.Recovery, "recovery-bound", opt.bounds.Recovery, "how long until the work of a killed process is finished")
	flag.StringVar(&opt.history, "history", "", "keep the history in this `file`; without it, it is kept if the run fails")
	flag.BoolVar(&opt.json, "json", false, "print the result as JSON")
	judge := flag.String("judge", "", "judge the history in this `file` again, and run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := errors.New("no arguments are expected: " + strings.Join(flag.Args(), " "))
	if flag.NArg() == 0 {
		err = lab(ctx, opt, *judge, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// lab runs, or judges an earlier run, and prints the result.
func lab(ctx context.Context, opt options, judge string, out io.Writer) error {
	var r report
	if judge != "" {
		h, err := history.Read(judge)
		if err != nil {
			return err
		}
		r = newReport(h, opt.bounds)
		r.judge()
	} else {
		var err error
		if r, err = run(ctx, opt); err != nil {
			return err
		}
	}
	if opt.json {
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return err
		}
	} else {
		r.print(out)
	}
	if !r.Passed {
		return errors.New("the site has broken a promise")
	}
	return nil
}

// run starts everything, lets people live, and judges.
func run(ctx context.Context, opt options) (report, error) {
	if opt.webs < 1 || opt.people < 2 || opt.rate <= 0 || opt.length <= 0 || opt.rest <= 0 || opt.workers < 0 {
		return report{}, errors.New("--webs, --people, --rate, --rest and --for must be positive, with two people at least")
	}
	if opt.followers < 0 || opt.followers > 0 && (opt.followers < readers || opt.celebrity < opt.followers+opt.people) {
		return report{}, errors.New("--celebrity-followers must be at least --followers and --people together")
	}
	planted, err := newPlant(opt.plants)
	if err != nil {
		return report{}, err
	}
	known := (&faults{workers: make([]*process, opt.workers), fans: &audience{}}).kinds()
	for _, kind := range opt.only {
		if known[kind] == nil {
			return report{}, fmt.Errorf("--only %q: there are %s", kind, strings.Join(sortedKeys(known), ", "))
		}
	}
	for opt.seed == 0 {
		opt.seed = rand.Uint64N(1_000_000)
	}
	say := func(format string, args ...any) { fmt.Fprintf(opt.log, "lab: "+format+"\n", args...) }
	say("seed %d", opt.seed)
	dir, err := os.MkdirTemp("", "retwis-lab")
	if err != nil {
		return report{}, err
	}
	keep := false
	defer func() {
		if !keep {
			os.RemoveAll(dir)
		}
	}()
	c, err := startCluster(ctx, dir, opt.minReplicas)
	defer c.close()
	if err != nil {
		return report{}, err
	}
	fans, err := seed(ctx, opt, c)
	defer fans.close()
	if err != nil {
		return report{}, err
	}
	rec := history.NewRecorder()
	var webs, workers []*process
	defer func() {
		for _, p := range append(webs, workers...) {
			p.kill()
		}
	}()
	for i := range opt.webs {
		web, err := c.launcher(opt.program, dir).web(i, append(fans.merged(), opt.serve...))
		if err != nil {
			return report{}, err
		}
		webs = append(webs, web)
		if err := web.start(ctx); err != nil {
			keep = true
			return report{}, err
		}
	}
	for i := range opt.workers {
		worker := c.launcher(opt.program, dir).worker(i, opt.work)
		workers = append(workers, worker)
		if err := worker.start(ctx); err != nil {
			keep = true
			return report{}, err
		}
	}
	people := newCrowd(rec, webs, opt.people, opt.seed, planted)
	if err := people.begin(ctx, fans); err != nil {
		return report{}, err
	}
	say("%d processes, %d workers and %d people for %s", len(webs), len(workers), opt.people, opt.length)

	began := time.Now()
	life, end := context.WithTimeout(ctx, opt.length)
	defer end()
	go watchStalls(life, rec)
	broken := make(chan error, 1)
	if opt.noFaults {
		broken <- nil
	} else {
		f := &faults{
			cluster: c, fans: fans, rec: rec, webs: webs, workers: workers, rng: rand.New(rand.NewPCG(opt.seed, 0)),
			minReplicas: opt.minReplicas, rest: opt.rest, report: say, only: map[string]bool{},
		}
		for _, kind := range opt.only {
			f.only[kind] = true
		}
		go func() {
			err := f.run(life)
			if err != nil {
				end()
			}
			broken <- err
		}()
	}
	people.live(life, opt.rate)
	err = <-broken
	if err == nil {
		err = ctx.Err()
	}
	var lists listsReport
	if err == nil {
		say("waiting for quiet")
		quiet := time.Now()
		if err = c.idle(ctx, opt.bounds); err == nil {
			say("quiet after %.1f s; reading everything", time.Since(quiet).Seconds())
			people.final(ctx)
			lists, err = fans.read(ctx, people)
		}
	}
	h := rec.History()
	r := newReport(h, opt.bounds)
	r.Lists = lists
	r.Seed, r.Seconds, r.Planted = opt.seed, time.Since(began).Seconds(), planted.done
	if err != nil {
		r.Failures = append(r.Failures, err.Error())
	} else if r.Database, err = checkDatabase(ctx, opt.program, c.url()); err != nil {
		r.Failures = append(r.Failures, err.Error())
	}
	r.judge()
	r.History = opt.history
	if !r.Passed && r.History == "" {
		keep = true
		r.History = filepath.Join(dir, "history.jsonl")
	}
	if r.History != "" {
		if err := h.Write(r.History); err != nil {
			return r, err
		}
	}
	return r, nil
}

// idle waits until no background work is left.
func (c *cluster) idle(ctx context.Context, b check.Bounds) error {
	ctx, cancel := context.WithTimeout(ctx, b.Recovery+clusterTimeout)
	defer cancel()
	for {
		left := ""
		for _, n := range c.nodes {
			if role, err := n.field(ctx, "replication", "role"); err != nil || role != "master" {
				continue
			}
			if has, err := n.do(ctx, "EXISTS", "tasks").AsInt64(); err == nil && has > 0 {
				left += "tasks "
			}
		}
		if left == "" {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("background work does not end: %sis left", left)
		case <-time.After(100 * time.Millisecond):
		}
	}
	select { // what is cached in the processes settles
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(b.Quiet):
		return nil
	}
}

// checkDatabase runs retwis check, and a repair if it finds problems.
func checkDatabase(ctx context.Context, program, url string) (databaseReport, error) {
	r, err := checkOnce(ctx, program, url)
	if err != nil || r.Problems == 0 {
		return r, err
	}
	if _, err := checkOnce(ctx, program, url, "--repair"); err != nil {
		return r, err
	}
	after, err := checkOnce(ctx, program, url)
	r.Left = after.Problems
	return r, err
}

// lasting are the keys in which a leftover stays: nothing looks at it any more when all work
// is done.
var lasting = []string{
	layout.FollowersPrefix, layout.FollowingPrefix, layout.BlockedPrefix, layout.BlockersPrefix,
	layout.ProfilePrefix, layout.ProfileRepliesPrefix, layout.HomePrefix, layout.Timeline,
}

// checkOnce runs retwis check, and returns what it finds.
func checkOnce(ctx context.Context, program, url string, flags ...string) (databaseReport, error) {
	var r databaseReport
	cmd := exec.CommandContext(ctx, program, append([]string{"check", "--json", "--redis", url}, flags...)...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, err
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		found := struct {
			Problems *int   `json:"problems"` // of the summary
			Key      string `json:"key"`
			Leftover bool   `json:"leftover"`
		}{}
		if err := json.Unmarshal([]byte(line), &found); err != nil {
			return r, fmt.Errorf("retwis check: %q: %w", line, err)
		}
		lasts := found.Leftover && slices.ContainsFunc(lasting, func(prefix string) bool { return strings.HasPrefix(found.Key, prefix) })
		switch {
		case found.Problems != nil:
			r.Ran, r.Problems = true, *found.Problems
			continue
		case lasts:
			r.Leftovers++
		case found.Leftover:
			continue
		}
		if len(r.First) < 20 {
			r.First = append(r.First, line)
		}
	}
	if !r.Ran {
		return r, fmt.Errorf("retwis check: %s", strings.TrimSpace(complaint.String()))
	}
	return r, nil
}
