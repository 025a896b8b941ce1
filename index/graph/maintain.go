package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"retwis/index"
	"retwis/index/graph/internal/entries"
	engine "retwis/internal/maintain"
	"retwis/maintain"
)

const (
	pageSize    = 250 // entries in a step of a comparison
	sourceBatch = 500 // triples of a source compared in a step
)

// Verify scans all entries in bounded steps. It reports triples that lack an order or have a
// score other than 0, and entries that do not belong to a triple. If source is not nil, it
// yields the triples that the graph should have, and Verify also reports missing triples. Verify
// does not report triples that are not in the source; Rebuild drops them.
//
// While a sorted set grows, Redis may return an entry twice; such an entry is counted twice.
func (g *Graph) Verify(ctx context.Context, source iter.Seq2[Triple, error], opt maintain.Options) (maintain.Report, error) {
	return g.compare(ctx, source, opt, false)
}

// Repair corrects what Verify reports. It completes triples that have at least half
// of their orders, and removes other incomplete triples and entries that do not belong to a
// triple. The script that changes a triple compares it again, so that concurrent writes are
// kept. Triples of the source that the graph lacks are put.
func (g *Graph) Repair(ctx context.Context, source iter.Seq2[Triple, error], opt maintain.Options) (maintain.Report, error) {
	return g.compare(ctx, source, opt, true)
}

// Adopt turns a sorted set created by hand, as in the tutorial, into a graph: it stores the
// declaration, so that Open accepts it, and changes no entry. It scans all entries as Verify
// does. The report lists entries that do not belong to a triple, and incomplete triples; Repair
// corrects them. Report.Checked is the number of triples that are now in the graph. Adopt can
// be repeated, and does not harm an existing graph.
//
// Adopt returns index.ErrValue if the set has no spo entries, and index.ErrNotFound if the key
// does not exist. A graph that has only the orders of Options.Compact is adopted only with
// that option.
func (g *Graph) Adopt(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	all, err := g.store.Set.Len(ctx)
	if err != nil {
		return maintain.Report{}, g.store.Wrap(ctx, err)
	}
	if all == 0 {
		if _, err := Open(ctx, g.store.Set.Client, g.store.Set.Key); errors.Is(err, index.ErrNotFound) { // not even an empty graph
			return maintain.Report{}, fmt.Errorf("graph: %w: there is no sorted set %q", index.ErrNotFound, g.store.Set.Keys[0].Index)
		} else if err != nil {
			return maintain.Report{}, err
		}
	}
	report, err := g.Verify(ctx, nil, opt)
	if err != nil {
		return report, err
	}
	if report.Checked, err = g.Len(ctx); err != nil {
		return report, err
	}
	if all > 0 && report.Checked == 0 {
		return report, fmt.Errorf("graph: %w: none of the %d entries of %q is the spo entry of a triple", index.ErrValue, all, g.store.Set.Key)
	}
	if !g.store.compact && all > 0 {
		n, err := g.store.Counts(ctx, []entries.Range{Pattern{}.in(sop, 0), Pattern{}.in(pso, 0), Pattern{}.in(ops, 0)})
		if err != nil {
			return report, err
		}
		if n[0]+n[1]+n[2] == 0 {
			return report, fmt.Errorf("graph: %w: %q has the three orders of a compact graph: adopt it with Options.Compact or --compact", index.ErrValue, g.store.Set.Key)
		}
	}
	return report, g.store.Wrap(ctx, g.store.Set.Adopt(ctx))
}

// compare runs Verify or, if repair is set, Repair.
func (g *Graph) compare(ctx context.Context, source iter.Seq2[Triple, error], opt maintain.Options, repair bool) (maintain.Report, error) {
	c := checker{Run: engine.Start(opt), g: g, repair: repair}
	err := c.run(ctx, source)
	return c.Report, err
}

func (c *checker) run(ctx context.Context, source iter.Seq2[Triple, error]) error {
	g := c.g
	var err error
	if c.Total, err = g.store.Set.Len(ctx); err != nil {
		return g.store.Wrap(ctx, err)
	}
	if err := g.tracker.Leftovers(ctx, c.Run, c.repair); err != nil {
		return g.store.Wrap(ctx, err)
	}
	if err := c.Entries(ctx, g.store.Set, pageSize, func(i int, page []string) (int, error) { return c.entries(ctx, i, page) }); err != nil {
		return g.store.Wrap(ctx, err)
	}
	if source == nil {
		return nil
	}
	return c.source(ctx, source)
}

// source compares the triples of a source with the graph.
func (c *checker) source(ctx context.Context, source iter.Seq2[Triple, error]) error {
	for batch, err := range inBatches(source, sourceBatch) {
		if err != nil {
			return err
		}
		found, err := c.g.store.present(ctx, batch)
		if err != nil {
			return err
		}
		var missing []Triple
		for i, t := range batch {
			if !found[i] {
				missing = append(missing, t)
				c.Found(maintain.Problem{Kind: maintain.Missing, ID: t.id(), Want: "the triple of the source"})
			}
		}
		if c.repair && len(missing) > 0 {
			n, err := c.g.PutMany(ctx, slices.Values(missing))
			c.Report.Repaired += int64(n)
			if err != nil {
				return err
			}
		}
		if err := c.Step(ctx, len(batch)); err != nil {
			return err
		}
	}
	return nil
}

// inBatches validates the triples of a source and yields n at a time.
func inBatches(source iter.Seq2[Triple, error], n int) iter.Seq2[[]Triple, error] {
	return func(yield func([]Triple, error) bool) {
		var batch []Triple
		position := 0
		for t, err := range source {
			position++
			if err == nil && t.check() != nil {
				err = fmt.Errorf("graph: triple %d of the source: %w", position, t.check())
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

// Rebuild builds a new graph from a source, which yields all triples. The new graph then
// replaces the current one atomically, partition by partition. Concurrent writes win over the
// source. The report counts the triples of the source.
//
// A failed rebuild changes nothing, except for partitions already replaced. Leftovers of a
// killed rebuild are removed a minute later by the next write or Repair. If another rebuild
// starts, the first rebuild returns maintain.ErrReplaced.
func (g *Graph) Rebuild(ctx context.Context, source iter.Seq2[Triple, error], opt maintain.Options) (maintain.Report, error) {
	run := engine.Start(opt)
	var sourceErr error
	err := g.tracker.Rebuild(ctx, engine.Rebuild{Finish: g.finish, Fill: func(ctx context.Context, name string) error {
		w, err := g.newWriter(ctx, g.fill, name)
		if err != nil {
			return err
		}
		for batch, err := range inBatches(source, sourceBatch) {
			if sourceErr = err; err != nil {
				_ = w.Close() // the first error is returned
				return err
			}
			for _, t := range batch {
				if err := w.Add(g.place(t)); err != nil {
					return err
				}
			}
			if err := run.Step(ctx, len(batch)); err != nil {
				_ = w.Close()
				return err
			}
		}
		return w.Close()
	}})
	return run.Report, cmp.Or(sourceErr, g.store.Wrap(ctx, err))
}
