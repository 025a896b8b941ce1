package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
)

const (
	maxPatterns = 64   // of a query
	maxSteps    = 1000 // of a path that has an end
	maxMemory   = 64 << 20
)

// Query is a question of several patterns, which share variables. The answer is
// every way to put names for the variables so that all of the triples are there.
type Query struct {
	// Where are the patterns, from 1 to 64, in any order.
	Where []Pattern
	// Filters must all keep an answer. Each is asked as soon as what it looks
	// at is known.
	Filters []Filter
	// Select are the variables that are wanted. Default: all, in the order in
	// which they first stand in Where.
	Select []string
	// Distinct leaves out answers that were given before. It has to remember
	// those unless every variable is selected and no part is open.
	Distinct bool
	// Limit is how many answers are wanted. Default: all.
	Limit int
	// Memory is how many bytes Distinct and paths may remember, about; what is
	// beyond fails with ErrTooMuch. Default: 64 MiB. All else of a query needs
	// some 10,000 entries for each pattern, however many answers it has.
	Memory int64
}

// Binding is an answer to a Query: a name for each variable.
type Binding struct {
	vars  []string
	names []string
}

// Vars are the variables, in the order of Query.Select. They must not be changed.
func (b Binding) Vars() []string { return b.vars }

// Get returns the name that stands for a variable, or nothing for a variable
// that was not selected.
func (b Binding) Get(variable string) string {
	if i := slices.Index(b.vars, variable); i >= 0 {
		return b.names[i]
	}
	return ""
}

// MarshalJSON writes an object of one member a variable, in order.
func (b Binding) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // that is for whoever encodes the whole to say
	out.WriteByte('{')
	for i, v := range b.vars {
		if i > 0 {
			out.WriteByte(',')
		}
		for j, text := range [2]string{v, b.names[i]} {
			if j > 0 {
				out.WriteByte(':')
			}
			if err := e.Encode(text); err != nil {
				return nil, err
			}
			out.Truncate(out.Len() - 1) // the line feed
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Query yields the answers to a query, in no order that is promised. It counts
// what each pattern has (one round trip), begins where there is least, and goes
// on along shared variables, 1,000 rows a round trip, and takes these to the end
// before it takes more: so the first answers come soon. Whoever stops early pays
// for no more than what is under way. Triples that are put or deleted meanwhile may be seen or not.
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
		r := run{g: g, ctx: ctx, plan: p, left: p.memory, yield: func(b Binding) bool { return yield(b, nil) }}
		if p.remember {
			r.given = map[string]struct{}{}
		}
		if err := r.from(0, [][]string{make([]string, len(p.vars))}); err != nil && !errors.Is(err, errStop) {
			yield(Binding{}, err)
		}
	}
}

// check tells what is wrong with a query.
func (q *Query) check() error {
	if len(q.Where) == 0 || len(q.Where) > maxPatterns {
		return invalid("the query has %d patterns: it must have from 1 to %d", len(q.Where), maxPatterns)
	}
	if q.Limit < 0 || q.Memory < 0 {
		return invalid("limit %d and memory %d must not be negative", q.Limit, q.Memory)
	}
	for _, p := range q.Where {
		if err := p.check(); err != nil {
			return err
		}
	}
	if p, ok := q.unbound(); !ok {
		return invalid("%s leads from every name to itself: it needs at least one step, a name at an end, or another pattern that binds one of its ends", p)
	}
	vars := q.Vars()
	for i, v := range q.Select {
		if !slices.Contains(vars, v) {
			return invalid("?%s is selected and stands in no pattern", v)
		}
		if slices.Contains(q.Select[:i], v) {
			return invalid("?%s is selected twice", v)
		}
	}
	for i, f := range q.Filters {
		if f.keep == nil {
			return invalid("filter %d, %s, can keep nothing", i+1, f.text)
		}
		for _, v := range f.vars {
			if !slices.Contains(vars, v) {
				return invalid("?%s is filtered and stands in no pattern", v)
			}
		}
	}
	return nil
}

// check tells what is wrong with a pattern of a query.
func (p Pattern) check() error {
	if p.S.kind == path || p.O.kind == path {
		return invalid("in %s a path stands where it is not the predicate", p)
	}
	for _, t := range [3]Term{p.S, p.P, p.O} {
		if t.kind == variable && t.text == "" {
			return invalid("in %s a variable has no name", p)
		}
	}
	if t := p.P; t.kind == path {
		switch {
		case t.min < 0 || t.max < 0 || t.min > maxSteps || t.max > maxSteps:
			return invalid("%s has from %d to %d steps: there are from 0 to %d", p, t.min, t.max, maxSteps)
		case t.max > 0 && t.min > t.max:
			return invalid("%s has at least %d steps and at most %d", p, t.min, t.max)
		}
	}
	return nil
}

// unbound returns a path of no steps neither end of which any pattern binds, and false
// if there is one. Which patterns can be answered does not depend on their order.
func (q *Query) unbound() (Pattern, bool) {
	known := map[string]bool{}
	left := slices.Clone(q.Where)
	for {
		next := slices.IndexFunc(left, func(p Pattern) bool { return p.begins(known) })
		if next < 0 {
			break
		}
		for _, t := range [3]Term{left[next].S, left[next].P, left[next].O} {
			if t.kind == variable {
				known[t.text] = true
			}
		}
		left = slices.Delete(left, next, next+1)
	}
	if len(left) > 0 {
		return left[0], false
	}
	return Pattern{}, true
}

// Vars are the variables of a query in the order in which they first stand in
// Where.
func (q *Query) Vars() []string {
	var vars []string
	for _, p := range q.Where {
		for _, t := range [3]Term{p.S, p.P, p.O} {
			if t.kind == variable && !slices.Contains(vars, t.text) {
				vars = append(vars, t.text)
			}
		}
	}
	return vars
}
