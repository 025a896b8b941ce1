package query

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/model/internal/schema"
)

// expr is a resolved condition: its values are in stored form, and its index decides whether a
// record matches.
type expr struct {
	op    schema.Operator
	terms []*expr

	// For a condition on a field:
	field  int
	values []string
	index  *schema.Index  // the index whose entries decide whether a record matches
	column int            // column of index
	ranges []schema.Range // ranges of values of that column
}

// Limits of a query. Each script of a query decodes all its conditions.
const (
	maxConds  = 256
	maxValues = 1000       // per In
	maxTotal  = 2000       // values in all conditions
	maxBytes  = 256 * 1024 // size of all values as encoded in an index
)

// budget is the remaining size that a query may have.
type budget struct{ conds, values, bytes int }

// take subtracts a condition from the budget.
func (b *budget) take(conds int, values []string) error {
	b.conds -= conds
	b.values -= len(values)
	for _, v := range values {
		b.bytes -= min(len(v), schema.MaxIndexed)
	}
	switch {
	case b.conds < 0:
		return fmt.Errorf("%w: a query has at most %d conditions", schema.ErrValue, maxConds)
	case b.values < 0:
		return fmt.Errorf("%w: a query has at most %d values: send several queries", schema.ErrValue, maxTotal)
	case b.bytes < 0:
		return fmt.Errorf("%w: the values of a query have at most %d bytes: send several queries", schema.ErrValue, maxBytes)
	}
	return nil
}

// leaf reports whether e is a condition on a field.
func (e *expr) leaf() bool {
	return e.op != schema.OpAnd && e.op != schema.OpOr && e.op != schema.OpNot
}

// resolver resolves the conditions of queries.
type resolver struct{ *schema.Declaration }

// resolve resolves the conditions of a query for records that have a value in each of the
// ordered fields.
func (r *resolver) resolve(conds []Cond, ordered []int) (*expr, error) {
	e, err := r.resolveAll(schema.OpAnd, conds, &budget{maxConds, maxTotal, maxBytes})
	if err == nil {
		err = r.resolveIndexes(e, scope{present: ordered})
	}
	return e, err
}

func (r *resolver) resolveAll(op schema.Operator, conds []Cond, left *budget) (*expr, error) {
	e := &expr{op: op}
	for i := range conds {
		if err := left.take(1, nil); err != nil {
			return nil, err
		}
		term, err := r.resolveOne(&conds[i], left)
		if err != nil {
			return nil, err
		}
		if term.op == op && op != schema.OpNot { // flatten nested And and Or
			e.terms = append(e.terms, term.terms...)
		} else {
			e.terms = append(e.terms, term)
		}
	}
	e.sort(&r.Schema)
	return e, nil
}

// sort sorts the terms, so that cursors do not depend on the order in which a program lists its
// conditions.
func (e *expr) sort(s *schema.Schema) {
	texts := make(map[*expr]string, len(e.terms))
	for _, term := range e.terms {
		texts[term] = string(term.append(nil, s))
	}
	slices.SortStableFunc(e.terms, func(a, b *expr) int { return strings.Compare(texts[a], texts[b]) })
}

func (r *resolver) resolveOne(c *Cond, left *budget) (*expr, error) {
	switch c.op {
	case schema.OpAnd, schema.OpOr, schema.OpNot:
		return r.resolveAll(c.op, c.conds, left)
	case "":
		return nil, fmt.Errorf("%w: a condition is empty: create conditions with Eq, In, Between and so on", schema.ErrValue)
	}
	number, err := r.fieldNumber(c.field)
	if err != nil {
		return nil, err
	}
	f := &r.Schema.Fields[number]
	if c.op == schema.OpPrefix && !r.Schema.IsText(number) {
		return nil, fmt.Errorf("%w: %s: Prefix needs text, not %s", schema.ErrValue, f.Name, f.ValueKind())
	}
	if len(c.values) > maxValues {
		return nil, fmt.Errorf("%w: %s: In has %d values: at most %d are allowed", schema.ErrValue, f.Name, len(c.values), maxValues)
	}
	if clamped, ok := r.clamp(c, number); ok {
		c = &clamped
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

// clamp replaces numbers outside the range of the field in a comparison by the closest numbers
// in the range. If no value of the field can match, it returns an empty In.
func (r *resolver) clamp(c *Cond, number int) (clamped Cond, ok bool) {
	if !c.op.Compares() {
		return clamped, false
	}
	values := slices.Clone(c.values)
	below, above := false, false // a bound is below the smallest value, or above the largest
	for i, v := range c.values {
		side, closest := r.Beyond(number, v)
		if side == 0 {
			continue
		}
		values[i] = closest
		low := c.op == schema.OpAtLeast || c.op == schema.OpAbove || c.op == schema.OpBetween && i == 0
		if low == (side > 0) {
			return On(schema.OpIn, c.field), true // matches no value
		}
		below, above = below || side < 0, above || side > 0
	}
	if !below && !above {
		return clamped, false
	}
	op := c.op
	switch op {
	case schema.OpAbove:
		op = schema.OpAtLeast
	case schema.OpBelow:
		op = schema.OpAtMost
	}
	return On(op, c.field, values...), true
}

// fieldNumber returns the number of a field that queries can use.
func (r *resolver) fieldNumber(name string) (int, error) {
	number := r.Schema.Number(name)
	if number < 0 {
		return -1, r.Unknown(name)
	}
	return number, nil
}

// scope describes the records for which a condition matters, given the other conditions that
// must hold.
type scope struct {
	bound   []int // fields with conditions on single values
	present []int // fields in which the record has a value
}

// within returns the scope of the terms of a condition.
func (c scope) within(e *expr) scope {
	if e.op != schema.OpAnd {
		return c
	}
	c.bound, c.present = slices.Clip(c.bound), slices.Clip(c.present)
	for _, term := range e.terms {
		if term.op.Exact() {
			c.bound = append(c.bound, term.field)
		}
		if term.leaf() {
			c.present = append(c.present, term.field)
		}
	}
	return c
}

// resolveIndexes chooses the index of each condition.
func (r *resolver) resolveIndexes(e *expr, c scope) error {
	if e.leaf() {
		return r.resolveIndex(e, c)
	}
	c = c.within(e)
	for _, term := range e.terms {
		if err := r.resolveIndexes(term, c); err != nil {
			return err
		}
	}
	return nil
}

func (r *resolver) resolveIndex(e *expr, c scope) error {
	s := &r.Schema
	best := 0
	var unbuilt, partial *schema.Index
	for _, x := range s.Indexes {
		column := x.ColumnOf(e.field)
		if column < 0 {
			continue
		}
		rank := rankIndex(x, column, e.op, c.bound)
		switch {
		case rank == 0:
		case missingField(s, x, e.field, c.present) >= 0:
			partial = x
		case !x.Built():
			unbuilt = x
		case best == 0 || rank < best:
			best, e.index, e.column = rank, x, column
		}
	}
	switch {
	case best > 0:
		var err error
		e.ranges, err = e.index.Ranges(s, e.column, e.op, e.values)
		return err
	case unbuilt != nil:
		return unbuilt.NotBuilt()
	}
	return noIndex(s, e, partial, c.present)
}

// missingField returns a field of an index, other than field, that records may lack, or -1.
// Records that lack the field are not in the index, so the index cannot decide a condition on
// field.
func missingField(s *schema.Schema, x *schema.Index, field int, present []int) int {
	i := slices.IndexFunc(x.FieldNumbers, func(f int) bool {
		return f != field && s.Fields[f].Optional() && !slices.Contains(present, f)
	})
	if i < 0 {
		return -1
	}
	return x.FieldNumbers[i]
}

// rankIndex returns how well an index serves a condition on one of its columns: 1 is best, and
// 0 means not at all.
func rankIndex(x *schema.Index, column int, op schema.Operator, bound []int) int {
	isBound := func(f int) bool { return slices.Contains(bound, f) }
	switch single := len(x.Columns) == 1; {
	case single && !x.Unique && (!x.PerValue || op.Exact()):
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

// noIndex returns the error for a condition that no index serves. The error names a declaration
// that would serve it. partial is an index that would serve it if it contained all records.
func noIndex(s *schema.Schema, e *expr, partial *schema.Index, present []int) error {
	f := &s.Fields[e.field]
	option := "range"
	if e.op.Exact() {
		option = "index"
	}
	var hint string
	switch {
	case f.ValueKind().Column() == "":
		hint = "it is stored as JSON; declare a model.Computed for the values to find"
	case f.Computed:
		hint = "declare a model.Computed without Unique as well"
	default:
		hint = fmt.Sprintf("declare it `redis:\"%s,%s\"`", f.Name, option)
		for _, x := range s.Indexes {
			if column := x.ColumnOf(e.field); column > 0 && !x.Unique && partial == nil {
				hint += fmt.Sprintf(", or add an equality condition on %s", x.Columns[0].Field)
				break
			}
		}
	}
	if partial != nil {
		hint = fmt.Sprintf("records without %s are not in index %s; %s", s.Fields[missingField(s, partial, e.field, present)].Name, partial.Name, hint)
	}
	return fmt.Errorf("%w: %s %s: %s", schema.ErrNoIndex, f.Name, e.op, hint)
}

// holds reports whether a record with the given entries matches.
func (e *expr) holds(entries []schema.Entry) bool {
	holds := func(term *expr) bool { return term.holds(entries) }
	switch e.op {
	case schema.OpAnd:
		return !slices.ContainsFunc(e.terms, func(term *expr) bool { return !holds(term) })
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

// appendIndexes appends the indexes that decide e.
func (e *expr) appendIndexes(all []*schema.Index) []*schema.Index {
	if e.leaf() && !slices.Contains(all, e.index) {
		all = append(all, e.index)
	}
	for _, term := range e.terms {
		all = term.appendIndexes(all)
	}
	return all
}

// append appends a text that identifies the condition.
func (e *expr) append(b []byte, s *schema.Schema) []byte {
	if !e.leaf() {
		b = append(append(b, e.op...), '(')
		for i, term := range e.terms {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = term.append(b, s)
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

// key identifies a condition within a query.
func (e *expr) key(s *schema.Schema) string {
	sum := sha256.Sum256(e.append(nil, s))
	return string(sum[:6])
}

// text returns the condition in human-readable form, truncated.
func (e *expr) text(s *schema.Schema) string {
	t := string(e.append(nil, s))
	if len(t) > 500 {
		t = strings.ToValidUTF8(t[:500], "") + "…"
	}
	return t
}
