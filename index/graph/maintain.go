package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"

	engine "retwis/internal/maintain"
	"retwis/maintain"
)

// pageSize is how many entries one step compares.
const pageSize = 250

// Verify scans all entries, in bounded steps, and reports triples that lack one of their
// orders or have a score other than 0, and entries that are no part of a triple. With a
// source, which yields the triples that there should be, it also reports those that are
// missing altogether; nil: no source. Triples that the source does not have are no
// problem: Rebuild drops them.
//
// An entry that Redis returns twice, as it may while a sorted set grows, is counted
// twice.
func (g *Graph) Verify(ctx context.Context, source iter.Seq2[Triple, error], opt maintain.Options) (maintain.Report, error) {
	return g.compare(ctx, source, opt, false)
}

// Repair finds what Verify finds and corrects it. If a triple is there in at least half of
// its orders, the others are added, otherwise they are removed; other entries are removed.
// Each triple is compared again in the script that changes it, so that concurrent writes
// stay. Missing triples of the source are put.
func (g *Graph) Repair(ctx context.Context, source iter.Seq2[Triple, error], opt maintain.Options) (maintain.Report, error) {
	return g.compare(ctx, source, opt, true)
}

// checker is a Verify or Repair under way.
type checker struct {
	*engine.Run
	g      *Graph
	repair bool
}

func (g *Graph) compare(ctx context.Context, source iter.Seq2[Triple, error], opt maintain.Options, repair bool) (maintain.Report, error) {
	c := checker{Run: engine.Start(opt), g: g, repair: repair}
	err := c.run(ctx, source)
	return c.Report, err
}

func (c *checker) run(ctx context.Context, source iter.Seq2[Triple, error]) error {
	g := c.g
	if err := g.check(ctx); err != nil {
		return err
	}
	for i := range g.set.Keys {
		n, err := g.set.Client.Do(ctx, g.set.Client.B().Zcard().Key(g.set.Keys[i].Index).Build()).AsInt64()
		if err != nil {
			return g.wrap(ctx, err)
		}
		c.Total += n
	}
	if err := g.tracker.Leftovers(ctx, c.Run, c.repair); err != nil {
		return g.wrap(ctx, err)
	}
	if err := c.Entries(ctx, g.set, pageSize, func(i int, page []string) (int, error) { return c.entries(ctx, i, page) }); err != nil {
		return g.wrap(ctx, err)
	}
	if source == nil {
		return nil
	}
	return c.source(ctx, source)
}

// source compares the triples of a source with the graph.
func (c *checker) source(ctx context.Context, source iter.Seq2[Triple, error]) error {
	for some, err := range inBatches(source, step) {
		if err != nil {
			return err
		}
		found, err := c.g.present(ctx, some)
		if err != nil {
			return err
		}
		var missing []Triple
		for i, t := range some {
			if !found[i] {
				missing = append(missing, t)
				c.Found(maintain.Problem{Kind: maintain.Missing, ID: t.id(), Want: "what the source has"})
			}
		}
		if c.repair && len(missing) > 0 {
			n, err := c.g.PutMany(ctx, slices.Values(missing))
			c.Report.Repaired += int64(n)
			if err != nil {
				return err
			}
		}
		if err := c.Step(ctx, len(some)); err != nil {
			return err
		}
	}
	return nil
}

// inBatches yields the triples of a source, n at a time, each checked.
func inBatches(source iter.Seq2[Triple, error], n int) iter.Seq2[[]Triple, error] {
	return func(yield func([]Triple, error) bool) {
		var batch []Triple
		at := 0
		for t, err := range source {
			at++
			if err == nil && t.check() != nil {
				err = fmt.Errorf("graph: triple %d of the source: %w", at, t.check())
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if batch = append(batch, t); len(batch) == n {
				if !yield(batch, nil) {
					return
				}
				batch = nil
			}
		}
		if len(batch) > 0 {
			yield(batch, nil)
		}
	}
}
