package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"retwis/index"
	"retwis/internal/partition"
	"retwis/internal/scan"
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
// twice. After a cut, Upkeep.After goes on behind the entries that were looked
// at; a source is gone through from its start.
func (g *Graph) Verify(ctx context.Context, source iter.Seq2[Triple, error], up index.Upkeep) (index.Report, error) {
	return g.examine(ctx, source, up, false)
}

// Repair finds what Verify finds, and mends it. Of a triple that is there in
// part, at least half of its orders bring back the others, and fewer are
// removed; entries of nothing are removed. Each is looked at again in the
// script that mends it, so that writers are never overwritten. Missing triples
// of the source are put.
func (g *Graph) Repair(ctx context.Context, source iter.Seq2[Triple, error], up index.Upkeep) (index.Report, error) {
	return g.examine(ctx, source, up, true)
}

// examiner is one run of Verify or Repair.
type examiner struct {
	g      *Graph
	up     index.Upkeep
	repair bool
	report index.Report
	pace   *partition.Pace
	total  int64
	began  time.Time
}

func (g *Graph) examine(ctx context.Context, source iter.Seq2[Triple, error], up index.Upkeep, repair bool) (index.Report, error) {
	at, cursor, err := whereFrom(up.After)
	if err != nil {
		return index.Report{}, err
	}
	if err := g.check(ctx); err != nil {
		return index.Report{}, err
	}
	x := examiner{g: g, up: up, repair: repair, pace: partition.NewPace(up.Rate), began: time.Now()}
	for i := range g.set.Keys {
		n, err := g.set.Client.Do(ctx, g.set.Client.B().Zcard().Key(g.set.Keys[i].Index).Build()).AsInt64()
		if err != nil {
			return x.report, g.wrap(ctx, err)
		}
		x.total += n
	}
	for ; at < len(g.set.Keys); at++ {
		for {
			if cursor, err = x.entries(ctx, at, cursor); err != nil {
				return x.report, err
			}
			if cursor == 0 {
				break
			}
			x.progress(at, cursor)
		}
		x.progress(at+1, 0)
	}
	if source != nil {
		err = x.source(ctx, source)
	}
	return x.report, err
}

// progress tells how far a run has come.
func (x *examiner) progress(at int, cursor uint64) {
	if x.up.Progress != nil {
		place := scan.EncodeCursor(strconv.Itoa(at) + " " + strconv.FormatUint(cursor, 10))
		x.up.Progress(index.Progress{Report: x.report, Total: x.total, Elapsed: time.Since(x.began), Cursor: place})
	}
}

// whereFrom reads what progress wrote: a partition, and the cursor of a scan.
func whereFrom(after string) (at int, cursor uint64, err error) {
	if after == "" {
		return 0, 0, nil
	}
	place, err := scan.DecodeCursor(after)
	if err != nil {
		return 0, 0, invalid("%v", err)
	}
	if n, err := fmt.Sscanf(place, "%d %d", &at, &cursor); n != 2 || err != nil || at < 0 {
		return 0, 0, invalid("the cursor is not one that Verify or Repair gave")
	}
	return at, cursor, nil
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
				x.tell("missing", t.id(), "", "what the source has")
			}
		}
		if x.repair && len(missing) > 0 {
			n, err := x.g.PutMany(ctx, slices.Values(missing))
			x.report.Repaired += int64(n)
			if err != nil {
				return err
			}
		}
		x.report.Checked += int64(len(some))
		if err := x.pace.Done(ctx, len(some)); err != nil {
			return err
		}
		x.progress(len(x.g.set.Keys), 0)
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
