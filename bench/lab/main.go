// Command lab tests the consistency of a site under faults. It serves a site from three processes
// and a Cluster of three masters and three replicas, lets simulated people use it while it breaks
// processes, nodes and links, and checks the pages they saw against the guarantees.
//
//	make cluster-lab ARGS='--for 30m --seed 7'
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"retwis/bench/lab/history"
)

// options are the settings of a run.
type options struct {
	program     string
	length      time.Duration
	seed        uint64
	webs        int // processes
	minReplicas int
	noFaults    bool
	only        []string
	rest        time.Duration // minimum time between two faults
	log         io.Writer
}

const (
	people = 12
	rate   = 25 // operations per second of all people together
)

func main() {
	opt := options{webs: 3, rest: 9 * time.Second, log: os.Stderr}
	flag.StringVar(&opt.program, "retwis", "retwis", "the `program` to run")
	flag.DurationVar(&opt.length, "for", 90*time.Second, "how long people use the site")
	flag.Uint64Var(&opt.seed, "seed", 0, "the seed of the faults and of people's actions; 0 means random")
	flag.IntVar(&opt.minReplicas, "min-replicas", 1, "min-replicas-to-write of the masters; with 0, a master that is cut off acknowledges writes that will be lost")
	flag.Func("only", "inject only faults of this `kind`, such as 'kill master'; can be repeated", func(kind string) error {
		opt.only = append(opt.only, kind)
		return nil
	})
	judge := flag.String("judge", "", "check the history in this `file` instead of running the lab")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := errors.New("unexpected arguments: " + strings.Join(flag.Args(), " "))
	if flag.NArg() == 0 {
		err = lab(ctx, opt, *judge, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// lab runs the lab, or checks the history of an earlier run, and prints the result.
func lab(ctx context.Context, opt options, judge string, out io.Writer) error {
	var r report
	if judge != "" {
		h, err := history.Read(judge)
		if err != nil {
			return err
		}
		r = newReport(h)
		r.judge()
	} else {
		var err error
		if r, err = run(ctx, opt); err != nil {
			return err
		}
	}
	r.print(out)
	if !r.passed() {
		return errors.New("the site has violated a guarantee")
	}
	return nil
}

// run starts the site, lets people use it, and checks the history.
func run(ctx context.Context, opt options) (r report, err error) {
	known := (&faults{}).kinds()
	for _, kind := range opt.only {
		if known[kind] == nil {
			return r, fmt.Errorf("--only %q: unknown fault; choose from %s", kind, strings.Join(sortedKeys(known), ", "))
		}
	}
	for opt.seed == 0 {
		opt.seed = rand.Uint64N(1_000_000)
	}
	logf := func(format string, args ...any) { fmt.Fprintf(opt.log, "lab: "+format+"\n", args...) }
	logf("seed %d", opt.seed)
	dir, err := os.MkdirTemp("", "retwis-lab")
	if err != nil {
		return r, err
	}
	defer func() {
		if err == nil && r.passed() {
			os.RemoveAll(dir)
		}
	}()
	c, err := startCluster(ctx, dir, opt.minReplicas)
	defer c.close()
	if err != nil {
		return r, err
	}
	fans, err := seed(ctx, c)
	defer fans.close()
	if err != nil {
		return r, err
	}
	webs, err := c.serve(ctx, opt, dir)
	defer func() {
		for _, web := range webs {
			web.Kill()
		}
	}()
	if err != nil {
		return r, err
	}
	rec := history.NewRecorder()
	crowd := newCrowd(rec, webs, people, opt.seed)
	if err := crowd.setUp(ctx, fans); err != nil {
		return r, err
	}
	logf("%d processes and %d people for %s", opt.webs, people, opt.length)
	f := &faults{
		cluster: c, fans: fans, rec: rec, webs: webs, rng: rand.New(rand.NewPCG(opt.seed, 0)),
		minReplicas: opt.minReplicas, rest: opt.rest, report: logf, only: opt.only,
	}
	began := time.Now()
	runErr := live(ctx, opt, crowd, f)
	var lists listsReport
	if runErr == nil {
		logf("waiting until the background work is done")
		if runErr = fans.waitIdle(ctx); runErr == nil {
			crowd.readEverything(ctx)
			lists, runErr = fans.read(ctx, crowd)
		}
	}
	h := rec.History()
	r = newReport(h)
	r.Lists, r.Seed, r.Seconds = lists, opt.seed, time.Since(began).Seconds()
	if runErr == nil {
		r.Database, runErr = c.check(ctx)
	}
	if runErr != nil {
		r.Failures = append(r.Failures, runErr.Error())
	}
	r.judge()
	if !r.passed() {
		r.History = filepath.Join(dir, "history.json")
		return r, h.Write(r.History)
	}
	return r, nil
}

// serve starts the web processes. The caller must stop the returned processes, even after an error.
func (c *cluster) serve(ctx context.Context, opt options, dir string) (all []*process, err error) {
	for i := range opt.webs {
		web, err := c.web(opt.program, dir, i, "--celebrity-followers", strconv.Itoa(merged))
		if err != nil {
			return all, err
		}
		all = append(all, web)
		if err := web.start(ctx); err != nil {
			return all, err
		}
	}
	return all, nil
}

// live lets people use the site while faults are injected.
func live(ctx context.Context, opt options, people *crowd, f *faults) error {
	timed, cancel := context.WithTimeout(ctx, opt.length)
	defer cancel()
	go watchStalls(timed, f.rec)
	injected := make(chan error, 1)
	if opt.noFaults {
		injected <- nil
	} else {
		go func() {
			err := f.run(timed)
			if err != nil {
				cancel()
			}
			injected <- err
		}()
	}
	people.live(timed, rate)
	return cmp.Or(<-injected, ctx.Err())
}
