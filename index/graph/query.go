package graph

import (
	"slices"

	"retwis/index/graph/internal/syntax"
)

const (
	maxPatterns   = 64 // of a query
	defaultMemory = 64 << 20
)

// Query is a join of patterns that share variables. An answer binds each variable to a name so
// that the graph contains all the resulting triples.
type Query struct {
	// Where are the patterns, from 1 to 64, in any order.
	Where []Pattern
	// Filters are conditions that an answer must meet. Each filter runs as soon as its variables
	// are bound.
	Filters []Filter
	// Select are the variables of an answer. Default: all, in the order of their
	// first use in Where.
	Select []string
	// Distinct omits duplicate answers. It holds the answers in memory, unless every variable
	// is selected and no part is open.
	Distinct bool
	// OrderBy sorts the answers by variables of Where: numbers by value, as Compare does, then
	// texts byte by byte, in reverse for descending keys. Ties are broken by name, so the
	// order is deterministic. With Distinct, only selected variables can be keys. A query with
	// an order reads all answers before it yields the first; it holds the first Offset + Limit
	// of them in memory, or all of them without a Limit. Default: no particular order.
	OrderBy []SortKey
	// Offset is the number of answers to skip. Skipped answers are still read.
	Offset int
	// Limit is the maximum number of answers. Default: all.
	Limit int
	// Memory is the approximate number of bytes that Distinct, OrderBy and paths may use; a
	// query that needs more returns ErrMemory. Default: 64 MiB. In addition a query holds about
	// 10,000 entries per pattern, regardless of the number of answers.
	Memory int64
}

// check validates a query.
func (q *Query) check() error {
	if len(q.Where) == 0 || len(q.Where) > maxPatterns {
		return invalid("the query has %d patterns: it must have from 1 to %d", len(q.Where), maxPatterns)
	}
	if q.Limit < 0 || q.Offset < 0 || q.Memory < 0 {
		return invalid("limit %d, offset %d and memory %d must not be negative", q.Limit, q.Offset, q.Memory)
	}
	for _, p := range q.Where {
		if err := p.check(); err != nil {
			return err
		}
	}
	if p, ok := q.unbound(); !ok {
		return invalid("the path %s has no known end: one end must be a name, or a variable that another pattern binds", p)
	}
	vars := q.Vars()
	for i, v := range q.Select {
		if !slices.Contains(vars, v) {
			return invalid("?%s is selected but not in any pattern", v)
		}
		if slices.Contains(q.Select[:i], v) {
			return invalid("?%s is selected twice", v)
		}
	}
	for i, k := range q.OrderBy {
		switch {
		case !slices.Contains(vars, k.Var):
			return invalid("?%s is a sort key but not in any pattern", k.Var)
		case slices.ContainsFunc(q.OrderBy[:i], func(other SortKey) bool { return other.Var == k.Var }):
			return invalid("?%s is a sort key twice", k.Var)
		case q.Distinct && len(q.Select) > 0 && !slices.Contains(q.Select, k.Var):
			return invalid("?%s is a sort key but not selected: with Distinct, sort keys must be selected", k.Var)
		}
	}
	for i, f := range q.Filters {
		if f.keep == nil {
			return invalid("filter %d is invalid: %s", i+1, f.text)
		}
		for _, v := range f.vars {
			if !slices.Contains(vars, v) {
				return invalid("?%s is filtered but not in any pattern", v)
			}
		}
	}
	return nil
}

// check validates a pattern of a query.
func (p Pattern) check() error {
	if p.S.is(syntax.Path) || p.O.is(syntax.Path) {
		return invalid("%s has a path that is not the predicate", p)
	}
	for _, t := range [3]Term{p.S, p.P, p.O} {
		if t.is(syntax.Variable) && t.term.Text == "" {
			return invalid("in %s a variable has no name", p)
		}
	}
	if p.P.is(syntax.Path) {
		switch path := p.P.term; {
		case path.Text == "":
			return invalid("in %s the predicate of the path is empty", p)
		case path.Min < 0 || path.Min > syntax.MaxSteps || path.Max < 0 || path.Max > syntax.MaxSteps || path.Max > 0 && path.Min > path.Max:
			return invalid("in %s the path has from %d to %d steps: use a minimum from 0 to %d, and a maximum that is not below it, or 0 for any", p, path.Min, path.Max, syntax.MaxSteps)
		}
	}
	return nil
}

// unbound returns a path whose ends no pattern binds, and false; or true if there is no such
// path. The result does not depend on the order of the patterns.
func (q *Query) unbound() (Pattern, bool) {
	known := map[string]bool{}
	remaining := slices.Clone(q.Where)
	for {
		next := slices.IndexFunc(remaining, func(p Pattern) bool { return p.canStart(known) })
		if next < 0 {
			break
		}
		for _, t := range [3]Term{remaining[next].S, remaining[next].P, remaining[next].O} {
			if t.is(syntax.Variable) {
				known[t.term.Text] = true
			}
		}
		remaining = slices.Delete(remaining, next, next+1)
	}
	if len(remaining) > 0 {
		return remaining[0], false
	}
	return Pattern{}, true
}

// Vars returns the variables of a query in the order of their first use in Where.
func (q *Query) Vars() []string {
	var vars []string
	for _, p := range q.Where {
		for _, t := range [3]Term{p.S, p.P, p.O} {
			if t.is(syntax.Variable) && !slices.Contains(vars, t.term.Text) {
				vars = append(vars, t.term.Text)
			}
		}
	}
	return vars
}

// canStart reports whether a pattern can be read given the bound variables: a path needs one
// known end.
func (p Pattern) canStart(bound map[string]bool) bool {
	if !p.simple().P.is(syntax.Path) || !p.S.free() || !p.O.free() {
		return true
	}
	return p.S.is(syntax.Variable) && bound[p.S.term.Text] || p.O.is(syntax.Variable) && bound[p.O.term.Text]
}
