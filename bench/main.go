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
	"strings"
	"time"
)

// options are how long and how often to measure.
type options struct {
	out       string
	only      string
	rounds    int
	length    time.Duration
	users     int
	followers int
	records   int
	stored    int
	before    string
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
	if len(args) == 2 && args[0] == memoryMode {
		return serveMemory(ctx, args[1])
	}
	if len(args) == 2 && args[0] == openPagesMode {
		return servePages(ctx, args[1], os.Stdin, os.Stdout)
	}
	var opt options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&opt.out, "out", "../docs", "where to write benchmarks.md and its plot")
	flags.StringVar(&opt.only, "only", "", "the one `part` to measure: "+strings.Join(parts, ", ")+"; the rest of the page stays")
	flags.IntVar(&opt.rounds, "rounds", 7, "how often to measure each side; the medians are reported")
	flags.DurationVar(&opt.length, "length", 2*time.Second, "how long a measurement takes")
	flags.IntVar(&opt.users, "users", 1000, "users of the sample network; 20 follows and 10 posts for each")
	flags.IntVar(&opt.followers, "followers", 100_000, "followers of the author of the fanned-out post")
	flags.IntVar(&opt.records, "records", 2_000_000, "commands of a mass insertion")
	flags.IntVar(&opt.stored, "stored", 1_000_000, "records to query, and terms to complete")
	flags.StringVar(&opt.before, "before", "", "a `program` of an earlier version, whose pages are measured too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "retwis-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	for _, part := range []struct {
		name    string
		measure func(ctx context.Context, dir string, opt options) (string, error)
	}{
		{"site", measureSite},
		{"viewers", measureViewers},
		{"conversations", measureConversations},
		{"threads", measureThreads},
		{"locks", measureLocks},
		{"bulk", measureBulk},
		{"snapshots", measureSnapshots},
		{"index", measureIndex},
		{"hashes", measureHashes},
		{"suggest", measureSuggest},
		{"graph", measureGraph},
		{"space", measureSpace},
		{"radius", measureRadius},
		{"model", measureModel},
		{"mapping", measureMapping},
		{"live", measureLive},
		{"ratelimit", measureRateLimit},
		{"scale", measureScale},
	} {
		if opt.only != "" && opt.only != part.name {
			continue
		}
		text, err := part.measure(ctx, dir, opt)
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		if err := writePart(filepath.Join(opt.out, "benchmarks.md"), part.name, text); err != nil {
			return err
		}
	}
	return nil
}

// measureSite measures Retwis itself.
func measureSite(ctx context.Context, dir string, opt options) (string, error) {
	site, err := startSite(ctx, filepath.Join(dir, "retwis"), dir, opt)
	if err != nil {
		return "", err
	}
	defer site.stop()
	pages, err := comparePages(ctx, site, dir, opt)
	if err != nil {
		return "", err
	}
	fan, err := measureFanOut(ctx, site, opt)
	if err != nil {
		return "", err
	}
	r := report{opt: opt, site: site, pages: pages, fan: fan}
	return r.markdown(), r.draw(filepath.Join(opt.out, "benchmarks.svg"))
}
