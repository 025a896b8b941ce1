// Command bench measures Retwis side by side with a handler that answers the
// same bytes from memory, and each package of the toolkit side by side with the
// libraries that people use for the same purpose. It writes the results to
// docs/benchmarks.md.
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

	"retwis/bench/bulk"
	"retwis/bench/index"
	"retwis/bench/locks"
	"retwis/bench/measure"
	"retwis/bench/model"
	"retwis/bench/page"
	"retwis/bench/pictures"
	"retwis/bench/ratelimit"
	"retwis/bench/site"
	"retwis/bench/text"
)

// part is a part of docs/benchmarks.md, which can be measured and written without the others.
type part struct {
	name, about string
	measure     func(ctx context.Context, opt measure.Options) (text string, err error)
}

// parts are in the order of the page.
var parts = []part{
	{"site", "pages, and a post to very many followers", site.Pages},
	{"conversations", "posts, replies, likes and bookmarks", site.Conversations},
	{"follow", "who to follow, at 100,000 users", site.WhoToFollow},
	{"trends", "people counted for trends, and trends made of them", site.Trends},
	{"live", "open pages, and how soon they show a post", site.Live},
	{"scale", "posts on a Cluster", site.Scale},
	{"locks", "redlock beside redsync, redislock and rueidislock", locks.Locks},
	{"bulk", "retwis load beside redis-cli --pipe, and snapshots", bulk.Bulk},
	{"index", "ordered indexes beside ZADD and ZRANGE", index.Ordered},
	{"suggest", "completion beside the sorted set of the tutorial", index.Suggest},
	{"graph", "triples beside ZADD and ZRANGE", index.Graph},
	{"space", "places beside GEOADD and GEOSEARCH", index.Space},
	{"text", "full-text search beside sorted sets, strings and bleve", text.Text},
	{"text-compare", "full-text search beside SQLite FTS5 and bleve: the same results", text.Compare},
	{"model", "records beside plain commands", model.Model},
	{"pictures", "a photo beside one decoding and one encoding", pictures.Pictures},
	{"ratelimit", "decisions beside redis_rate", ratelimit.RateLimits},
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
	var only string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&opt.Out, "out", "../docs", "where to write benchmarks.md and its plot")
	flags.StringVar(&only, "only", "", "the one `part` to measure; the rest of the page stays:\n"+list())
	flags.IntVar(&opt.Rounds, "rounds", opt.Rounds, "how often to measure each side; the medians are reported")
	flags.DurationVar(&opt.Length, "length", opt.Length, "how long a measurement takes")
	flags.IntVar(&opt.Users, "users", opt.Users, "users of the sample network; 20 follows and 10 posts for each")
	flags.IntVar(&opt.Followers, "followers", opt.Followers, "followers of the author of the fanned-out post")
	flags.IntVar(&opt.Records, "records", opt.Records, "commands of a mass insertion")
	flags.IntVar(&opt.Stored, "stored", opt.Stored, "records to query, and terms to complete")
	flags.StringVar(&opt.Before, "before", "", "a `program` of an earlier version to measure too: its pages, and its posts on a Cluster")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen := parts
	if only != "" {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == only })
		if i < 0 {
			return fmt.Errorf("--only %q: there are\n%s", only, list())
		}
		chosen = parts[i : i+1]
	}
	for _, p := range chosen {
		fmt.Printf("%s: %s\n", p.name, p.about)
		if err := p.write(ctx, opt); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// list returns the names of the parts, and what they are about.
func list() string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "  %-14s %s\n", p.name, p.about)
	}
	return strings.TrimRight(b.String(), "\n")
}

// maxPart limits the time of a part with the default options.
const maxPart = 10 * time.Minute

// write measures the part and writes it to the page.
func (p part) write(ctx context.Context, opt measure.Options) (err error) {
	measured, err := page.Stamp(ctx, time.Now())
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
	text = page.Stamped(text, measured)
	fmt.Print(text)
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return page.Write(filepath.Join(opt.Out, "benchmarks.md"), names, p.name, text)
}
