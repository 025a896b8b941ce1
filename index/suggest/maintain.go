package suggest

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"retwis/index"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// The approximate number of entries compared in a step of a scan. Steps adapt to the length of
// the names, since each byte of a name ends a prefix that may have a cached list.
const (
	firstStep = 10
	maxStep   = 50
)

// Verify compares entries, terms and the top-k cache with each other. It reports entries
// without a term, terms without an entry or with a different count, entries with a wrong score,
// and cached lists that lack a term. A step compares about fifty entries, or fewer if they are
// long, atomically, so that concurrent writes do not affect the comparison. If there is no
// index, Verify returns index.ErrNotFound.
func (x *Index) Verify(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	return x.compare(ctx, opt, false)
}

// Repair corrects what Verify reports, in the same step. The term in <key>.content wins over its
// entry; a lost term is restored from its entry, without its
// payload. A wrong cached list is rebuilt by the next completion that reads it.
func (x *Index) Repair(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	return x.compare(ctx, opt, true)
}

// compare runs Verify or, if repair is set, Repair.
func (x *Index) compare(ctx context.Context, opt maintain.Options, repair bool) (report maintain.Report, err error) {
	defer x.wrap(&err)
	if _, err := partition.Read(ctx, x.set.Client, x.set.Key); err != nil && !(repair && errors.Is(err, index.ErrNotFound)) {
		return report, err
	}
	c := checker{Run: engine.Start(opt), x: x, repair: "0"}
	if repair {
		c.repair = "1"
	}
	if c.Total, err = x.set.Len(ctx); err != nil {
		return report, err
	}
	if err := x.tracker().Leftovers(ctx, c.Run, repair); err != nil {
		return c.Report, err
	}
	for part := range x.keys {
		// In this order: invalid entries must be removed before missing entries are searched
		// for.
		for _, target := range []string{"entries", "content"} {
			if err := c.scan(ctx, part, target); err != nil {
				return c.Report, err
			}
		}
	}
	return c.Report, nil
}

// checker is a running Verify or Repair.
type checker struct {
	*engine.Run
	x      *Index
	repair string // "1": correct the problems
	size   int    // entries in the next step
}

// scan compares all entries or terms of a partition. target is entries or content.
func (c *checker) scan(ctx context.Context, part int, target string) (err error) {
	c.size = firstStep
	for cursor, more := "0", true; more; more = cursor != "0" {
		if cursor, err = c.step(ctx, part, target, cursor); err != nil {
			return err
		}
	}
	return nil
}

// step compares the next entries of a partition and returns the cursor after them.
func (c *checker) step(ctx context.Context, part int, target, cursor string) (next string, err error) {
	args := append(c.x.set.Args(), target, cursor, strconv.Itoa(c.size), c.repair)
	reply, err := c.x.scripts.verify.Run(ctx, c.x.set.Client, c.x.keys[part].all(), args).ToArray()
	if err := c.x.set.Error(ctx, err); err != nil {
		return "", err
	}
	if next, err = reply[0].ToString(); err != nil {
		return "", err
	}
	n, err := reply[1].AsInt64()
	if err != nil {
		return "", err
	}
	problems, err := reply[2].AsStrSlice()
	if err != nil {
		return "", err
	}
	bytes, err := reply[3].AsInt64()
	if err != nil {
		return "", err
	}
	if n > 0 {
		c.size = int(max(1, min(maxStep, batchBytes*n/max(bytes, 1))))
	}
	for p := range slices.Chunk(problems, 4) {
		c.Found(maintain.Problem{Kind: maintain.Kind(p[0]), ID: p[1], Found: p[2], Want: p[3]})
		if c.repair == "1" {
			c.Report.Repaired++
		}
	}
	if target != "entries" {
		return next, c.Uncounted(ctx, int(n))
	}
	return next, c.Step(ctx, int(n))
}
