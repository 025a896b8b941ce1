package graph

import (
	"cmp"
	"context"
	"math"
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
	var spans []span
	for i, p := range patterns {
		all[i] = estimate{Pattern: p, at: i}
		first, whole, err := st.estimateSpans(p)
		if err != nil {
			return nil, err
		}
		spans = append(spans, first, whole)
	}
	counts, err := st.counts(ctx, spans)
	if err != nil {
		return nil, err
	}
	for i := range all {
		first, whole := counts[2*i], counts[2*i+1]
		e := &all[i]
		e.count, e.rows, e.empty = whole, float64(first), first == 0
		if t := e.P; t.kind == path {
			// A guess: each further step reaches ten times as many names, up to 4 steps.
			further := min(cmp.Or(t.max, maxSteps), 4) - 1
			e.rows = 1 + min(float64(first)*math.Pow(10, float64(further)), float64(whole))
			e.empty = first == 0 && t.min > 0
		}
	}
	return all, nil
}

// estimateSpans returns two ranges whose counts give an estimate: of the triples of a
// pattern, both times; of a path, the triples that it can start with, and those of its
// predicate.
func (st *store) estimateSpans(p Pattern) (first, whole span, err error) {
	names := p.names()
	if first, err = st.spanOf(names); err != nil || p.P.kind != path {
		return first, first, err
	}
	if p.S.kind == named && p.O.kind == named {
		if first, err = st.spanOf(Pattern{S: names.S, P: names.P}); err != nil {
			return first, whole, err
		}
	}
	whole, err = st.spanOf(Pattern{P: names.P})
	return first, whole, err
}

// names returns the pattern with everything open but its names and the predicate of its
// path. Select accepts it.
func (p Pattern) names() Pattern {
	only := func(t Term) Term {
		switch t.kind {
		case named:
			return t
		case path:
			return Name(t.text)
		}
		return Term{}
	}
	return Pattern{S: only(p.S), P: only(p.P), O: only(p.O)}
}

// open returns the letters of the parts that are not names.
func (p Pattern) open() string {
	var letters []byte
	for _, letter := range []byte("spo") {
		if p.term(letter).kind != named {
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
		is := t.kind == variable && bound[t.text]
		some = some || is
		all = all && (is || t.kind == named)
	}
	switch {
	case all:
		return joinFilter
	case some || e.P.kind == path && !e.S.free() && !e.O.free():
		return joinShared
	}
	return joinProduct
}
