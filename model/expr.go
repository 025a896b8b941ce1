package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// expr is a condition whose values are text, and that knows which index tells
// whether it holds.
type expr struct {
	op   operator
	kids []*expr

	// Of a condition on a field:
	field  int
	texts  []string
	home   *indexSpec // what a record has in it tells whether the condition holds
	column int        // of home
	within []span     // where the value of that column must be
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
		b.bytes -= min(len(v), maxIndexed)
	}
	switch {
	case b.conds < 0:
		return fmt.Errorf("%w: a query has %d conditions at most", ErrValue, maxConds)
	case b.values < 0:
		return fmt.Errorf("%w: a query has %d values at most: ask for some after the others", ErrValue, maxTotal)
	case b.bytes < 0:
		return fmt.Errorf("%w: the values of a query have %d bytes at most: ask for some after the others", ErrValue, maxBytes)
	}
	return nil
}

// leaf tells whether it is a condition on a field.
func (e *expr) leaf() bool { return e.op != opAnd && e.op != opOr && e.op != opNot }

// resolve reads the conditions of a query for records that have a value of each
// of some fields.
func (d *declaration) resolve(conds []Cond, ordered []int) (*expr, error) {
	e, err := d.resolveAll(opAnd, conds, &budget{maxConds, maxTotal, maxBytes})
	if err == nil {
		err = d.resolveHomes(e, scope{present: ordered})
	}
	return e, err
}

func (d *declaration) resolveAll(op operator, conds []Cond, left *budget) (*expr, error) {
	e := &expr{op: op}
	for i := range conds {
		if err := left.take(1, nil); err != nil {
			return nil, err
		}
		kid, err := d.resolveOne(&conds[i], left)
		if err != nil {
			return nil, err
		}
		if kid.op == op && op != opNot { // and of and
			e.kids = append(e.kids, kid.kids...)
		} else {
			e.kids = append(e.kids, kid)
		}
	}
	return e, nil
}

func (d *declaration) resolveOne(c *Cond, left *budget) (*expr, error) {
	switch c.op {
	case opAnd, opOr, opNot:
		return d.resolveAll(c.op, c.conds, left)
	case "":
		return nil, fmt.Errorf("%w: a condition is empty: make it by Eq, In, Between and so on", ErrValue)
	}
	number, err := d.fieldNumber(c.field)
	if err != nil {
		return nil, err
	}
	f := &d.fields[number]
	if c.op == opPrefix && !d.isText(number) {
		return nil, fmt.Errorf("%w: %s: only text has prefixes, this is %s", ErrValue, f.Name, f.valueKind())
	}
	if len(c.values) > maxValues {
		return nil, fmt.Errorf("%w: %s: In has %d values: at most %d are allowed", ErrValue, f.Name, len(c.values), maxValues)
	}
	e := &expr{op: c.op, field: number, texts: make([]string, len(c.values))}
	for i, v := range c.values {
		if c.op == opPrefix {
			e.texts[i] = v.(string)
		} else if e.texts[i], err = d.textOf(number, v); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrValue, f.Name, err)
		}
	}
	return e, left.take(0, e.texts)
}

// fieldNumber finds a field that can be asked for.
func (d *declaration) fieldNumber(name string) (int, error) {
	number := d.number(name)
	if number < 0 {
		return -1, d.unknown(name)
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
	if e.op != opAnd {
		return c
	}
	c.bound, c.present = slices.Clip(c.bound), slices.Clip(c.present)
	for _, kid := range e.kids {
		if kid.op.exact() {
			c.bound = append(c.bound, kid.field)
		}
		if kid.leaf() {
			c.present = append(c.present, kid.field)
		}
	}
	return c
}

// resolveHomes finds the home of each condition.
func (s *schema) resolveHomes(e *expr, c scope) error {
	if e.leaf() {
		return s.resolveHome(e, c)
	}
	c = c.within(e)
	for _, kid := range e.kids {
		if err := s.resolveHomes(kid, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) resolveHome(e *expr, c scope) error {
	best := 0
	var waiting, partial *indexSpec
	for _, x := range s.indexes {
		column := x.columnOf(e.field)
		if column < 0 {
			continue
		}
		rank := x.answers(column, e.op, c.bound)
		switch {
		case rank == 0:
		case s.lacking(x, e.field, c.present) >= 0:
			partial = x
		case !x.ready():
			waiting = x
		case best == 0 || rank < best:
			best, e.home, e.column = rank, x, column
		}
	}
	switch {
	case best > 0:
		var err error
		e.within, err = e.home.spans(s, e.column, e)
		return err
	case waiting != nil:
		return waiting.notBuilt()
	}
	return s.noIndex(e, partial, c.present)
}

// lacking returns a field of an index of which records need not have a value, and
// are not in it then; -1: there is none. It would not tell whether a condition on
// the other field holds for these.
func (s *schema) lacking(x *indexSpec, other int, present []int) int {
	i := slices.IndexFunc(x.fieldOf, func(f int) bool {
		return f != other && s.fields[f].optional() && !slices.Contains(present, f)
	})
	if i < 0 {
		return -1
	}
	return x.fieldOf[i]
}

// answers tells whether an index answers a condition on one of its columns, and
// how well: 1 is best, and 0 not at all.
func (x *indexSpec) answers(column int, op operator, bound []int) int {
	isBound := func(f int) bool { return slices.Contains(bound, f) }
	switch single := len(x.Columns) == 1; {
	case single && !x.Unique && (!x.Equal || op.exact()):
		return 1
	case single && x.Unique && op.exact():
		return 2
	case !single && !x.Unique && !slices.ContainsFunc(x.fieldOf[:column], func(f int) bool { return !isBound(f) }):
		return 3
	case !single && x.Unique && op.exact() && !slices.ContainsFunc(x.fieldOf, func(f int) bool { return !isBound(f) }):
		return 4
	}
	return 0
}

// noIndex is the error of a condition that no index answers: it says which
// declaration would. partial is an index that would, if all records were in it.
func (s *schema) noIndex(e *expr, partial *indexSpec, present []int) error {
	f := &s.fields[e.field]
	option := "range"
	if e.op.exact() {
		option = "index"
	}
	var hint string
	switch {
	case f.valueKind().column() == "":
		hint = "it is stored as JSON; declare model.Computed for what you look for in it"
	case f.Computed:
		hint = "declare a model.Computed that is not unique beside it"
	default:
		hint = fmt.Sprintf("declare it `redis:\"%s,%s\"`", f.Name, option)
		for _, x := range s.indexes {
			if column := x.columnOf(e.field); column > 0 && !x.Unique && partial == nil {
				hint += fmt.Sprintf(", or ask for one %s too", x.Columns[0].Field)
				break
			}
		}
	}
	if partial != nil {
		hint = fmt.Sprintf("records without %s are not in index %s; %s", s.fields[s.lacking(partial, e.field, present)].Name, partial.Name, hint)
	}
	return fmt.Errorf("%w: %s %s: %s", ErrNoIndex, f.Name, e.op, hint)
}

// holds tells whether a record fits, by what it has in the indexes.
func (e *expr) holds(entries []entry) bool {
	holds := func(kid *expr) bool { return kid.holds(entries) }
	switch e.op {
	case opAnd:
		return !slices.ContainsFunc(e.kids, func(kid *expr) bool { return !holds(kid) })
	case opOr:
		return slices.ContainsFunc(e.kids, holds)
	case opNot:
		return !holds(e.kids[0])
	}
	return slices.ContainsFunc(entries, func(v entry) bool {
		if v.index != e.home {
			return false
		}
		rest, err := v.index.after(e.column, v.value)
		return err == nil && within(rest, e.within)
	})
}

// indexes appends those indexes that tell whether a condition holds.
func (e *expr) indexes(all []*indexSpec) []*indexSpec {
	if e.leaf() && !slices.Contains(all, e.home) {
		all = append(all, e.home)
	}
	for _, kid := range e.kids {
		all = kid.indexes(all)
	}
	return all
}

// append appends the text of a condition, which is the same for the same
// conditions only.
func (e *expr) append(b []byte, s *schema) []byte {
	if !e.leaf() {
		b = append(append(b, e.op...), '(')
		for i, kid := range e.kids {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = kid.append(b, s)
		}
		return append(b, ')')
	}
	b = append(append(append(append(b, s.fields[e.field].Name...), ' '), e.op...), ' ')
	for i, t := range e.texts {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendQuote(b, t)
	}
	return b
}

// text is the condition for a person, bounded.
func (e *expr) text(s *schema) string {
	t := string(e.append(nil, s))
	if len(t) > 500 {
		t = strings.ToValidUTF8(t[:500], "") + "…"
	}
	return t
}
