package graph

import (
	"context"
	"errors"
	"iter"
)

// Query yields the answers to a query, in no particular order. It counts the triples of
// each pattern (one round trip), starts with the rarest, and follows shared variables,
// 1,000 rows a round trip. Each batch of rows passes all patterns before the next is
// read, so that the first answers come early, and stopping early saves the rest. Triples
// that are put or removed during the iteration may be missing.
func (g *Graph) Query(ctx context.Context, q Query) iter.Seq2[Binding, error] {
	return func(yield func(Binding, error) bool) {
		p, err := g.plan(ctx, q)
		if err != nil {
			yield(Binding{}, err)
			return
		}
		if p.empty {
			return
		}
		x := executor{
			joiner: joiner{store: &g.store, ctx: ctx, prefetch: p.limit == 0, memory: memory{p.memory, p.memory}},
			plan:   p,
			yield:  func(b Binding) bool { return yield(b, nil) },
		}
		if p.distinct {
			x.seen = map[string]struct{}{}
		}
		if err := x.process(0, [][]string{make([]string, len(p.vars))}); err != nil && !errors.Is(err, errStop) {
			yield(Binding{}, err)
		}
	}
}

// errStop ends an execution early: the caller stopped, or the limit is reached.
var errStop = errors.New("stop")

// executor runs one query. A batch of rows passes all steps of the plan before the next
// batch is read: depth first, so that memory does not grow with the answer.
type executor struct {
	joiner
	plan  *plan
	yield func(Binding) bool
	seen  map[string]struct{} // answers so far, if duplicates are possible
	count int
}

// process passes rows through a step and all steps after it.
func (x *executor) process(i int, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	if i == len(x.plan.steps) {
		return x.emit(rows)
	}
	out := sink{
		step: x.plan.steps[i], vars: x.plan.vars,
		next: func(rows [][]string) error { return x.process(i+1, rows) },
	}
	var err error
	switch out.step.operator {
	case existenceCheck:
		err = x.checkExistence(&out, rows)
	case objectScan:
		err = x.scanObjects(&out, rows)
	case pathFromSubject, pathFromObject:
		err = x.followPath(&out, rows)
	default:
		err = x.scanRanges(&out, rows)
	}
	if err != nil {
		return err
	}
	return out.flush()
}

// emit yields rows as answers.
func (x *executor) emit(rows [][]string) error {
	for _, row := range rows {
		b := Binding{vars: x.plan.selected, names: make([]string, len(x.plan.columns))}
		for i, column := range x.plan.columns {
			b.names[i] = row[column]
		}
		if x.seen != nil {
			key := b.key()
			if _, ok := x.seen[key]; ok {
				continue
			}
			if err := x.memory.reserve(key); err != nil {
				return err
			}
			x.seen[key] = struct{}{}
		}
		x.count++
		if !x.yield(b) || x.count == x.plan.limit {
			return errStop
		}
	}
	return nil
}
