package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/model/internal/schema"
)

// expr is a condition whose values are text, and that knows which index tells
// whether it holds.
type expr struct {
	op    schema.Operator
	terms []*expr

	// Of a condition on a field:
	field  int
	values []string
	index  *schema.Index  // what a record has in it tells whether the condition holds
	column int            // of home
	ranges []schema.Range // where the value of that column must be
}

// Bounds of a query, which each of its scripts reads.
const (
	maxConds  = 256
	maxValues = 1000       // of one In
	maxTotal  = 2000       // values in all
	maxBytes  = 256 * 1024 // of them in an index
)

// budget is how much more a query may have.
type budget struct{ conds, values, bytes int }

// take takes from a budget what a condition needs.
func (b *budget) take(conds int, values []string) error {
	b.conds -= conds
	b.values -= len(values)
	for _, v := range values {
		b.bytes -= min(len(v), schema.MaxIndexed)
	}
	switch {
	case b.conds < 0:
		return fmt.Errorf("%w: a query has %d conditions at most", schema.ErrValue, maxConds)
	case b.values < 0:
		return fmt.Errorf("%w: a query has %d values at most: ask for some after the others", schema.ErrValue, maxTotal)
	case b.bytes < 0:
		return fmt.Errorf("%w: the values of a query have %d bytes at most: ask for some after the others", schema.ErrValue, maxBytes)
	}
	return nil
}

// leaf tells whether it is a condition on a field.
func (e *expr) leaf() bool {
	return e.op != schema.OpAnd && e.op != schema.OpOr && e.op != schema.OpNot
}

// resolver reads the conditions of queries.
type resolver struct{ *schema.Declaration }

// resolve reads the conditions of a query for records that have a value of each
// of some fields.
func (r *resolver) resolve(conds []Cond, ordered []int) (*expr, error) {
	e, err := r.resolveAll(schema.OpAnd, conds, &budget{maxConds, maxTotal, maxBytes})
	if err == nil {
		err = r.resolveHomes(e, scope{present: ordered})
	}
	return e, err
}

func (r *resolver) resolveAll(op schema.Operator, conds []Cond, left *budget) (*expr, error) {
	e := &expr{op: op}
	for i := range conds {
		if err := left.take(1, nil); err != nil {
			return nil, err
		}
		kid, err := r.resolveOne(&conds[i], left)
		if err != nil {
			return nil, err
		}
		if kid.op == op && op != schema.OpNot { // and of and
			e.terms = append(e.terms, kid.terms...)
		} else {
			e.terms = append(e.terms, kid)
		}
	}
	return e, nil
}

func (r *resolver) resolveOne(c *Cond, left *budget) (*expr, error) {
	switch c.op {
	case schema.OpAnd, schema.OpOr, schema.OpNot:
		return r.resolveAll(c.op, c.conds, left)
	case "":
		return nil, fmt.Errorf("%w: a condition is empty: make it by Eq, In, Between and so on", schema.ErrValue)
	}
	number, err := r.fieldNumber(c.field)
	if err != nil {
		return nil, err
	}
	f := &r.Fields[number]
	if c.op == schema.OpPrefix && !r.IsText(number) {
		return nil, fmt.Errorf("%w: %s: only text has prefixes, this is %s", schema.ErrValue, f.Name, f.ValueKind())
	}
	if len(c.values) > maxValues {
		return nil, fmt.Errorf("%w: %s: In has %d values: at most %d are allowed", schema.ErrValue, f.Name, len(c.values), maxValues)
	}
	e := &expr{op: c.op, field: number, values: make([]string, len(c.values))}
	for i, v := range c.values {
		if c.op == schema.OpPrefix {
			e.values[i] = v.(string)
		} else if e.values[i], err = r.TextOf(number, v); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", schema.ErrValue, f.Name, err)
		}
	}
	return e, left.take(0, e.values)
}

// fieldNumber finds a field that can be asked for.
func (r *resolver) fieldNumber(name string) (int, error) {
	number := r.Number(name)
	if number < 0 {
		return -1, r.Unknown(name)
	}
	return number, nil
}

// scope says what holds for every record for which the value of a condition
// matters: the conditions that have to hold together with it.
type scope struct {
	bound   []int // fields of which single values are asked for
	present []int // fields of which the record has a value
}

// within returns the scope of the parts of a condition.
func (c scope) within(e *expr) scope {
	if e.op != schema.OpAnd {
		return c
	}
	c.bound, c.present = slices.Clip(c.bound), slices.Clip(c.present)
	for _, kid := range e.terms {
		if kid.op.Exact() {
			c.bound = append(c.bound, kid.field)
		}
		if kid.leaf() {
			c.present = append(c.present, kid.field)
		}
	}
	return c
}

// resolveHomes finds the home of each condition.
func (r *resolver) resolveHomes(e *expr, c scope) error {
	if e.leaf() {
		return r.resolveHome(e, c)
	}
	c = c.within(e)
	for _, kid := range e.terms {
		if err := r.resolveHomes(kid, c); err != nil {
			return err
		}
	}
	return nil
}

func (r *resolver) resolveHome(e *expr, c scope) error {
	s := &r.Schema
	best := 0
	var waiting, partial *schema.Index
	for _, x := range s.Indexes {
		column := x.ColumnOf(e.field)
		if column < 0 {
			continue
		}
		rank := answers(x, column, e.op, c.bound)
		switch {
		case rank == 0:
		case lacking(s, x, e.field, c.present) >= 0:
			partial = x
		case !x.Built():
			waiting = x
		case best == 0 || rank < best:
			best, e.index, e.column = rank, x, column
		}
	}
	switch {
	case best > 0:
		var err error
		e.ranges, err = e.index.Ranges(s, e.column, e.op, e.values)
		return err
	case waiting != nil:
		return waiting.NotBuilt()
	}
	return noIndex(s, e, partial, c.present)
}

// lacking returns a field of an index of which records need not have a value, and
// are not in it then; -1: there is none. It would not tell whether a condition on
// the other field holds for these.
func lacking(s *schema.Schema, x *schema.Index, other int, present []int) int {
	i := slices.IndexFunc(x.FieldNumbers, func(f int) bool {
		return f != other && s.Fields[f].Optional() && !slices.Contains(present, f)
	})
	if i < 0 {
		return -1
	}
	return x.FieldNumbers[i]
}

// answers tells whether an index answers a condition on one of its columns, and
// how well: 1 is best, and 0 not at all.
func answers(x *schema.Index, column int, op schema.Operator, bound []int) int {
	isBound := func(f int) bool { return slices.Contains(bound, f) }
	switch single := len(x.Columns) == 1; {
	case single && !x.Unique && (!x.Equal || op.Exact()):
		return 1
	case single && x.Unique && op.Exact():
		return 2
	case !single && !x.Unique && !slices.ContainsFunc(x.FieldNumbers[:column], func(f int) bool { return !isBound(f) }):
		return 3
	case !single && x.Unique && op.Exact() && !slices.ContainsFunc(x.FieldNumbers, func(f int) bool { return !isBound(f) }):
		return 4
	}
	return 0
}

// noIndex is the error of a condition that no index answers: it says which
// declaration would. partial is an index that would, if all records were in it.
func noIndex(s *schema.Schema, e *expr, partial *schema.Index, present []int) error {
	f := &s.Fields[e.field]
	option := "range"
	if e.op.Exact() {
		option = "index"
	}
	var hint string
	switch {
	case f.ValueKind().Column() == "":
		hint = "it is stored as JSON; declare model.Computed for what you look for in it"
	case f.Computed:
		hint = "declare a model.Computed that is not unique beside it"
	default:
		hint = fmt.Sprintf("declare it `redis:\"%s,%s\"`", f.Name, option)
		for _, x := range s.Indexes {
			if column := x.ColumnOf(e.field); column > 0 && !x.Unique && partial == nil {
				hint += fmt.Sprintf(", or ask for one %s too", x.Columns[0].Field)
				break
			}
		}
	}
	if partial != nil {
		hint = fmt.Sprintf("records without %s are not in index %s; %s", s.Fields[lacking(s, partial, e.field, present)].Name, partial.Name, hint)
	}
	return fmt.Errorf("%w: %s %s: %s", schema.ErrNoIndex, f.Name, e.op, hint)
}

// holds tells whether a record fits, by what it has in the indexes.
func (e *expr) holds(entries []schema.Entry) bool {
	holds := func(kid *expr) bool { return kid.holds(entries) }
	switch e.op {
	case schema.OpAnd:
		return !slices.ContainsFunc(e.terms, func(kid *expr) bool { return !holds(kid) })
	case schema.OpOr:
		return slices.ContainsFunc(e.terms, holds)
	case schema.OpNot:
		return !holds(e.terms[0])
	}
	return slices.ContainsFunc(entries, func(v schema.Entry) bool {
		if v.Index != e.index {
			return false
		}
		rest, err := v.Index.Skip(e.column, v.Value)
		return err == nil && schema.InRanges(rest, e.ranges)
	})
}

// indexes appends those indexes that tell whether a condition holds.
func (e *expr) appendIndexes(all []*schema.Index) []*schema.Index {
	if e.leaf() && !slices.Contains(all, e.index) {
		all = append(all, e.index)
	}
	for _, kid := range e.terms {
		all = kid.appendIndexes(all)
	}
	return all
}

// append appends the text of a condition, which is the same for the same
// conditions only.
func (e *expr) append(b []byte, s *schema.Schema) []byte {
	if !e.leaf() {
		b = append(append(b, e.op...), '(')
		for i, kid := range e.terms {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = kid.append(b, s)
		}
		return append(b, ')')
	}
	b = append(append(append(append(b, s.Fields[e.field].Name...), ' '), e.op...), ' ')
	for i, t := range e.values {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendQuote(b, t)
	}
	return b
}

// text is the condition for a person, bounded.
func (e *expr) text(s *schema.Schema) string {
	t := string(e.append(nil, s))
	if len(t) > 500 {
		t = strings.ToValidUTF8(t[:500], "") + "…"
	}
	return t
}
