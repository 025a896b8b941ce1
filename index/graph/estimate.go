package graph

import (
	"context"
	"math"
	"slices"

	"retwis/index/graph/internal/entries"
	"retwis/index/graph/internal/syntax"
)

// estimate is a pattern of a query with its cardinality.
type estimate struct {
	Pattern
	at    int // in Query.Where
	count int64
	rows  float64 // estimated number of matches
	empty bool    // there are no matches
}

// estimate counts the triples of each pattern: one round trip.
func (st *store) estimate(ctx context.Context, patterns []Pattern) ([]estimate, error) {
	all := make([]estimate, len(patterns))
	var spans []entries.Range
	var counted []*int64 // of each range
	first := make([]int64, len(patterns))
	for i, p := range patterns {
		p = p.simple()
		all[i] = estimate{Pattern: p, at: i}
		begin, whole := []Pattern{p.names()}, []Pattern(nil)
		if p.P.kind == syntax.Path {
			begin, whole = p.begin(), p.whole()
		}
		for k, some := range [2][]Pattern{begin, whole} {
			for _, one := range some {
				s, err := st.rangeOf(one)
				if err != nil {
					return nil, err
				}
				spans, counted = append(spans, s), append(counted, [2]*int64{&first[i], &all[i].count}[k])
			}
		}
	}
	counts, err := st.Counts(ctx, spans)
	if err != nil {
		return nil, err
	}
	for i, n := range counts {
		*counted[i] += n
	}
	for i := range all {
		e := &all[i]
		e.rows, e.empty = float64(first[i]), first[i] == 0
		if e.P.kind != syntax.Path {
			e.count = first[i]
			continue
		}
		// A guess: each further step reaches ten times as many names, up to 4 steps.
		further := min(e.P.route.Longest(), 4) - 1
		e.rows = 1 + min(float64(first[i])*math.Pow(10, float64(further)), float64(e.count))
		e.empty = first[i] == 0 && !e.P.route.Empty()
	}
	return all, nil
}

// begin returns the patterns of the triples with which a path can begin, at its object if
// only that is a name.
func (p Pattern) begin() (all []Pattern) {
	r, end := p.P.route, p.S
	if p.S.kind != syntax.Name && p.O.kind == syntax.Name {
		r, end = r.Turned(), p.O
	}
	if end.kind != syntax.Name {
		end = Term{}
	}
	for _, one := range r.Firsts() {
		all = append(all, triplesOf(one, end))
	}
	return all
}

// whole returns the patterns of all triples that a path can have.
func (p Pattern) whole() (all []Pattern) {
	for _, one := range p.P.route.Predicates() {
		if pattern := (Pattern{P: Name(one.Predicate)}); !slices.Contains(all, pattern) {
			all = append(all, pattern)
		}
	}
	return all
}

// names returns the pattern with everything open but its names. Select accepts it.
func (p Pattern) names() Pattern {
	only := func(t Term) Term {
		if t.kind == syntax.Name {
			return t
		}
		return Term{}
	}
	return Pattern{S: only(p.S), P: only(p.P), O: only(p.O)}
}

// open returns the letters of the parts that are not names.
func (p Pattern) open() string {
	var letters []byte
	for _, letter := range []byte("spo") {
		if p.term(letter).kind != syntax.Name {
			letters = append(letters, letter)
		}
	}
	return string(letters)
}

// joinKind ranks how a pattern joins the rows so far. Lower kinds are planned first.
type joinKind int

const (
	joinFilter  joinKind = iota // all parts are bound: it can only remove rows
	joinShared                  // it shares a variable with the rows
	joinProduct                 // every row is combined with every match
	joinBlocked                 // another pattern must bind an end of its path first
)

// join returns how a pattern joins rows that bind some variables.
func (e estimate) join(bound map[string]bool) joinKind {
	if !e.canStart(bound) {
		return joinBlocked
	}
	all, some := true, false
	for _, t := range [3]Term{e.S, e.P, e.O} {
		is := t.kind == syntax.Variable && bound[t.text]
		some = some || is
		all = all && (is || t.kind == syntax.Name)
	}
	switch {
	case all:
		return joinFilter
	case some || e.P.kind == syntax.Path && !e.S.free() && !e.O.free():
		return joinShared
	}
	return joinProduct
}
