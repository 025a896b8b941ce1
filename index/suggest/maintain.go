package suggest

import (
	"context"
	"errors"
	"strconv"

	"retwis/index"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// A step of a scan compares approximately so many entries. Later steps adapt to the length
// of the names, since each byte of a name is a prefix that may have a cached list.
const (
	firstStep = 10
	mostStep  = 50
)

// Verify compares entries, terms and the top-k cache with each other, and reports entries
// without a term, terms without an entry or with another count, entries with a wrong
// score, and cached lists that lack a term. A step compares about fifty entries, fewer
// long ones, atomically, so that concurrent writes do not disturb it. Without an index it
// returns index.ErrNotFound.
func (x *Index) Verify(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	return x.maintenance().compare(ctx, opt, false)
}

// Repair is Verify that corrects the problems in the step that finds them. On conflict
// the term in <key>.content wins over its entry; a lost term is restored from its entry.
func (x *Index) Repair(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	return x.maintenance().compare(ctx, opt, true)
}

// checker is a running Verify or Repair.
type checker struct {
	*engine.Run
	x      *Index
	repair bool
	size   int // entries of the next step
}

// maintenance compares an index with itself or with a source, and fills it anew.
type maintenance struct{ x *Index }

func (x *Index) maintenance() maintenance { return maintenance{x} }

func (mt maintenance) compare(ctx context.Context, opt maintain.Options, repair bool) (report maintain.Report, err error) {
	defer mt.x.wrap(&err)
	if _, err := partition.Read(ctx, mt.x.set.Client, mt.x.set.Key); err != nil && !(repair && errors.Is(err, index.ErrNotFound)) {
		return report, err
	}
	c := checker{Run: engine.Start(opt), x: mt.x, repair: repair}
	err = c.run(ctx)
	return c.Report, err
}

func (c *checker) run(ctx context.Context) (err error) {
	if c.Total, err = c.x.set.Len(ctx); err != nil {
		return err
	}
	if err := c.x.maintenance().tracker().Leftovers(ctx, c.Run, c.repair); err != nil {
		return err
	}
	// Order matters: remove invalid lists before looking for missing ones, and invalid
	// entries before missing ones.
	for part := range c.x.completer.keys {
		before := c.Report.Problems()
		for _, what := range []string{"lists", "entries", "content"} {
			if err := c.scan(ctx, part, what); err != nil {
				return err
			}
		}
		// What was repaired may have changed the lists that were compared before.
		for range 3 {
			if !c.repair || c.Report.Problems() == before {
				break
			}
			before = c.Report.Problems()
			if err := c.scan(ctx, part, "lists"); err != nil {
				return err
			}
		}
	}
	return nil
}

// scan compares all lists, entries or terms of a partition.
func (c *checker) scan(ctx context.Context, part int, what string) (err error) {
	c.size = firstStep
	for cursor, more := "0", true; more; more = cursor != "0" {
		if cursor, err = c.step(ctx, part, what, cursor); err != nil {
			return err
		}
	}
	return nil
}

// step compares the next entries of a partition and returns the cursor after them.
func (c *checker) step(ctx context.Context, part int, what, cursor string) (next string, err error) {
	repair := "0"
	if c.repair {
		repair = "1"
	}
	args := append(c.x.set.Args(), what, cursor, strconv.Itoa(c.size), repair)
	reply, err := c.x.completer.scripts.verify.Run(ctx, c.x.set.Client, c.x.completer.keys[part].all(), args).ToArray()
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
		c.size = int(max(1, min(mostStep, batchBytes*n/max(bytes, 1))))
	}
	if err := c.report(ctx, part, problems); err != nil {
		return "", err
	}
	if what != "entries" {
		return next, c.Uncounted(ctx, int(n))
	}
	return next, c.Step(ctx, int(n))
}

// report counts the problems in the reply of verify.lua, and rebuilds the lists that the
// script left.
func (c *checker) report(ctx context.Context, part int, problems []string) error {
	for ; len(problems) >= 5; problems = problems[5:] {
		p := maintain.Problem{Kind: maintain.Kind(problems[0]), ID: problems[1], Found: problems[2], Want: problems[3]}
		c.Found(p)
		if problems[4] == "rebuild" {
			err := c.x.completer.rebuildList(ctx, part, p.ID)
			if errors.Is(err, index.ErrCorrupt) {
				continue // run compares the lists again, once all counts agree
			}
			if err != nil {
				return err
			}
		}
		if problems[4] != "" {
			c.Report.Repaired++
		}
	}
	return nil
}
