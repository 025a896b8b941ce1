package graph

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Plan says how a query goes about its work.
type Plan struct {
	Steps []Step
	// Empty is set where the counts show that there is no answer.
	Empty bool
}

// Step is one pattern of a plan.
type Step struct {
	Pattern Pattern
	Count   int64  // how many triples it has by itself; of a path, with its predicate
	How     string // what is done with it
}

// String writes a line for each step.
func (p Plan) String() string {
	width := 0
	for _, s := range p.Steps {
		width = max(width, len(s.Pattern.String()))
	}
	var out strings.Builder
	for i, s := range p.Steps {
		fmt.Fprintf(&out, "%d. %-*s  %9d  %s\n", i+1, width, s.Pattern, s.Count, s.How)
	}
	if p.Empty {
		out.WriteString("there is no answer: a pattern has no triple\n")
	}
	return out.String()
}

// Explain tells how a query would be answered, and counts what it has to: one
// round trip.
func (g *Graph) Explain(ctx context.Context, q Query) (Plan, error) {
	p, err := g.plan(ctx, q)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Empty: p.empty}
	for _, s := range p.steps {
		plan.Steps = append(plan.Steps, Step{Pattern: s.pattern, Count: s.count, How: s.how()})
	}
	return plan, nil
}

// plan is a query made ready. A row of it has a name for each of vars.
type plan struct {
	steps    []*planStep
	vars     []string
	selected []int // of vars
	wanted   []string
	remember bool // answers, to leave out those that come again
	limit    int
	memory   int64
	empty    bool
}

// planStep is what is done with one pattern.
type planStep struct {
	pattern Pattern
	count   int64
	places  [3]place // of subject, predicate, object
	method  method
	order   Order // in which it is looked up
	fixed   int   // how many parts are known by then
	filters []Filter
	memo    *reached // of a path that always begins at the same name
	few     bool     // of ask: to read all of its triples may be less work
	all     *reached // of ask: what the variable is in them, once they were read
}

type method int

const (
	lookUp   method = iota // a range for each row
	ask                    // whether a triple is there, for each row
	walk                   // a path from the subject
	walkBack               // a path from the object
	ends                   // the objects of a predicate, for a path back from each
)

// place is what a row has to do with a part of a pattern.
type place struct {
	kind placeKind
	text string // constant
	slot int    // of the row
}

type placeKind int

const (
	ignored  placeKind = iota
	constant           // a name of the query
	bound              // a variable that is known by then
	open               // a variable that becomes known
	same               // one that became known in this very pattern
)

func (p place) known() bool { return p.kind == constant || p.kind == bound }

func (s *planStep) place(letter byte) place { return s.places[strings.IndexByte("spo", letter)] }

// of is the name of a known place in a row.
func (p place) of(row []string) string {
	if p.kind == constant {
		return p.text
	}
	return row[p.slot]
}

func (s *planStep) how() string {
	switch s.method {
	case ask:
		if s.few {
			return "ask whether it is there, or read all for many rows"
		}
		return "ask whether it is there"
	case walk:
		return "walk from the subject"
	case walkBack:
		return "walk back from the object"
	case ends:
		return "read the objects from pos, to walk back from"
	}
	return fmt.Sprintf("read from %s, %d of 3 known", s.order, s.fixed)
}

// plan checks a query and decides the order of its patterns: first what is
// known in all parts, which can only make answers fewer; then what shares a
// variable with what is known; and each time what has fewest triples.
func (g *Graph) plan(ctx context.Context, q Query) (*plan, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := g.check(ctx); err != nil {
		return nil, err
	}
	p := &plan{vars: q.Vars(), wanted: q.Select, limit: q.Limit, memory: cmp.Or(q.Memory, defaultMemory)}
	if len(p.wanted) == 0 {
		p.wanted = p.vars
	}
	for _, v := range p.wanted {
		p.selected = append(p.selected, slices.Index(p.vars, v))
	}
	left, err := g.estimate(ctx, q.Where)
	if err != nil {
		return nil, err
	}
	p.remember = q.Distinct && (len(p.wanted) < len(p.vars) || slices.ContainsFunc(q.Where, Pattern.partly))
	filters := slices.Clone(q.Filters)
	known := map[string]bool{}
	for len(left) > 0 {
		next := slices.MinFunc(left, func(a, b estimated) int {
			return cmp.Or(cmp.Compare(a.rank(known), b.rank(known)), cmp.Compare(a.likely, b.likely))
		})
		left = slices.DeleteFunc(left, func(e estimated) bool { return e.at == next.at })
		p.empty = p.empty || next.none
		p.add(g, next, known)
		last := p.steps[len(p.steps)-1]
		filters = slices.DeleteFunc(filters, func(f Filter) bool {
			ready := len(left) == 0 || len(f.vars) > 0 && !slices.ContainsFunc(f.vars, func(v string) bool { return !known[v] })
			if ready {
				last.filters = append(last.filters, f)
			}
			return ready
		})
	}
	return p, nil
}

// partly tells whether a part of a pattern is open, and so can make one answer
// several.
func (p Pattern) partly() bool {
	return p.S.kind == anything || p.P.kind == anything || p.O.kind == anything
}

// estimated is a pattern and what the counts say of it.
type estimated struct {
	Pattern
	at     int // in Query.Where
	count  int64
	likely float64 // how many answers it has
	none   bool    // it has none
}

// estimate counts what each pattern has: one round trip.
func (g *Graph) estimate(ctx context.Context, patterns []Pattern) ([]estimated, error) {
	all := make([]estimated, len(patterns))
	var spans []span
	for i, p := range patterns {
		all[i] = estimated{Pattern: p, at: i}
		p = p.named()
		s, err := g.spanOf(p)
		if err != nil {
			return nil, err
		}
		// A path that has an end begins with the steps from there.
		first := s
		if p.S.kind == named && p.O.kind == named && patterns[i].P.kind == path {
			if first, err = g.spanOf(Pattern{S: p.S, P: p.P}); err != nil {
				return nil, err
			}
		}
		whole := s
		if patterns[i].P.kind == path {
			if whole, err = g.spanOf(Pattern{P: p.P}); err != nil {
				return nil, err
			}
		}
		spans = append(spans, first, whole)
	}
	counts, err := g.counts(ctx, spans)
	if err != nil {
		return nil, err
	}
	for i := range all {
		first, whole := counts[2*i], counts[2*i+1]
		e := &all[i]
		e.count, e.likely, e.none = whole, float64(first), first == 0
		if t := e.P; t.kind == path {
			// How many steps away so much is in reach is a guess.
			further := min(cmp.Or(t.max, maxSteps), 4) - 1
			e.likely = 1 + min(float64(first)*math.Pow(10, float64(further)), float64(whole))
			e.none = first == 0 && t.min > 0
		}
	}
	return all, nil
}

// named is the pattern for Match that has all triples of a pattern of a query.
func (p Pattern) named() Pattern {
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

// free are the letters of the parts that are not named.
func (p Pattern) free() string {
	var letters []byte
	for _, letter := range []byte("spo") {
		if p.term(letter).kind != named {
			letters = append(letters, letter)
		}
	}
	return string(letters)
}

// rank puts a pattern behind others: 0 all of it is known, 1 it shares a
// variable with what is known, 2 every row is combined with all that it has, 3 it
// has to wait until another pattern binds one of its ends.
func (e estimated) rank(known map[string]bool) int {
	if !e.canStart(known) {
		return 3
	}
	all, some := true, false
	for _, t := range [3]Term{e.S, e.P, e.O} {
		is := t.kind == variable && known[t.text]
		some = some || is
		all = all && (is || t.kind == named)
	}
	switch {
	case all:
		return 0
	case some || e.P.kind == path && !e.S.free() && !e.O.free():
		return 1
	}
	return 2
}

// begins reports whether a pattern can be answered where some variables are known.
// A path of no steps leads from every name to itself: one of its ends must be known.
func (p Pattern) canStart(known map[string]bool) bool {
	if p.P.kind != path || p.P.min > 0 || !p.S.free() || !p.O.free() {
		return true
	}
	return p.S.kind == variable && known[p.S.text] || p.O.kind == variable && known[p.O.text]
}

// add makes a step of a pattern.
func (p *plan) add(g *Graph, e estimated, known map[string]bool) {
	s := &planStep{pattern: e.Pattern, count: e.count}
	new := map[string]bool{}
	for i, t := range [3]Term{e.S, e.P, e.O} {
		at := place{text: t.text, slot: slices.Index(p.vars, t.text)}
		switch {
		case t.kind == named || t.kind == path:
			at.kind = constant
		case t.kind == anything:
		case known[t.text]:
			at.kind = bound
		case new[t.text]:
			at.kind = same
		default:
			at.kind = open
			new[t.text] = true
		}
		s.places[i] = at
	}
	for v := range new {
		known[v] = true
	}
	if e.P.kind == path {
		p.addPath(s)
		return
	}
	for _, at := range s.places {
		if at.known() {
			s.fixed++
		}
	}
	for _, order := range ordersOf(g.compact) {
		if s.leads(order) {
			s.order = order
			break
		}
	}
	if s.fixed == 3 {
		s.method = ask
		// Entries in a row cost the server a third of as many here and there.
		// How many rows there will be, the first step tells at most.
		named := e.named()
		s.few = p.limit == 0 && len(p.steps) > 0 && s.count <= 3*p.steps[0].count && len(named.free()) == 1
	}
	p.steps = append(p.steps, s)
}

// leads tells whether the parts that are known come first in an order.
func (s *planStep) leads(order Order) bool {
	for i := range s.fixed {
		if !s.place(order[i]).known() {
			return false
		}
	}
	return true
}

// addPath makes the steps of a path: one, or two where neither end is known.
func (p *plan) addPath(s *planStep) {
	subject, object := &s.places[0], &s.places[2]
	s.method = walk
	if !subject.known() {
		s.method = walkBack
	}
	if !subject.known() && !object.known() {
		from := &planStep{pattern: s.pattern, count: s.count, places: s.places, method: ends, order: POS, fixed: 1}
		switch object.kind {
		case ignored: // which one it is has to be known all the same
			p.vars = append(slices.Clip(p.vars), "")
			object.slot = len(p.vars) - 1
		case same: // as the subject, which was taken for the first of the two
			subject.kind = bound
		}
		object.kind = bound
		from.places[2] = place{kind: open, slot: object.slot}
		p.steps = append(p.steps, from)
	}
	p.steps = append(p.steps, s)
}
