package graph

import (
	"context"
	"errors"

	"retwis/index/graph/internal/entries"
)

// joiner joins rows with the patterns of steps.
type joiner struct {
	store    *store
	ctx      context.Context // of the call that uses the joiner
	prefetch bool            // the query reads all answers
	memory   memory
}

// scanRanges extends each row with every triple of its range. Rows with the same range share
// one read.
func (j *joiner) scanRanges(out *sink, rows [][]string) error {
	s := out.step
	var spans []entries.Range
	var rowsOf [][][]string    // rows of each span
	spanOf := map[string]int{} // by prefix
	for _, row := range rows {
		p := Pattern{}
		for k, t := range [3]*Term{&p.S, &p.P, &p.O} {
			if s.operands[k].known() {
				*t = Name(s.operands[k].in(row))
			}
		}
		span := p.in(s.order, s.fixed)
		k, ok := spanOf[span.Prefix]
		if !ok {
			k = len(spans)
			spanOf[span.Prefix] = k
			spans, rowsOf = append(spans, span), append(rowsOf, nil)
		}
		rowsOf[k] = append(rowsOf[k], row)
	}
	letters := string(s.order[s.fixed:])
	return j.store.Fetch(j.ctx, spans, j.prefetch, func(k int, entry string) error {
		var t Triple
		if !t.parse(letters, entry[len(spans[k].Prefix):]) {
			return j.store.Damaged(entry)
		}
		for _, row := range rowsOf[k] {
			if row, ok := s.bind(&out.slab, row, t, letters); ok {
				if err := out.add(row); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// bind returns a copy of a row with the parts of a triple selected by letters, or false if a
// repeated variable would have two names.
func (s *planStep) bind(rows *slab, row []string, t Triple, letters string) ([]string, bool) {
	row = rows.copy(row)
	for i := range len(letters) {
		if o := s.operand(letters[i]); o.kind == binds {
			row[o.column] = t.part(letters[i])
		}
	}
	for i := range len(letters) {
		if o := s.operand(letters[i]); o.kind == repeated && row[o.column] != t.part(letters[i]) {
			return nil, false
		}
	}
	return row, true
}

// checkExistence keeps the rows whose triple exists: one round trip, or none if all matches
// have been read already.
func (j *joiner) checkExistence(out *sink, rows [][]string) error {
	s := out.step
	if s.hashable && (s.hash != nil || len(rows) == batchRows) {
		done, err := j.hashJoin(out, rows)
		if done || err != nil {
			return err
		}
		s.hashable = false
	}
	triples := make([]Triple, len(rows))
	for i, row := range rows {
		triples[i] = Triple{s.operands[0].in(row), s.operands[1].in(row), s.operands[2].in(row)}
	}
	found, err := j.store.present(j.ctx, triples)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if found[i] {
			if err := out.add(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// hashJoin is checkExistence for many rows: it reads all matches of the pattern once and keeps
// the matching rows. done is false if the matches need too much memory.
func (j *joiner) hashJoin(out *sink, rows [][]string) (done bool, err error) {
	s := out.step
	p := s.pattern.names()
	if s.hash == nil {
		span, err := j.store.rangeOf(p)
		if err != nil {
			return false, err
		}
		left, all := j.memory.left, &nameSet{set: make(map[string]struct{}, s.count)}
		err = j.store.Fetch(j.ctx, []entries.Range{span}, true, func(_ int, entry string) error {
			name, _, more, ok := entries.CutName(entry[len(span.Prefix):])
			if !ok || more {
				return j.store.Damaged(entry)
			}
			return all.add(name, &j.memory)
		})
		if errors.Is(err, ErrMemory) {
			j.memory.left = left
			return false, nil
		}
		if err != nil {
			return false, err
		}
		s.hash = all
	}
	variable := s.operand(p.open()[0])
	for _, row := range rows {
		if s.hash.has(variable.in(row)) {
			if err := out.add(row); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// sink filters the rows of a step and passes them to the next step in batches.
type sink struct {
	step *planStep
	vars []string // variable of each column
	next func(rows [][]string) error
	rows [][]string
	slab slab
}

// add adds a row. The sink owns the row.
func (o *sink) add(row []string) error {
	if len(o.step.filters) > 0 {
		b := Binding{vars: o.vars, names: row}
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

// flush passes the collected rows to the next step.
func (o *sink) flush() error {
	rows := o.rows
	o.rows = nil
	return o.next(rows)
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
