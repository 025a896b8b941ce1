package graph

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"retwis/index"
	"retwis/index/internal/partition"
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
		place := partition.EncodeCursor(strconv.Itoa(at) + " " + strconv.FormatUint(cursor, 10))
		x.up.Progress(index.Progress{Report: x.report, Total: x.total, Elapsed: time.Since(x.began), Cursor: place})
	}
}

// whereFrom reads what progress wrote: a partition, and the cursor of a scan.
func whereFrom(after string) (at int, cursor uint64, err error) {
	if after == "" {
		return 0, 0, nil
	}
	place, err := partition.DecodeCursor(after)
	if err != nil {
		return 0, 0, invalid("%v", err)
	}
	if n, err := fmt.Sscanf(place, "%d %d", &at, &cursor); n != 2 || err != nil || at < 0 {
		return 0, 0, invalid("the cursor is not one that Verify or Repair gave")
	}
	return at, cursor, nil
}

// entries looks at some entries of a partition and returns the cursor behind.
func (x *examiner) entries(ctx context.Context, at int, cursor uint64) (uint64, error) {
	client := x.g.set.Client
	scan := client.B().Zscan().Key(x.g.set.Keys[at].Index).Cursor(cursor).Count(walkStep).Build()
	scanned, err := client.Do(ctx, scan).AsScanEntry()
	if err != nil {
		return 0, x.g.wrap(ctx, err)
	}
	var entries []string
	for i := 0; i < len(scanned.Elements); i += 2 { // each has its score behind it
		entries = append(entries, scanned.Elements[i])
	}
	// A small set comes in one piece, whatever was asked for.
	for entries := range slices.Chunk(entries, walkStep) {
		if err := x.judge(ctx, at, entries); err != nil {
			return 0, err
		}
		x.report.Checked += int64(len(entries))
		if err := x.pace.Done(ctx, len(entries)); err != nil {
			return 0, err
		}
	}
	return scanned.Cursor, nil
}

// judge finds what is wrong with some entries of a partition, reports it and
// mends it.
func (x *examiner) judge(ctx context.Context, at int, entries []string) error {
	var junk []string
	shown := map[Triple][]Order{} // in which orders a triple is among the entries
	for _, entry := range entries {
		order, t, ok := parseEntry(entry)
		if !ok || !slices.Contains(kept(x.g.compact), order) || x.g.set.Index(t.S) != at {
			junk = append(junk, entry)
			x.tell("dangling", entry, entry, "")
			continue
		}
		shown[t] = append(shown[t], order)
	}
	suspects, err := x.suspects(ctx, at, shown)
	if err != nil {
		return err
	}
	scores, err := x.scores(ctx, at, suspects)
	if err != nil {
		return err
	}
	var broken []Triple
	for i, t := range suspects {
		kind, found, judge := x.verdict(scores[i])
		if kind != "" && slices.Contains(shown[t], judge) {
			broken = append(broken, t)
			x.tell(kind, t.id(), found, "an entry in every order, with score 0")
		}
	}
	if !x.repair {
		return nil
	}
	return x.mend(ctx, at, broken, junk)
}

// suspects are the triples that some entries are to judge. A triple is judged by
// its entry of spo, or where that is not there by the first that is: so it is
// reported once. Most entries have only to ask whether that of spo is there.
func (x *examiner) suspects(ctx context.Context, at int, shown map[Triple][]Order) ([]Triple, error) {
	var suspects, others []Triple
	var ids []string
	for t, orders := range shown {
		if slices.Contains(orders, SPO) {
			suspects = append(suspects, t)
		} else {
			others, ids = append(others, t), append(ids, t.id())
		}
	}
	scores, err := x.ask(ctx, at, ids)
	if err != nil {
		return nil, err
	}
	for i, t := range others {
		if scores[i] == nil {
			suspects = append(suspects, t)
		}
	}
	return suspects, nil
}

// scores are those of the entries of triples, in the orders that are kept.
func (x *examiner) scores(ctx context.Context, at int, triples []Triple) ([][]*float64, error) {
	orders := kept(x.g.compact)
	entries := make([]string, 0, len(triples)*len(orders))
	for _, t := range triples {
		e := t.escaped()
		for _, order := range orders {
			entries = append(entries, order.entry(e))
		}
	}
	scores, err := x.ask(ctx, at, entries)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(scores, len(orders))), nil
}

// ask returns the scores of entries, all of one moment, nil where there is none.
func (x *examiner) ask(ctx context.Context, at int, entries []string) ([]*float64, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	client := x.g.set.Client
	replies, err := client.Do(ctx, client.B().Zmscore().Key(x.g.set.Keys[at].Index).Member(entries...).Build()).ToArray()
	if err != nil {
		return nil, x.g.wrap(ctx, err)
	}
	scores := make([]*float64, len(entries))
	for i, reply := range replies {
		if reply.IsNil() {
			continue
		}
		score, err := reply.AsFloat64()
		if err != nil {
			return nil, x.g.wrap(ctx, err)
		}
		scores[i] = &score
	}
	return scores, nil
}

// verdict says what is wrong with a triple, if anything, what there is of it, and
// which of its entries is the one to say so.
func (x *examiner) verdict(scores []*float64) (kind, found string, judge Order) {
	var there []string
	wrong := false
	for i, order := range kept(x.g.compact) {
		score := scores[i]
		switch {
		case score == nil:
			continue
		case *score == 0:
			there = append(there, string(order))
		default:
			wrong = true
			there = append(there, fmt.Sprintf("%s with score %v", order, *score))
		}
		if judge == "" {
			judge = order
		}
	}
	found = strings.Join(there, ", ")
	switch {
	case len(there) == 0: // removed meanwhile
	case 2*len(there) < len(scores):
		kind = "dangling"
	case len(there) < len(scores):
		kind = "missing"
	case wrong:
		kind = "stale"
	}
	return kind, found, judge
}

// tell puts a problem into the report.
func (x *examiner) tell(kind, id, found, want string) {
	switch kind {
	case "missing":
		x.report.Missing++
	case "stale":
		x.report.Stale++
	default:
		x.report.Dangling++
	}
	if len(x.report.Examples) < cmp.Or(x.up.Examples, 10) {
		x.report.Examples = append(x.report.Examples, index.Problem{Kind: kind, ID: id, Found: found, Want: want})
	}
}

// mend brings triples and removes entries of a partition in order.
func (x *examiner) mend(ctx context.Context, at int, broken []Triple, junk []string) error {
	run := func(args []string) error {
		n, err := x.g.mend.Run(ctx, x.g.set.Client, x.g.set.Keys[at].All(), args).AsInt64()
		x.report.Repaired += n
		return x.g.wrap(ctx, err)
	}
	if len(junk) > 0 {
		if err := run(append(append(x.g.set.Args(), "0"), junk...)); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(broken, scriptTriples) {
		args := append(x.g.set.Args(), strconv.Itoa(len(some)))
		for _, t := range some {
			e := t.escaped()
			args = append(args, e.S, e.P, e.O)
		}
		if err := run(args); err != nil {
			return err
		}
	}
	return nil
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
			n, err := x.g.PutMany(ctx, missing)
			x.report.Repaired += n
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
			if err == nil {
				err = t.check()
			}
			if err != nil {
				yield(nil, fmt.Errorf("graph: triple %d of the source: %w", at, err))
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
