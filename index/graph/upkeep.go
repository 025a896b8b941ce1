package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"

	engine "retwis/internal/maintain"
	"retwis/internal/scan"
	"retwis/maintain"
)

// walkStep is how many entries upkeep looks at in one step.
const walkStep = 250

// Verify walks all entries, in bounded steps beside whatever else goes on, and
// reports triples that are not there in every order, or with a score that is
// not 0, and entries that no triple has. With a source, which yields the triples
// that there should be, it also reports those that are missing altogether; nil:
// no source. Triples that the source does not know are no problem: Rebuild
// drops them.
//
// An entry that Redis shows twice, as it may while a set grows, is counted
// twice.
func (g *Graph) Verify(ctx context.Context, source iter.Seq2[Triple, error], up maintain.Options) (maintain.Report, error) {
	return g.examine(ctx, source, up, false)
}

// Repair finds what Verify finds, and mends it. Of a triple that is there in
// part, at least half of its orders bring back the others, and fewer are
// removed; entries of nothing are removed. Each is looked at again in the
// script that mends it, so that writers are never overwritten. Missing triples
// of the source are put.
func (g *Graph) Repair(ctx context.Context, source iter.Seq2[Triple, error], up maintain.Options) (maintain.Report, error) {
	return g.examine(ctx, source, up, true)
}

// examiner is one run of Verify or Repair.
type examiner struct {
	*engine.Run
	g      *Graph
	repair bool
}

func (g *Graph) examine(ctx context.Context, source iter.Seq2[Triple, error], up maintain.Options, repair bool) (maintain.Report, error) {
	x := examiner{Run: engine.Start(up), g: g, repair: repair}
	err := x.run(ctx, source)
	return x.Report, err
}

func (x *examiner) run(ctx context.Context, source iter.Seq2[Triple, error]) error {
	g := x.g
	if err := g.check(ctx); err != nil {
		return err
	}
	for i := range g.set.Keys {
		n, err := g.set.Client.Do(ctx, g.set.Client.B().Zcard().Key(g.set.Keys[i].Index).Build()).AsInt64()
		if err != nil {
			return g.wrap(ctx, err)
		}
		x.Total += n
	}
	for i := range g.set.Keys {
		pages := scan.SortedSet(ctx, g.set.Client, g.set.Keys[i].Index, walkStep)
		err := x.Pages(ctx, pages, func(page []string) (int, error) { return x.entries(ctx, i, page) })
		if err != nil {
			return err
		}
	}
	if source == nil {
		return nil
	}
	return x.source(ctx, source)
}

// source looks whether the triples of a source are there.
func (x *examiner) source(ctx context.Context, source iter.Seq2[Triple, error]) error {
	for some, err := range inBatches(source, step) {
		if err != nil {
			return err
		}
		found, err := x.g.present(ctx, some)
		if err != nil {
			return err
		}
		var missing []Triple
		for i, t := range some {
			if !found[i] {
				missing = append(missing, t)
				x.tell(maintain.Missing, t.id(), "", "what the source has")
			}
		}
		if x.repair && len(missing) > 0 {
			n, err := x.g.PutMany(ctx, slices.Values(missing))
			x.Report.Repaired += int64(n)
			if err != nil {
				return err
			}
		}
		if err := x.Step(ctx, len(some)); err != nil {
			return err
		}
	}
	return nil
}

// inBatches yields what a source yields, so many at a time, each checked.
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
