package graph

import (
	"context"
	"math"

	"retwis/index/graph/internal/entries"
	"retwis/index/graph/internal/syntax"
)

// estimate is a pattern of a query with its cardinality.
type estimate struct {
	Pattern
	position int // in Query.Where
	count    int64
	rows     float64 // estimated number of matches
	empty    bool    // there are no matches
}

// estimate counts the triples of each pattern: one round trip.
func (st *store) estimate(ctx context.Context, patterns []Pattern) ([]estimate, error) {
	all := make([]estimate, len(patterns))
	counted := make([]Pattern, len(patterns)) // followed by one pattern for the predicate of each path
	for i, p := range patterns {
		p = p.simple()
		all[i], counted[i] = estimate{Pattern: p, position: i}, p.names()
		if p.P.is(syntax.Path) {
			counted[i].P = Name(p.P.term.Text)
			if counted[i].S.is(syntax.Name) {
				counted[i].O = Term{}
			}
			counted = append(counted, Pattern{P: counted[i].P})
		}
	}
	spans := make([]entries.Range, len(counted))
	for i, p := range counted {
		var err error
		if spans[i], err = st.rangeOf(p); err != nil {
			return nil, err
		}
	}
	counts, err := st.Counts(ctx, spans)
	if err != nil {
		return nil, err
	}
	paths := counts[len(patterns):]
	for i := range all {
		e, count := &all[i], counts[i]
		e.count, e.rows, e.empty = count, float64(count), count == 0
		if path := e.P.term; path.Kind == syntax.Path {
			// Assume that each further step reaches ten times as many names, up to 4 steps.
			longest := path.Max
			if longest == 0 {
				longest = 4
			}
			e.count, paths = paths[0], paths[1:]
			e.rows = 1 + min(float64(count)*math.Pow(10, float64(min(longest, 4)-1)), float64(e.count))
			e.empty = count == 0 && path.Min > 0
		}
	}
	return all, nil
}

// names returns the pattern with all parts open except names, so that Select accepts it.
func (p Pattern) names() Pattern {
	nameOrOpen := func(t Term) Term {
		if t.is(syntax.Name) {
			return t
		}
		return Term{}
	}
	return Pattern{S: nameOrOpen(p.S), P: nameOrOpen(p.P), O: nameOrOpen(p.O)}
}

// open returns the letters of the parts that are not names.
func (p Pattern) open() string {
	var letters []byte
	for _, letter := range []byte("spo") {
		if !p.term(letter).is(syntax.Name) {
			letters = append(letters, letter)
		}
	}
	return string(letters)
}

// joinKind ranks how a pattern joins the rows so far. Lower kinds are planned first.
type joinKind int

const (
	joinFilter  joinKind = iota // all parts are bound: can only remove rows
	joinShared                  // shares a variable with the rows
	joinProduct                 // every row is combined with every match
	joinBlocked                 // another pattern must bind an end of its path first
)

// join returns how a pattern joins rows that bind some variables.
func (e estimate) join(bound map[string]bool) joinKind {
	if !e.canStart(bound) {
		return joinBlocked
	}
	allBound, someBound := true, false
	for _, t := range [3]Term{e.S, e.P, e.O} {
		isBound := t.is(syntax.Variable) && bound[t.term.Text]
		someBound = someBound || isBound
		allBound = allBound && (isBound || t.is(syntax.Name))
	}
	switch {
	case allBound:
		return joinFilter
	case someBound || e.P.is(syntax.Path) && !e.S.free() && !e.O.free():
		return joinShared
	}
	return joinProduct
}
