package check

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/app"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/nodes"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/social/posts"
	"retwis/internal/social/storage"

	"retwis/maintain"
)

// checker is the state shared by all steps of a check.
type checker struct {
	client      rueidis.Client
	app         *app.App
	fanOut      *posts.Engine
	lists       *collection.Timelines
	names       *storage.Directory
	celebrities *storage.Celebrities // nil on a single server
	now         func() time.Time
	opt         Options
	repair      bool
	cluster     bool

	running *sync.Mutex // held by the running goroutine; see unlockingClient

	run     *engine.Run
	result  Result
	rules   []rule
	foreign map[string]bool // keys without an ID that have the wrong type

	sinceLatest time.Time // the earliest time from which `users_by_time` is complete on a Cluster

	lastUser   int64 // the largest user ID in use
	lastPost   int64 // the largest post ID in use
	adopted    int64 // the last post that an older program wrote
	knownUsers known[bool]
	knownPosts known[state]
}

func newChecker(s *app.App, opt Options, repair bool) *checker {
	running := new(sync.Mutex)
	in := s.Internals()
	client := unlockingClient{in.Client, running}
	return &checker{
		running: running,
		client:  client, app: s, fanOut: in.FanOut, lists: in.Lists, names: in.Directory, celebrities: in.Celebrities,
		now: in.Now, opt: opt, repair: repair, cluster: in.Client.Mode() == rueidis.ClientModeCluster, run: engine.Start(opt.Options),
	}
}

// finish returns the result.
func (c *checker) finish() Result {
	c.result.Report = c.run.Report
	c.result.Report.Repaired = c.result.Repaired
	return c.result
}

const (
	// scanCount is the number of keys or fields that one step of a scan requests. A step takes the
	// server well under a millisecond.
	scanCount = 1000
	// scanTimeout limits the wait for a node of a Cluster, because the node may be gone for good.
	scanTimeout = 15 * time.Second
)

// begin counts the keys and reads the ID of the last post of an older program.
func (c *checker) begin(ctx context.Context) error {
	masters, err := nodes.Masters(ctx, c.client)
	if err != nil {
		return err
	}
	for _, master := range masters {
		ctx, cancel := context.WithTimeout(ctx, scanTimeout)
		size, err := master.Client.Do(ctx, master.Client.B().Dbsize().Build()).AsInt64()
		cancel()
		if err != nil {
			return err
		}
		c.run.Total += size
		if c.repair {
			c.run.Total += (phases - 1) * size
		}
	}
	last, err := reply.TextOrEmpty(c.client.Do(ctx, c.client.B().Get().Key(storage.AdoptedPosts).Build()))
	c.adopted, _ = storage.ParseID(last)
	return err
}

// fix repairs a problem and reports whether the problem still existed.
type fix func(ctx context.Context) (bool, error)

// found reports a problem, after repairing it if requested and possible.
func (c *checker) found(ctx context.Context, p Problem, repair fix) error {
	return c.foundAll(ctx, []Problem{p}, repair)
}

// foundAll reports problems that share one repair.
func (c *checker) foundAll(ctx context.Context, problems []Problem, repair fix) error {
	repaired := false
	if c.repair && repair != nil {
		var err error
		repaired, err = repair(ctx)
		switch {
		case rediserr.IsWrongType(err): // the key was replaced meanwhile; the next check reports it
		case err != nil:
			return fmt.Errorf("repair of key %s: %w", problems[0].Key, err)
		case !repaired:
			return nil // correct by now
		}
	}
	for _, p := range problems {
		p.Repaired = repaired
		c.run.Found(maintain.Problem{Kind: p.Kind, ID: p.Key, Found: p.Detail})
		if p.Leftover {
			c.result.Leftovers++
		} else {
			c.result.Problems++
		}
		switch {
		case repaired:
			c.result.Repaired++
		case !p.Leftover:
			c.result.Remaining++
		}
		c.opt.Report(p)
	}
	return nil
}

// hash calls visit with each page of a hash.
func (c *checker) hash(ctx context.Context, key string, visit func(fields, values []string) error) error {
	return c.pairs(ctx, scan.Hash(ctx, c.client, key, scanCount), visit)
}

// sortedSet calls visit with each page of a sorted set.
func (c *checker) sortedSet(ctx context.Context, key string, visit func(members, scores []string) error) error {
	return c.pairs(ctx, scan.SortedSet(ctx, c.client, key, scanCount), visit)
}

// set calls visit with each page of a set.
func (c *checker) set(ctx context.Context, key string, visit func(members []string) error) error {
	return c.pages(ctx, scan.Set(ctx, c.client, key, scanCount), 1, visit)
}

// pairs splits pages in which names and values alternate.
func (c *checker) pairs(ctx context.Context, pages iter.Seq2[[]string, error], visit func(names, values []string) error) error {
	return c.pages(ctx, pages, 2, func(page []string) error {
		names, values := make([]string, len(page)/2), make([]string, len(page)/2)
		for i := range names {
			names[i], values[i] = page[2*i], page[2*i+1]
		}
		return visit(names, values)
	})
}

// pages calls visit with each page; each entry consists of the given number of values.
func (c *checker) pages(ctx context.Context, pages iter.Seq2[[]string, error], values int, visit func(page []string) error) error {
	for page, err := range pages {
		if rediserr.IsWrongType(err) {
			return nil // the key was replaced meanwhile; the next check reports it
		}
		if err != nil {
			return err
		}
		if len(page) < values {
			continue
		}
		if err := visit(page); err != nil {
			return err
		}
		if err := c.run.Pace(ctx, len(page)/values); err != nil {
			return err
		}
	}
	return nil
}
