package graph

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/graph/internal/entries"
	"retwis/index/graph/internal/syntax"
	engine "retwis/internal/maintain"
	"retwis/maintain"
)

const (
	maxSet      = 100 // objects that a Set adds, and that it removes
	removeBatch = 500 // triples that RemoveWhere reads and removes in one step
)

// Set makes some objects the only ones of a subject and a predicate, atomically: no
// reader finds a part of them, and of two concurrent calls the later one wins. It returns
// how many triples are new and how many were removed. Without objects it removes all.
//
// It takes at most 100 objects, with at most 256 KiB of names, and removes as many; if
// more would have to be removed it changes nothing and returns ErrTooMany. Objects that
// stay do not count, but they are read. One round trip; in the server O(log n) for each
// order of a triple that changes.
func (g *Graph) Set(ctx context.Context, subject, predicate string, objects ...string) (added, removed int, err error) {
	objects = slices.Compact(slices.Sorted(slices.Values(objects)))
	if len(objects) > maxSet {
		return 0, 0, invalid("%d objects: at most %d can be put at once", len(objects), maxSet)
	}
	head := Triple{subject, predicate, "x"} // checked if there is no object
	args := append(g.store.Set.Args(), strconv.Itoa(maxSet), strconv.Itoa(scriptBytes), entries.Escape(subject), entries.Escape(predicate))
	size := 0
	for _, o := range objects {
		head.O = o
		if err := head.check(); err != nil {
			return 0, 0, fmt.Errorf("graph: %w", err)
		}
		args = append(args, entries.Escape(o))
		size += len(subject) + len(predicate) + len(o)
	}
	switch err := head.check(); {
	case err != nil:
		return 0, 0, fmt.Errorf("graph: %w", err)
	case len(objects) > 1 && size > scriptBytes:
		return 0, 0, invalid("the triples have %d bytes: at most %d can be put at once", size, scriptBytes)
	}
	if err := g.declare(ctx); err != nil {
		return 0, 0, err
	}
	reply, err := g.setObjects.Run(ctx, g.store.Set.Client, g.store.Set.Of(subject).All(), args).AsIntSlice()
	switch e, ok := rueidis.IsRedisErr(err); {
	case ok && strings.HasPrefix(e.Error(), "MANY"):
		return 0, 0, fmt.Errorf("graph: %w: %.100q has more than %d other objects of %.100q; remove them in steps first", ErrTooMany, subject, maxSet, predicate)
	case err != nil:
		return 0, 0, g.store.Wrap(ctx, err)
	case len(reply) != 2:
		return 0, 0, fmt.Errorf("graph: %q: %w: unexpected reply", g.store.Set.Key, index.ErrCorrupt)
	}
	return int(reply[0]), int(reply[1]), nil
}

// MatchesAll reports whether the query is one pattern that matches every triple: without
// a name, a filter, and a variable that repeats.
func (q Query) MatchesAll() bool {
	if len(q.Where) != 1 || len(q.Filters) > 0 {
		return false
	}
	p := q.Where[0]
	seen := map[string]bool{}
	for _, t := range [3]Term{p.S, p.P, p.O} {
		if !t.free() || t.kind == syntax.Variable && seen[t.text] {
			return false
		}
		seen[t.text] = true
	}
	return true
}

// RemoveWhere removes the triples that match a pattern, and returns how many there were.
// The query has one pattern, which is not a path, and filters if needed:
//
//	q, err := graph.Parse(`?x expires ?day . ?day < 2026-01-01`)
//
// Not even RemoveWhere of many triples is one step: it reads and removes 500 at a time, in
// scripts of 50, and each triple atomically. If it is interrupted, the rest is still
// there; call it again. Triples that are put meanwhile can stay. Each step reports how
// many triples were read (Progress.Checked) and removed (Progress.Repaired); Options.Rate
// is for those that are read. A pattern without a name reads the whole graph.
func (g *Graph) RemoveWhere(ctx context.Context, q Query, opt maintain.Options) (int, error) {
	one, err := g.removal(q)
	if err != nil {
		return 0, err
	}
	if err := g.store.Check(ctx); err != nil {
		return 0, err
	}
	run := engine.Start(opt)
	total, err := g.store.Counts(ctx, []entries.Range{one.span})
	if err != nil {
		return 0, err
	}
	run.Total = total[0]
	read := 0
	var batch []Triple
	step := func() error {
		n, err := g.Remove(ctx, batch...)
		run.Report.Repaired += int64(n)
		if err != nil {
			return err
		}
		n, read, batch = read, 0, batch[:0]
		return run.Step(ctx, n)
	}
	for entry, err := range g.store.All(ctx, one.span, index.Page{}, "") {
		if err != nil {
			return int(run.Report.Repaired), err
		}
		_, t, ok := parseEntry(entry)
		if !ok {
			return int(run.Report.Repaired), g.store.Damaged(entry)
		}
		if one.keep(t) {
			batch = append(batch, t)
		}
		if read++; read == removeBatch {
			if err := step(); err != nil {
				return int(run.Report.Repaired), err
			}
		}
	}
	if read > 0 {
		err = step()
	}
	return int(run.Report.Repaired), err
}

// removal is a checked query of RemoveWhere.
type removal struct {
	plan *plan
	step *planStep
	span entries.Range
	rows slab
}

func (g *Graph) removal(q Query) (removal, error) {
	if err := q.check(); err != nil {
		return removal{}, err
	}
	if len(q.Where) > 1 {
		return removal{}, invalid("triples are removed by one pattern, not by %d: query with the others, and remove what they find", len(q.Where))
	}
	if q.Limit > 0 || q.Offset > 0 || q.Distinct || len(q.Select) > 0 || len(q.OrderBy) > 0 {
		return removal{}, invalid("triples are removed by a pattern and filters, without a limit, offset, selection or order")
	}
	p := q.Where[0].simple()
	if p.P.kind == syntax.Path {
		return removal{}, invalid("%s is a path: triples are removed by a pattern of one triple", p.P)
	}
	s, err := g.store.rangeOf(p.names())
	if err != nil {
		return removal{}, err
	}
	all := newPlan(q)
	all.add(estimate{Pattern: p}, map[string]bool{}, g.store.compact)
	all.steps[0].filters = q.Filters
	return removal{plan: all, step: all.steps[0], span: s}, nil
}

// keep reports whether a triple in the range of the pattern is one to remove.
func (r *removal) keep(t Triple) bool {
	row, ok := r.step.bind(&r.rows, make([]string, len(r.plan.vars)), t, "spo")
	if !ok {
		return false
	}
	b := Binding{vars: r.plan.vars, names: row}
	return !slices.ContainsFunc(r.step.filters, func(f Filter) bool { return !f.keep(b) })
}
