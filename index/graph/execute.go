package graph

import (
	"context"
	"errors"
	"iter"
)

// Query yields the answers to a query, in no particular order unless it has an OrderBy. It
// counts the triples of each pattern (one round trip), starts with the rarest pattern, and
// follows shared variables, 1,000 rows per round trip. Each batch of rows passes all patterns
// before the next batch is read, so the first answers come early, and stopping early saves
// work. Triples that are put or removed during the iteration may be missing.
func (g *Graph) Query(ctx context.Context, q Query) iter.Seq2[Binding, error] {
	return func(yield func(Binding, error) bool) {
		p, err := g.store.plan(ctx, q)
		if err != nil {
			yield(Binding{}, err)
			return
		}
		if p.empty {
			return
		}
		x := executor{
			joiner: joiner{store: &g.store, ctx: ctx, prefetch: p.readsAll(), memory: memory{p.memory, p.memory}},
			plan:   p,
			yield:  func(b Binding) bool { return yield(b, nil) },
		}
		if p.distinct {
			x.seen = map[string]struct{}{}
		}
		if len(p.order) > 0 {
			x.ranking = &ranking{keys: p.order, memory: &x.memory, seen: x.seen}
			if p.limit > 0 {
				x.ranking.limit = p.offset + p.limit
			}
		}
		err = x.process(0, [][]string{make([]string, len(p.vars))})
		if err == nil && x.ranking != nil {
			err = x.finish()
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(Binding{}, err)
		}
	}
}

// batchRows is the number of rows that pass a step together.
const batchRows = 1000

// errStop ends an execution early: the caller stopped, or the limit is reached.
var errStop = errors.New("stop")

// executor runs one query. A batch of rows passes all steps of the plan before the next
// batch is read: depth first, so that memory does not grow with the number of answers.
type executor struct {
	joiner
	plan    *plan
	yield   func(Binding) bool
	seen    map[string]struct{} // answers so far, if duplicates are possible
	ranking *ranking            // if the answers are sorted
	count   int                 // answers so far, including skipped ones
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

// emit yields rows as answers, or collects them to be sorted.
func (x *executor) emit(rows [][]string) error {
	for _, row := range rows {
		b := Binding{vars: x.plan.selected, names: project(row, x.plan.columns)}
		if x.ranking != nil {
			if err := x.ranking.add(b, project(row, x.plan.keys)); err != nil {
				return err
			}
			continue
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
		if err := x.answer(b); err != nil {
			return err
		}
	}
	return nil
}

// finish yields the sorted answers, if the query has an order.
func (x *executor) finish() error {
	for _, a := range x.ranking.sorted() {
		if err := x.answer(a.binding); err != nil {
			return err
		}
	}
	return nil
}

// answer yields an answer, unless the offset skips it.
func (x *executor) answer(b Binding) error {
	if x.count++; x.count <= x.plan.offset {
		return nil
	}
	if !x.yield(b) || x.count-x.plan.offset == x.plan.limit {
		return errStop
	}
	return nil
}

// project returns the names in some columns of a row.
func project(row []string, columns []int) []string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = row[column]
	}
	return names
}
