// Command bench compares Retwis with a handler that serves the same bytes from memory, and each
// package of the toolkit with the usual alternative. It writes the results to docs/benchmarks.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"retwis/bench/measure"
	"retwis/bench/page"
	"retwis/bench/site"
	"retwis/bench/toolkit"
)

// part is a part of docs/benchmarks.md that can be measured and written separately.
type part struct {
	name, about string
	measure     func(ctx context.Context, opt measure.Options) (text string, err error)
}

// parts are in the order of the page.
var parts = []part{
	{"site", "pages, compared with the same bytes from memory", site.Pages},
	{"scale", "posts on a Cluster", site.Scale},
	{"locks", "redlock, compared with redsync and rueidislock", toolkit.Locks},
	{"bulk", "retwis load, compared with redis-cli --pipe", toolkit.Bulk},
	{"suggest", "completion, compared with the sorted set of the tutorial", toolkit.Suggest},
	{"graph", "joins, compared with a client that queries one binding at a time", toolkit.Graph},
	{"space", "geographic queries, compared with GEOSEARCH", toolkit.Space},
	{"text", "full-text search, compared with a sorted set per word", toolkit.Text},
	{"model", "records, compared with plain commands", toolkit.Model},
	{"ratelimit", "rate limits, compared with redis_rate", toolkit.RateLimits},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if isChild, err := site.Child(ctx, args); isChild {
		return err
	}
	opt := measure.Defaults
	var only, out string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&out, "out", "../docs", "the directory of benchmarks.md")
	flags.StringVar(&only, "only", "", "measure only this `part` and keep the rest of the page:\n"+list())
	flags.IntVar(&opt.Rounds, "rounds", opt.Rounds, "how often to measure each side; medians are reported")
	flags.DurationVar(&opt.Length, "length", opt.Length, "the duration of a measurement")
	flags.IntVar(&opt.Users, "users", opt.Users, "number of users in the sample network, with 20 follows and 10 posts each")
	flags.IntVar(&opt.Followers, "followers", opt.Followers, "number of followers of the author whose post is fanned out")
	flags.IntVar(&opt.Records, "records", opt.Records, "number of commands in a mass insertion")
	flags.IntVar(&opt.Stored, "stored", opt.Stored, "number of records to query and terms to complete")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen := parts
	if only != "" {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == only })
		if i < 0 {
			return fmt.Errorf("--only %q: unknown part; choose from\n%s", only, list())
		}
		chosen = parts[i : i+1]
	}
	for _, p := range chosen {
		fmt.Printf("%s: %s\n", p.name, p.about)
		if err := p.write(ctx, opt, out); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// list describes the parts, one per line.
func list() string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "  %-14s %s\n", p.name, p.about)
	}
	return strings.TrimRight(b.String(), "\n")
}

// maxPart is the timeout of each part. The default options need less time.
const maxPart = 10 * time.Minute

// write measures the part and writes it to the page.
func (p part) write(ctx context.Context, opt measure.Options, out string) error {
	stamp, err := page.Stamp(ctx, time.Now())
	if err != nil {
		return err
	}
	if opt.Dir, err = os.MkdirTemp("", "retwis-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(opt.Dir)
	ctx, cancel := context.WithTimeoutCause(ctx, maxPart, fmt.Errorf("not finished after %v; nothing was written", maxPart))
	defer cancel()
	text, err := p.measure(ctx, opt)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	text = page.Stamped(text, stamp)
	fmt.Print(text)
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return page.Write(filepath.Join(out, "benchmarks.md"), names, p.name, text)
}
