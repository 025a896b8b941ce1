package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// errStop ends an execution early: the caller stopped, or the limit is reached.
var errStop = errors.New("stop")

const (
	batchRows    = 1000   // rows that pass a step together
	roundEntries = 10_000 // approximate entries per round trip
)

// executor runs one query. A batch of rows passes all steps of the plan before the next
// batch is read: depth first, so that memory does not grow with the answer.
type executor struct {
	g          *Graph
	ctx        context.Context // of the one call it lives for
	plan       *plan
	yield      func(Binding) bool
	seen       map[string]struct{} // answers so far, if duplicates are possible
	count      int
	memoryLeft int64
}

// process passes rows through a step and all steps after it.
func (x *executor) process(i int, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	if i == len(x.plan.steps) {
		return x.emit(rows)
	}
	out := sink{x: x, step: x.plan.steps[i], next: i + 1}
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
			if err := x.reserve(key); err != nil {
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

// key returns a string that only an equal binding has.
func (b Binding) key() string {
	if len(b.names) == 1 {
		return b.names[0]
	}
	var key strings.Builder
	for _, name := range b.names {
		key.WriteString(escape(name))
		key.WriteByte(':')
	}
	return key.String()
}

// memoryOf returns the approximate memory of a name in a map and a slice.
func memoryOf(name string) int64 { return int64(len(name)) + 64 }

// reserve accounts for the memory of a name.
func (x *executor) reserve(name string) error {
	x.memoryLeft -= memoryOf(name)
	if x.memoryLeft < 0 {
		return fmt.Errorf("graph: %w: more than %d bytes; narrow the query, or raise Query.Memory", ErrMemory, x.plan.memory)
	}
	return nil
}

// sink filters the rows of a step and passes them to the next step in batches.
type sink struct {
	x    *executor
	step *planStep
	next int
	rows [][]string
	slab slab
}

// add adds a row. The sink owns the row.
func (o *sink) add(row []string) error {
	if len(o.step.filters) > 0 {
		b := Binding{vars: o.x.plan.vars, names: row}
		for _, f := range o.step.filters {
			if !f.keep(b) {
				return nil
			}
		}
	}
	o.rows = append(o.rows, row)
	if len(o.rows) < batchRows {
		return nil
	}
	return o.flush()
}

func (o *sink) flush() error {
	rows := o.rows
	o.rows = nil
	return o.x.process(o.next, rows)
}

// slab allocates rows in blocks.
type slab struct{ free []string }

// copy returns a copy of a row.
func (b *slab) copy(row []string) []string {
	if len(b.free) < len(row) {
		b.free = make([]string, max(len(row), 1)*64)
	}
	to := b.free[:len(row):len(row)]
	b.free = b.free[len(row):]
	copy(to, row)
	return to
}
