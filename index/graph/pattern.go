package graph

import (
	"retwis/index/graph/internal/entries"
	"retwis/index/graph/internal/syntax"
)

// Term is a part of a pattern: a name, a variable, a path, or anything. The zero value
// is anything.
type Term struct {
	kind  syntax.Kind
	text  string        // of a name or a variable
	route *syntax.Route // of a path; nil: it is not valid
}

// Name is the term that matches exactly this name.
func Name(name string) Term { return Term{kind: syntax.Name, text: name} }

// Var is a variable of a Query. It has the same name in all patterns.
func Var(name string) Term { return Term{kind: syntax.Variable, text: name} }

// Path is the path of min to max triples with a predicate: Repeat(Name(predicate), min,
// max).
func Path(predicate string, min, max int) Term { return Repeat(Name(predicate), min, max) }

// Inverse is a path from its end to its start: Inverse(Name("knows")) leads from an object
// to its subjects. The path is a predicate, as a Name, or a path.
func Inverse(of Term) Term { return pathOf(of.asRoute().Turned()) }

// Sequence is a path that follows other paths one after the other, each a predicate, as a
// Name, or a path.
func Sequence(of ...Term) Term {
	routes := make([]*syntax.Route, len(of))
	for i, t := range of {
		routes[i] = t.asRoute()
	}
	return pathOf(syntax.Sequence(routes...))
}

// Repeat is a path that follows another one min to max times; a max of 0 is any number of
// times. With a min of 0 every name has a path to itself; one end of such a path must be
// a name, or a variable that another pattern binds. A repetition within a repetition can
// read a triple more than once.
func Repeat(of Term, min, max int) Term { return pathOf(syntax.Repeat(of.asRoute(), min, max)) }

func pathOf(r *syntax.Route) Term { return Term{kind: syntax.Path, route: r} }

// asRoute returns the route of a name or a path, or nil.
func (t Term) asRoute() *syntax.Route {
	if t.kind == syntax.Name {
		return syntax.Step(t.text)
	}
	return t.route
}

// free reports whether the term matches any name.
func (t Term) free() bool { return t.kind == syntax.Anything || t.kind == syntax.Variable }

// String formats the term for Parse.
func (t Term) String() string {
	switch t.kind {
	case syntax.Name:
		return syntax.Quote(t.text)
	case syntax.Variable:
		return "?" + t.text
	case syntax.Path:
		return t.route.String()
	}
	return "*"
}

// Pattern is a triple with open parts. The zero value matches every triple.
//
// The predicate of a pattern of a Query can be a path: of several triples by Sequence,
// backwards by Inverse, several times by Repeat. The pattern then matches the subject and
// the object if a path leads from one to the other. A path may visit a name more than
// once; each pair of ends is one answer. A path has at most 64 predicates and, if it is
// bounded, 1,000 triples.
type Pattern struct {
	S, P, O Term
	// Order is the order of the triples of Select: one that the graph stores and that
	// begins with the parts that are names. With a predicate, PSO is by subject and POS
	// by object. Default: by subject, predicate, object as far as these are open, if the
	// graph stores that order. A Query ignores it.
	Order Order
}

// String formats the pattern for Parse.
func (p Pattern) String() string {
	return p.S.String() + " " + p.P.String() + " " + p.O.String()
}

// simple returns an equal pattern without a path if that has one triple, and without the
// inverse of a single predicate.
func (p Pattern) simple() Pattern {
	r := p.P.route
	if p.P.kind != syntax.Path || r == nil {
		return p
	}
	if all := r.Predicates(); len(all) == 1 && all[0].Inverse {
		p.S, p.O = p.O, p.S
		r = r.Turned()
		p.P = Term{kind: syntax.Path, route: r}
	}
	if r.Steps == nil && r.Again == nil {
		p.P = Name(r.Predicate)
	}
	return p
}

// term returns the part for a letter of an order.
func (p Pattern) term(letter byte) Term {
	switch letter {
	case 's':
		return p.S
	case 'p':
		return p.P
	}
	return p.O
}

// known returns how many parts are names.
func (p Pattern) known() (n int) {
	for _, t := range [3]Term{p.S, p.P, p.O} {
		if t.kind == syntax.Name {
			n++
		}
	}
	return n
}

// leads reports whether an order begins with the parts that are names.
func (p Pattern) leads(order Order, fixed int) bool {
	for i := range fixed {
		if p.term(order[i]).kind != syntax.Name {
			return false
		}
	}
	return true
}

// in returns the range of a pattern in an order that begins with its names.
func (p Pattern) in(order Order, fixed int) entries.Range {
	r := entries.Range{Prefix: string(order) + ":", Whole: fixed == 3}
	for i := range fixed {
		r.Prefix += entries.Escape(p.term(order[i]).text)
		if i < 2 {
			r.Prefix += ":"
		}
	}
	if p.S.kind == syntax.Name {
		r.Subject = p.S.text
	}
	return r
}
